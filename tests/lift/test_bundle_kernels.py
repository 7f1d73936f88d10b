"""A package of six modules with Triton kernels becomes one file that compiles and launches the very same kernels."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrinkray_gpu.lift.bundle import bundle
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run

PACKAGE = {
    "attn/__init__.py": '"""A package that re-exports."""\nfrom .ops import forward, forward as fwd\n'
    "from .layers import *\n"
    '__all__ = ["forward", "Layer"]\n',
    "attn/config.py": "import os\nimport triton.language as tl\n\nBLOCK = tl.constexpr(32)\n"
    'WARPS = int(os.environ.get("ATTN_WARPS", "2"))\nscale = 0.5\n',
    "attn/kernels/maths.py": "import triton\nimport triton.language as tl\nfrom .. import config\n\n"
    "@triton.jit\ndef scale(x, factor: tl.constexpr = 3):\n    return x * factor\n\n\n"
    "@triton.jit\ndef shift(x):\n    return scale(x) + config.BLOCK\n",
    "attn/kernels/rows.py": "import triton as tr\nimport triton.language as lang\n\nfrom ..config import BLOCK\n"
    "from . import maths\n\n\n"
    "@tr.jit\ndef scale(x):  # not the other one\n    return x + 1\n\n\n"
    "@tr.jit\ndef rows_kernel(src, dst, n, B: lang.constexpr):\n"
    "    at = lang.program_id(0) * BLOCK + lang.arange(0, B)\n    mask = at < n\n"
    "    x = lang.load(src + at, mask=mask)\n"
    "    lang.store(dst + at, maths.shift(scale(x)) + maths.scale(x, 5), mask=mask)\n",
    "attn/ops.py": "import torch\nimport triton\n\nfrom attn import config as conf\n"
    "from attn.kernels.rows import rows_kernel\n\n"
    "def forward(x, scale=None):\n    out = torch.empty_like(x)\n    n = x.numel()\n"
    "    scale = conf.scale if scale is None else scale\n"
    "    grid = lambda meta: (triton.cdiv(n, meta['B']),)\n"
    "    rows_kernel[grid](x * scale, out, n, B=conf.BLOCK.value, num_warps=conf.WARPS)\n    return out\n",
    "attn/layers.py": "import torch\nfrom torch import nn\nimport attn.ops\n\n__all__ = ['Layer']\n\n\n"
    "class Layer(nn.Module):\n    def forward(self, x):\n        return attn.ops.forward(x.relu())\n",
    "checks/test_attn.py": "import torch\nimport pytest\nimport attn\n\n\n@pytest.fixture\ndef x():\n    return 1\n\n\n"
    "@pytest.mark.parametrize('n', [70])\ndef test_layer(n):\n"
    "    from attn.config import BLOCK\n\n    x = torch.ones(n, device='cuda')\n    attn.Layer()(x)\n"
    "    attn.forward(x, scale=2)\n"
    "    torch.cuda.synchronize()\n    print('grid', -(-n // BLOCK.value))\n",
}
DRIVER = "from checks.test_attn import test_layer\n\ntest_layer(70)\n"


@pytest.fixture
def project(pool: Pool) -> Iterator[Path]:
    """The folder of the script, with the package in it."""
    root = pool.script.path.parent
    for name, text in PACKAGE.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    yield root
    for name in ("attn", "checks"):
        shutil.rmtree(root / name, ignore_errors=True)


def shown(run: Run) -> list[tuple[object, ...]]:
    """Every launch: kernel, grid, options, TTIR."""
    assert run.failure is None, run.stderr
    compiled = {each.hash: each for each in run.compiles}
    return [
        (x.kernel, x.grid, compiled[x.hash].ttir_key, compiled[x.hash].options.get("num_warps")) for x in run.launches
    ]


def test_a_package_under_test(pool: Pool, project: Path) -> None:
    before = pool.run(DRIVER)
    result = bundle(pool.script.path, DRIVER, roots=[project])
    assert result.obstacles == ()
    assert result.modules == (
        "attn.config",
        "attn.kernels.maths",
        "attn.kernels.rows",
        "attn.ops",
        "attn.layers",
        "attn",
        "checks.test_attn",
    )
    for name in ("attn", "checks"):
        shutil.rmtree(project / name)
    after = pool.cold(result.text)
    assert shown(after) == shown(before) and len(shown(after)) == 2
    assert after.stdout == before.stdout == "grid 3\n"
    assert result.text.count("import torch\n") == 1

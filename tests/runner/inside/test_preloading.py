"""What a worker does once, ahead of its lanes."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("triton")

CODE = """
import sys
from shrinkray_gpu.runner.inside import preloading
preloading._capability = lambda: print("asked") or 0
setup = {"arch": None, "imports": ["torch", "triton"], "own": [], "warm": True, "prepare": True}
report = preloading.preload({**setup, "capability": int(sys.argv[1])})
print("shrinkray_gpu.runner.inside.vgpu" in sys.modules, report["touched"], report["spoilt"])
"""


@pytest.mark.parametrize(("capability", "told"), [(90, "True False False\n"), (0, "asked\nFalse False False\n")])
def test_a_child_makes_a_context_only_where_the_gpu_is_not_known(capability: int, told: str) -> None:
    """It makes Triton compile for it."""
    done = subprocess.run([sys.executable, "-c", CODE, str(capability)], capture_output=True, text=True)
    assert done.stdout == told, done.stderr

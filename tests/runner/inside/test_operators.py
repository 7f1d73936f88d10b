"""Operators that a script registers with torch: their bodies are on the virtual GPU as the script around them is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from tests.runner.inside.conftest import Play
from tests.runner.inside.test_scripts import HEAD

BODY = """
def body(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty(x.numel(), device="cuda")
    if not (x.is_cuda and out.device == x.device and torch.zeros(3).device.type == "cpu"):
        raise RuntimeError(f"{x.device} {out.device}")
    add[(1,)](x, x, out, x.numel(), 64)
    return out
"""

OPERATORS = {
    "for all devices": """
op = torch.library.custom_op("mine::plus", body, mutates_args=())
print(op(torch.ones(8, device="cuda")).device)
""",
    "for CUDA alone": """
op = torch.library.custom_op("mine::plus", body, mutates_args=(), device_types="cuda")
print(op(torch.ones(8, device="cuda")).device)
try:
    op(torch.ones(8))
    raise RuntimeError("a kernel for CUDA took a tensor on the CPU")
except NotImplementedError:
    pass
""",
    "one for each device": """
@torch.library.custom_op("mine::plus", mutates_args=(), device_types="cpu")
def op(x: torch.Tensor) -> torch.Tensor:
    return x * 3
op.register_kernel("cuda")(body)
if op(torch.ones(8)).tolist() != [3.0] * 8:
    raise RuntimeError("not the CPU's")
print(op(torch.ones(8, device="cuda")).device)
""",
    "a library's": """
lib = torch.library.Library("mine", "DEF")
lib.define("plus(Tensor x) -> Tensor")
lib.impl("plus", body, "CUDA")
lib.impl("plus", lambda x: torch.empty_like(x), "Meta")
print(torch.ops.mine.plus(torch.ones(8, device="cuda")).device)
""",
    "of two libraries": """
lib = torch.library.Library("mine", "DEF")
lib.define("plus(Tensor x) -> Tensor")
cpu, cuda = torch.library.Library("mine", "IMPL", "CPU"), torch.library.Library("mine", "IMPL", "CUDA")
cpu.impl("plus", lambda x: x * 3)
cuda.impl(torch.ops.mine.plus.default, body)
if torch.ops.mine.plus(torch.ones(8)).tolist() != [3.0] * 8:
    raise RuntimeError("not the CPU's")
print(torch.ops.mine.plus(torch.ones(8, device="cuda")).device)
""",
    "defined again": """
@torch.library.custom_op("mine::plus", mutates_args=(), device_types="cuda")
def op(x: torch.Tensor) -> torch.Tensor:
    raise RuntimeError("the first one")
del op
op = torch.library.custom_op("mine::plus", body, mutates_args=(), device_types="cuda")
print(op(torch.ones(8, device="cuda")).device)
""",
    "torch's own": """
lib = torch.library.Library("aten", "IMPL")
lib.impl("mish", lambda x: x * 0, "CPU")
x = torch.ones(8, device="cuda")
print(body(torch.nn.functional.mish(x)).device)
""",
    "one within another": """
inner = torch.library.custom_op("mine::inner", body, mutates_args=())
def outer(x: torch.Tensor) -> torch.Tensor:
    return inner(torch.ones(8, device=x.device)).cpu().cuda() + 1
print(torch.library.custom_op("mine::outer", outer, mutates_args=())(torch.ones(8, device="cuda")).device)
""",
    "without a tensor": """
@torch.library.custom_op("mine::made", mutates_args=())
def made(n: int) -> torch.Tensor:
    return body(torch.ones(n).to("cuda"))
print(made(8).device)
""",
    "with a gradient": """
op = torch.library.custom_op("mine::plus", body, mutates_args=())
op.register_autograd(lambda ctx, grad: body(grad.contiguous()))
x = torch.ones(8, device="cuda", requires_grad=True)
op(x).sum().backward()
print(x.grad.device)
""",
}


@pytest.mark.parametrize("script", OPERATORS.values(), ids=OPERATORS)
def test_the_body_of_an_operator_sees_the_gpu(play: Play, script: str) -> None:
    outcome = play(HEAD + BODY + script)
    assert outcome.failure is None, outcome.error
    assert outcome.printed.strip() == "cuda:0"
    assert outcome.launches and {launch["kernel"] for launch in outcome.launches} == {"add"}


REGISTERS = (
    "import torch\n\n"
    + BODY.replace("    add[(1,)](x, x, out, x.numel(), 64)\n", "")
    + ('plus = torch.library.custom_op("mine::plus", body, mutates_args=(), device_types="cuda")\n')
)


def test_operators_of_an_installed_module_too_which_the_lanes_import_beforehand(tmp_path: Path) -> None:
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "operators.py").write_text(REGISTERS)
    source = "import sys\nimport operators\nimport torch\nprint(operators.plus(torch.ones(8, device='cuda')).device)\n"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    setup = Setup(
        sys.executable,
        {"PYTHONPATH": str(installed)},
        ("operators", "torch"),
        (str(tmp_path),),
        str(scratch),
        arch=90,
        confine=False,
    )
    pool = Pool(Script(tmp_path / "failing.py", cwd=tmp_path), setup, mode="virtual", jobs=1, seconds=60.0)
    try:
        assert "operators" not in pool.start(source)["missing"]
        run = pool.run(source)
    finally:
        pool.close()
    assert run.failure is None and run.stdout == "cuda:0\n", run


def test_an_operation_on_many_tensors_in_place_gives_nothing_back(play: Play) -> None:
    """Too large to be computed, so only what it writes is known."""
    outcome = play("import torch\nmany = [torch.zeros(3_000_000, device='cuda')]\ntorch._foreach_add_(many, 1.0)\n")
    assert outcome.failure is None, outcome.error

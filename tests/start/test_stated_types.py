"""Where a program states the type of a tensor, and where it comes from elsewhere."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shrinkray_gpu.start.host_code import HostCode
from shrinkray_gpu.start.stated_types import StatedTypes

STATED = [
    "kernel[(1,)](torch.zeros(8, dtype=torch.float16))",
    "kernel[(1,)](torch.randn(8).half().cuda() * 2.0)",
    "x = torch.zeros(8, device='cuda').view(2, 4)\nkernel[(1,)](x[0])",
    "dtype = getattr(torch, args.dtype)\nkernel[(1,)](torch.empty(8).to('cuda').to(dtype))",
    "x, y = torch.zeros(8), torch.ones(8)\nkernel[(1,)](y.T if x else x)",
    "a, b = (torch.zeros(8, dtype=torch.int8) for _ in range(2))\nkernel[(1,)](b)",
    """
    class Layer:
        def __init__(self):
            self.weight = nn.Parameter(torch.zeros(8))

        def run(self, x, y):
            kernel[(1,)](self.weight + 1)

    Layer().run(torch.zeros(8, dtype=torch.float16), 3)
    """,
]
ELSEWHERE = [
    "kernel[(1,)](torch.zeros(8, dtype=torch.float16) + torch.zeros(8))",
    "class Config:\n    dtype = torch.float16\nx = draw()\nkernel[(1,)](torch.zeros(8, dtype=x.dtype))",
    "def zeros(n, dtype):\n    return torch.zeros(n)\nkernel[(1,)](zeros(8, dtype=torch.float16))",
    "x = draw()\nkernel[(1,)](torch.zeros(8, dtype=getattr(x, 'dtype')))",
    "device_dtype = draw()\nkernel[(1,)](torch.zeros(8).to(device_dtype))",
    "x = torch.zeros(8, dtype=torch.float16)\nkernel[(1,)](torch.zeros_like(x))",
    "x = torch.zeros(8, dtype=torch.float16)\nkernel[(1,)](x.new_zeros(8))",
    "torch.set_default_dtype(torch.float64)\nkernel[(1,)](torch.zeros(8))",
    "x = torch.zeros(8)\nkernel[(1,)](torch.zeros(8, dtype=x.dtype))",
    "TYPES = {8: torch.int8}\nkernel[(1,)](torch.zeros(8, dtype=TYPES[8]))",
    "linear = nn.Linear(8, 8).half()\nkernel[(1,)](linear(torch.zeros(8, dtype=torch.float16)))",
    "x, y = split(z)\nkernel[(1,)](y)",
    "def run(x=None):\n    kernel[(1,)](x)\nrun(torch.zeros(8))",
    "def run(x):\n    kernel[(1,)](x)",
]


@pytest.mark.parametrize(
    ("program", "stated"), [*((each, True) for each in STATED), *((each, False) for each in ELSEWHERE)]
)
def test_a_type_is_stated_where_the_tensor_is_made(program: str, stated: bool) -> None:
    tree = ast.parse(dedent(program))
    code = HostCode(tree)
    [launch] = [each for each in code.scope if ast.unparse(each).startswith("kernel")]
    assert isinstance(launch, ast.Expr) and isinstance(launch.value, ast.Call)
    assert StatedTypes(tree, code).tensor(launch.value.args[0], code.scope[launch]) is stated


def test_each_question_is_asked_anew() -> None:
    tree = ast.parse("w = draw()\nx = w\ny = x\nz = x\nkernel[(1,)](y, z)")
    code = HostCode(tree)
    [launch] = [each for each in code.scope if ast.unparse(each).startswith("kernel")]
    assert isinstance(launch, ast.Expr) and isinstance(launch.value, ast.Call)
    types = StatedTypes(tree, code)
    assert [types.tensor(each, code.scope[launch]) for each in launch.value.args] == [False, False]

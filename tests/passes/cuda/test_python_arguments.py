"""A parameter goes with what the script gives for it, in each way in which kernels are called from Python."""

from __future__ import annotations

import pytest

from shrinkray_gpu.passes.cuda import cuda_unread
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render

SOURCE = "r'''extern \"C\" __global__ void fill(float* p, int spare, float v) { p[threadIdx.x] = v; }'''"


@pytest.mark.parametrize(
    ("before", "call", "left"),
    [
        ("kernel = cupy.RawKernel(SOURCE, 'fill')", "kernel((1,), (32,), (p, 2, v))", "kernel((1,), (32,), (p, v))"),
        ("", "cupy.RawKernel(SOURCE, 'fill')((1,), (32,), (p, 2, v))", "((1,), (32,), (p, v))"),
        (
            "kernel = cupy.RawModule(code=SOURCE).get_function('fill')",
            "kernel((1,), (32,), args=[p, 2, v])",
            "args=[p, v])",
        ),
        (
            "kernel = torch.cuda._compile_kernel(SOURCE, 'fill')",
            "kernel(grid=(1, 1, 1), block=(32, 1, 1), args=(p, 2, v))",
            "args=(p, v))",
        ),
        (
            "kernel = Program(SOURCE, code_type='c++').compile('cubin').get_kernel('fill')",
            "launch(stream, config, kernel, p, 2, v)",
            "launch(stream, config, kernel, p, v)",
        ),
    ],
)
def test_an_argument_that_no_kernel_reads(before: str, call: str, left: str) -> None:
    program = Program.from_text(f"{before}\n{call}\n".replace("SOURCE", SOURCE))
    whole = next(iter(cuda_unread.find(program)))
    text = render(program, [whole]).text
    assert left in text and "fill(float* p, float v)" in text

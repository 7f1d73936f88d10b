"""Kernels that a script compiles ahead (`kernel.warmup`) and then launches by themselves."""

from __future__ import annotations

from tests.lift.conftest import Lift, same_launch

SCRIPT = """
import torch, triton, triton.language as tl

@triton.jit
def rows(out, src, stride, n, N: tl.constexpr, stages: tl.constexpr):
    for row in tl.range(tl.program_id(0), n, tl.num_programs(0), num_stages=stages):
        i = tl.arange(0, N)
        tl.store(out + row * stride + i, tl.load(src + row * stride + i))

x = torch.ones(7, 64, device="cuda")
kernel = rows.warmup({arguments}, N=64, stages=2, num_stages=4, num_warps=8, grid=(1,))
kernel._init_handles()
kernel[(3, 1, 1)](x, x, 64, 7, 64, 2)
torch.cuda.synchronize()
"""


def test_the_launch_is_written_down_as_a_plain_one(lifted: Lift) -> None:
    found = lifted(SCRIPT.format(arguments="x, x, 64, 7"))
    [launch] = found.original.launches
    same_launch(found.original, launch, found.again)
    assert "num_stages=4" in found.text and "num_warps=8" in found.text and "warmup" not in found.text
    assert "@triton.jit\ndef rows" in found.text


def test_compiled_for_other_arguments_than_launched_with(lifted: Lift) -> None:
    """It knows nothing of the stride that it gets: neither that it is divisible by 16, nor that it fits 32 bits."""
    found = lifted(SCRIPT.format(arguments="x, x, 2**40 + 1, 9"))
    [launch] = found.original.launches
    same_launch(found.original, launch, found.again)
    assert "stride: tl.int64" in found.text and "do_not_specialize_on_alignment=['stride']" in found.text


def test_a_kernel_that_is_only_compiled_and_fails(lifted: Lift) -> None:
    source = SCRIPT.partition("x = torch.ones")[0].replace("tl.arange(0, N)", "tl.arange(0, N + 1)")
    found = lifted(source + "rows.warmup(torch.float16, torch.float16, 64, 7, N=64, stages=2, grid=(1,))\n")
    assert found.original.failure is not None and found.again.failure is not None
    assert found.again.failure.type == found.original.failure.type == "triton.compiler.errors.CompilationError"
    assert "rows.warmup(torch.float16, torch.float16, 64, 7, N=64, stages=2, grid=(1,))" in found.text

# shrink --arch sm_90 --oracle exception:RuntimeError --skip-pass lift --skip-pass unvisited
# lure: the host's own RuntimeError; the true one needs a first launch, whose compilation fixed the global's value
# must: = tl\.constexpr\(
# check: exception:RuntimeError:has changed since we compiled this kernel
# fault: RuntimeError.*has changed since we compiled
# naive: no guards
"""Diffusion steps with the number of rounds as a global; the second schedule changes it after the first launch."""

import torch
import triton
import triton.language as tl

ROUNDS = tl.constexpr(2)


@triton.jit
def smooth_kernel(x_ptr, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < size)
    for _ in tl.static_range(ROUNDS):
        x = x * 0.5 + 0.25
    tl.store(x_ptr + at, x, mask=at < size)


def check(rounds):
    if rounds > 16:
        raise RuntimeError(f"{rounds} rounds would be unrolled")


def run(x, rounds):
    global ROUNDS
    check(rounds)
    ROUNDS = tl.constexpr(rounds)
    smooth_kernel[(triton.cdiv(x.numel(), 64),)](x, x.numel(), BLOCK=64)


x = torch.zeros(100, device="cuda")
for rounds in (2, 5, 32):
    run(x, rounds)
torch.cuda.synchronize()

import torch
import triton
import triton.language as tl


@triton.jit
def combine(gate, state, next_gate, next_state):
    return gate * next_gate, state * next_gate + next_state


@triton.jit
def kernel(gate, x, out, stride):
    at = tl.program_id(0) * 64 * stride + tl.arange(0, 64)[:, None] * stride + tl.arange(0, 64)
    a, b = tl.associative_scan((tl.load(gate + at), tl.load(x + at)), 0, combine)
    tl.store(out + at, a + b)


x = torch.zeros(4096, device="cuda")
kernel[(1,)](x, x, x, 64, num_warps=1, num_stages=2)

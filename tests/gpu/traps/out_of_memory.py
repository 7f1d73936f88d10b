# shrink --oracle exit:1
# lure: torch.OutOfMemoryError: without the division into chunks the workspace does not fit, and nothing else happens
# must: tl\.store\(
# must not: OutOfMemory
# ends: 1 illegal memory access|operation not supported on global
# fault: device fault: (an illegal memory access|operation not supported on global)
# naive: exit 1
"""Partial sums in a workspace that is divided into chunks; the last chunk starts past its end."""

import torch
import triton
import triton.language as tl

TOKENS = 1 << 22
HIDDEN = 1 << 14


@triton.jit
def partial_kernel(work_ptr, start, BLOCK: tl.constexpr):
    at = start + tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(work_ptr + at, 1.0)


def workspace(tokens, hidden, chunks):
    size = tokens * hidden
    size //= chunks
    return torch.empty(size, device="cuda")


def partial(work, starts):
    for start in starts:
        partial_kernel[(4,)](work, start, BLOCK=512)
        torch.cuda.synchronize()
        print(start, work[:2048].sum().item())


def chunk_starts(tokens, hidden, chunks):
    size = tokens * hidden // chunks
    return [chunk * size for chunk in range(0, chunks, chunks // 2)]


work = workspace(TOKENS, HIDDEN, chunks=1 << 10)
partial(work, chunk_starts(TOKENS, HIDDEN, chunks=1 << 10))

import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(slots, head, capacity, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(slots + at, tl.where(head + at < capacity, head + at, head + at - capacity))


capacity, head = 1, 0
for count in (1, 2):
    slots = torch.empty(count, dtype=torch.int32)
    kernel[(1,)](slots, head, capacity, BLOCK=count)
    [range(capacity)[slot] for slot in slots.tolist()]
    head += count
    if head > capacity:
        head -= capacity

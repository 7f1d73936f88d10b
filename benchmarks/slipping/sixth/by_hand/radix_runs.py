import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(source, target, amount):
    for i in range(0, amount):
        key = tl.load(source + i)
        place = 0
        for j in range(0, amount):
            other = tl.load(source + j)
            place += ((other < key) | ((other == key) & (j < i))).to(tl.int32)
        tl.store(target + place, key)


def passes(digits):
    return digits


keys = torch.tensor([0, 1, 0], dtype=torch.int32)
source, target = keys, torch.empty_like(keys)
for _ in range(passes(1)):
    kernel[(1,)](source, target, 3)
    source, target = target, source
distinct, expected = len(torch.unique_consecutive(keys)), len(torch.unique(keys))
if distinct != expected:
    raise AssertionError(f"{distinct} distinct keys, but torch finds {expected}")

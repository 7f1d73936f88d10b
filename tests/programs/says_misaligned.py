# shrink --arch sm_90 --oracle "misaligned address" -- a trap: it prints the words and exits 0, so shrink must refuse it with exit code 3
"""Shows an old crash log beside a healthy kernel. Nothing faults here."""

import re
import sys

import torch
import triton
import triton.language as tl

LOG = """\
step 1200 loss 2.31
RuntimeError: Triton Error [CUDA]: misaligned address
torch.AcceleratorError: CUDA error: misaligned address
"""


@triton.jit
def add_kernel(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + 1.0, mask=mask)


def classify(line):
    found = re.search(r"(?:CUDA error|Triton Error \[CUDA\]): (.*)", line)
    return found.group(1) if found else None


def main():
    x = torch.zeros(1000, device="cuda")
    y = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    torch.cuda.synchronize()
    for line in LOG.splitlines():
        fault = classify(line)
        if fault:
            print(f"seen before: {fault}")
            print(line, file=sys.stderr)
    try:
        raise RuntimeError("CUDA error: misaligned address")
    except RuntimeError as error:
        print(f"handled: {error}")
    print("healthy")
    return 0


if __name__ == "__main__":
    sys.exit(main())

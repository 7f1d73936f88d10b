"""Small failing programs. The first needs the virtual GPU, the others only Python: those are reduced in seconds."""

from __future__ import annotations

NARROW_TILES = """\
import torch
import triton
import triton.language as tl

STAGES = {"safe": 1, "fast": 4}


@triton.jit
def row_sums(x_ptr, y_ptr, width, TILE: tl.constexpr, STAGES: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[8, width], strides=[width, 1], block_shape=[1, TILE])
    total = tl.zeros([1, TILE], tl.float32)
    for at in tl.range(0, width, TILE, num_stages=STAGES):
        total += x.load([0, at])
    tl.store(y_ptr, tl.sum(total))


def main(mode="fast"):
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    x = torch.randn(8, 64, device="cuda")
    y = torch.empty(1, device="cuda")
    row_sums[(1,)](x, y, 64, TILE=4, STAGES=STAGES[mode])
    torch.cuda.synchronize()
    print("sum:", y.item())


if __name__ == "__main__":
    main()
"""

LOOKUP = """\
import json

SIZES = {"small": 4, "large": 12}


def total(count):
    found = 0
    for i in range(count):
        found += i * 2
    return found


class Table:
    def __init__(self, rows):
        self.rows = rows

    def find(self, key):
        return self.rows[key]


def main():
    table = Table([1, 2, 3])
    print(json.dumps(SIZES), total(SIZES["small"]))
    for key in (1, 2, 7):
        print(table.find(key))


if __name__ == "__main__":
    main()
"""

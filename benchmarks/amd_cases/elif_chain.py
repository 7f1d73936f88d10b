"""A lookup in one of three tables, chosen by a chain of conditions (triton-lang/triton 10369)."""

import torch
import triton
import triton.language as tl

WIDTH = 64


@triton.jit
def lookup_kernel(hot, warm, cold, index, out, count, level, WIDTH: tl.constexpr):
    at = tl.program_id(0)
    column = tl.arange(0, WIDTH)
    place = tl.load(index + at)
    if level > 10:
        table = hot
    elif level > 5:
        table = warm + place
        if count < 3:
            tl.store(out + at * WIDTH + column, tl.zeros([WIDTH], tl.float32))
            return
    else:
        table = cold
    row = tl.load(table + place * WIDTH + column)
    norm = tl.sqrt(tl.sum(row * row, axis=0))
    tl.store(out + at * WIDTH + column, row / (norm + 1e-6))


class Tables:
    def __init__(self, entries, width=WIDTH, seed=3):
        generator = torch.Generator().manual_seed(seed)
        tables = [torch.randn(entries, width, generator=generator) for _ in range(3)]
        self.hot, self.warm, self.cold = (table.cuda() for table in tables)

    def __call__(self, index, level):
        out = torch.empty(index.numel(), WIDTH, device="cuda")
        lookup_kernel[(index.numel(),)](
            self.hot, self.warm, self.cold, index, out, index.numel(), level, WIDTH=WIDTH, num_warps=1
        )
        return out


def main():
    tables = Tables(256)
    index = torch.arange(0, 256, 8, device="cuda", dtype=torch.int32)
    total = 0
    for level in (3, 7, 12):
        total += tables(index, level).numel()
    torch.cuda.synchronize()
    print(total)


if __name__ == "__main__":
    main()

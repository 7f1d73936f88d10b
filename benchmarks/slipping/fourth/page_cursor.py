"""Log lines in pages of one buffer: a writer keeps a cursor, and a partial of the launch does the copying."""

import functools

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(lines, pages, start, amount, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < amount
    tl.store(pages + start + at, tl.load(lines + at, mask=keep, other=0), mask=keep)


@triton.jit
def clear_kernel(pages, start, amount, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(pages + start + at, 0, mask=at < amount)


def launch(kernel, amount, *args, block=64):
    grid = (triton.cdiv(amount, block),)
    kernel[grid](*args, amount, BLOCK=block)


class Pages:
    """So many pages of so many bytes each. A line that does not fit into its page begins on the next one."""

    def __init__(self, pages, size):
        self.size = size
        self.data = torch.zeros(pages * size, dtype=torch.int32, device="cuda")
        self.page, self.used = 0, 0
        self.copy = functools.partial(launch, copy_kernel)
        self.clear = functools.partial(launch, clear_kernel, block=32)

    @property
    def last(self):
        return self.data.numel() // self.size - 1

    def room(self, amount):
        """Where a line of this length goes."""
        if self.used + amount > self.size:
            self.clear(self.size - self.used, self.data, self.page * self.size + self.used)
            self.page, self.used = self.page + 1, 0
        if self.page > self.last + 1:
            self.page = 0
        start = self.page * self.size + self.used
        self.used += amount
        return start

    def write(self, line):
        amount = line.numel()
        assert amount <= self.size, "a line is longer than a page"
        self.copy(amount, line, self.data, self.room(amount))
        return self.page


def lines(lengths, seed):
    generator = torch.Generator().manual_seed(seed)
    for length in lengths:
        yield torch.randint(1, 100, (length,), dtype=torch.int32, generator=generator).cuda()


def main():
    pages = Pages(3, 100)
    for number, line in enumerate(lines((60, 70, 20, 90, 80, 30), seed=4)):
        page = pages.write(line)
        torch.cuda.synchronize()
        print(f"line {number} of {line.numel()} on page {page}, {pages.used} used")
    print("page 0 begins with", pages.data[:3].tolist())


if __name__ == "__main__":
    main()

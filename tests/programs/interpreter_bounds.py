# shrink --oracle "exception:InterpreterError:index out of range" -- smallest: one kernel with the failing assert, and its launch in the interpreter
"""Embedding lookup with a bounds check, in Triton's interpreter; one bag asks for a row past the table. No GPU."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl


@triton.jit
def load_row(table_ptr, index, rows, width, cols):
    assert (index >= 0) & (index < rows), "index out of range"
    return tl.load(table_ptr + index * width + cols, mask=cols < width, other=0.0)


@triton.jit
def bag_kernel(table_ptr, indices_ptr, starts_ptr, out_ptr, rows, width, BLOCK: tl.constexpr):
    bag = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    begin = tl.load(starts_ptr + bag)
    end = tl.load(starts_ptr + bag + 1)
    total = tl.zeros([BLOCK], tl.float32)
    for position in range(begin, end):
        index = tl.load(indices_ptr + position)
        total += load_row(table_ptr, index, rows, width, cols)
    tl.store(out_ptr + bag * width + cols, total, mask=cols < width)


def embedding_bag(table, indices, starts):
    bags, width = starts.numel() - 1, table.shape[1]
    out = torch.zeros(bags, width)
    bag_kernel[(bags,)](table, indices, starts, out, table.shape[0], width, BLOCK=triton.next_power_of_2(width))
    return out


def reference(table, indices, starts):
    bags = [indices[a:b] for a, b in zip(starts.tolist(), starts.tolist()[1:])]
    return torch.stack([table[bag].sum(0) for bag in bags])


BATCHES = {
    "warm-up": ([0, 1, 2, 3], [0, 2, 4]),
    "uneven": ([5, 4, 3, 2, 1, 9], [0, 1, 3, 6]),
    "vocabulary grew": ([1, 2, 10, 3], [0, 1, 4]),
}


def main():
    torch.manual_seed(0)
    table = torch.randn(10, 24)
    for name, (indices, starts) in BATCHES.items():
        indices, starts = torch.tensor(indices), torch.tensor(starts)
        out = embedding_bag(table, indices, starts)
        torch.testing.assert_close(out, reference(table, indices, starts))
        print(name, "ok")


if __name__ == "__main__":
    main()

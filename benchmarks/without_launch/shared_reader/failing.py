"""Compiles the kernels of a table join for the columns that a query names, before the query runs."""

import argparse
import sys

import torch
import triton
import triton.language as tl

TYPES = {"int": torch.int32, "long": torch.int64, "float": torch.float32}
QUERY = "orders.price:float, orders.count:int, items.weight:float"


@triton.jit
def hashed(key, buckets):
    mixed = key * 40503
    return ((mixed >> 16) ^ mixed) & (buckets - 1)


@triton.jit(noinline=True)
def read_column(column_ptr, start, SIZE: tl.constexpr):
    return tl.load(column_ptr + start + tl.arange(0, SIZE))


@triton.jit
def build_kernel(keys_ptr, heads_ptr, next_ptr, count, buckets, SIZE: tl.constexpr):
    rows = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    mask = rows < count
    bucket = hashed(tl.load(keys_ptr + rows, mask=mask, other=0), buckets)
    before = tl.atomic_xchg(heads_ptr + bucket, rows, mask=mask)
    tl.store(next_ptr + rows, before, mask=mask)


@triton.jit
def filter_kernel(column_ptr, keep_ptr, lowest, count, SIZE: tl.constexpr):
    rows = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    mask = rows < count
    tl.store(keep_ptr + rows, tl.load(column_ptr + rows, mask=mask, other=0) >= lowest, mask=mask)


@triton.jit
def product_kernel(left_ptr, right_ptr, out_ptr, SIZE: tl.constexpr, WITH_SUM: tl.constexpr):
    start = tl.program_id(0) * SIZE
    left = read_column(left_ptr, start, SIZE)
    right = read_column(right_ptr, start, SIZE)
    if WITH_SUM:
        tl.atomic_add(out_ptr, tl.sum(left * right, axis=0))
    else:
        tl.store(out_ptr + start + tl.arange(0, SIZE), left * right)


class Column:
    def __init__(self, text):
        path, _, kind = text.strip().partition(":")
        self.table, _, self.name = path.partition(".")
        self.kind = TYPES[kind]

    def __str__(self):
        return f"{self.table}.{self.name}"


class Plan:
    """What a query needs, step by step; each step compiles its kernel."""

    def __init__(self, query, size):
        self.columns = [Column(text) for text in query.split(",")]
        self.size = size

    def steps(self):
        tables = sorted({column.table for column in self.columns})
        for table in tables:
            yield f"hash {table}", lambda: build_kernel.warmup(
                torch.int32, torch.int32, torch.int32, 1 << 20, 1 << 16, SIZE=self.size, grid=(1024,)
            )
        for column in self.columns:
            yield f"filter {column}", lambda column=column: filter_kernel.warmup(
                column.kind, torch.bool, 3, 1 << 20, SIZE=self.size, grid=(1024,)
            )
        numbers = [column for column in self.columns if column.kind.is_floating_point]
        for with_sum in (False, True):
            yield f"product, {with_sum=}", lambda with_sum=with_sum: product_kernel.warmup(
                *[column.kind for column in numbers], torch.float32, SIZE=self.size, WITH_SUM=with_sum, grid=(1024,)
            )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--query", default=QUERY)
    parser.add_argument("--size", type=int, default=512)
    args = parser.parse_args()
    plan = Plan(args.query, args.size)
    for what, step in plan.steps():
        kernel = step()
        print(f"{what:24} {kernel.metadata.num_warps} warps, {kernel.metadata.shared} bytes shared", file=sys.stderr)


if __name__ == "__main__":
    main()

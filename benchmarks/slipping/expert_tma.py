"""Grouped GEMM with tensor descriptors made on the device. Groups lie in one flat buffer of records:
a header, the rows of an expert, and a trailer with a checksum of four elements."""

import argparse
import time

import torch
import triton
import triton.language as tl

HEADER = 8
TRAILER = 4


def allocate(size, alignment, stream):
    return torch.empty(size, device="cuda", dtype=torch.int8)


@triton.jit
def route_kernel(choice, counts, tokens, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < tokens
    tl.atomic_add(counts + tl.load(choice + at, mask=keep, other=0), 1, mask=keep)


@triton.jit
def round_up(value, to):
    return (value + to - 1) // to * to


@triton.jit
def starts_kernel(counts, starts, width, experts, header, trailer, BLOCK: tl.constexpr):
    """Where each record begins, in elements: rounded up to 16 bytes, since descriptors begin there."""
    expert = tl.arange(0, BLOCK)
    count = tl.load(counts + expert, mask=expert < experts, other=0)
    size = round_up(header + count * width + trailer, 4)
    tl.store(starts + expert, tl.cumsum(size, axis=0) - size, mask=expert < experts)


@triton.jit
def spread_kernel(flat, starts, counts, width, header, BLOCK: tl.constexpr):
    expert = tl.program_id(0)
    amount = tl.load(counts + expert) * width
    base = flat + tl.load(starts + expert) + header
    for begin in range(0, amount, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        tl.store(base + at, (at % 7).to(tl.float16), mask=at < amount)


@triton.jit
def gemm_kernel(
    flat, starts, counts, weight, out, width, columns, header,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    expert = tl.program_id(0)
    tile = tl.program_id(1)
    rows = tl.load(counts + expert)
    if tile * BM < rows:
        first = flat + tl.load(starts + expert) + header
        group = tl.make_tensor_descriptor(first, [rows, width], [width, 1], [BM, BK])
        dense = tl.make_tensor_descriptor(weight + expert * width * columns, [width, columns], [columns, 1], [BK, BN])
        acc = tl.zeros([BM, BN], tl.float32)
        for k in range(0, width, BK):
            acc = tl.dot(group.load([tile * BM, k]), dense.load([k, 0]), acc)
        rm = tile * BM + tl.arange(0, BM)
        at = out + expert * columns + tl.arange(0, BN)
        tl.atomic_add(at, tl.sum(tl.where((rm < rows)[:, None], acc, 0.0), axis=0))


class Grouped:
    def __init__(self, experts, width, columns, dtype=torch.float16):
        self.experts, self.width, self.columns, self.dtype = experts, width, columns, dtype
        self.weight = torch.ones(experts, width, columns, device="cuda", dtype=dtype)

    def route(self, choice):
        counts = torch.zeros(self.experts, dtype=torch.int32, device="cuda")
        route_kernel[(triton.cdiv(len(choice), 128),)](choice, counts, len(choice), BLOCK=128)
        starts = torch.empty_like(counts)
        block = triton.next_power_of_2(self.experts)
        starts_kernel[(1,)](counts, starts, self.width, self.experts, HEADER, TRAILER, BLOCK=block)
        return starts, counts

    def __call__(self, choice):
        starts, counts = self.route(choice)
        records = len(choice) * self.width + (HEADER + TRAILER + 8) * self.experts
        flat = torch.zeros(records, device="cuda", dtype=self.dtype)
        spread_kernel[(self.experts,)](flat, starts, counts, self.width, HEADER, BLOCK=256)
        out = torch.zeros(self.experts, self.columns, device="cuda")
        gemm_kernel[(self.experts, triton.cdiv(len(choice), 64))](
            flat, starts, counts, self.weight, out, self.width, self.columns, HEADER, BM=64, BN=64, BK=32
        )
        return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=300)
    parser.add_argument("--experts", type=int, nargs="*", default=[1, 5])
    args = parser.parse_args()
    triton.set_allocator(allocate)
    for experts in args.experts:
        layer = Grouped(experts, 64, 64)
        choice = (torch.arange(args.tokens) * 13 % experts).to(torch.int32).cuda()
        begin = time.perf_counter()
        out = layer(choice)
        torch.cuda.synchronize()
        print(experts, tuple(out.shape), f"{time.perf_counter() - begin:.3f} s")


if __name__ == "__main__":
    main()

"""Decode attention over a paged cache: a scorer, an online softmax in chunks, and a small harness that times both."""

import argparse
import logging
import math
import time
from contextlib import contextmanager

import torch
import triton
import triton.language as tl

log = logging.getLogger("paged")


@contextmanager
def stopwatch(label, sink):
    begin = time.perf_counter()
    try:
        yield
    finally:
        sink[label] = time.perf_counter() - begin


@triton.jit
def rescale(peak, total, scores):
    """One step of the online softmax: the new peak, the correction of what was summed, and the new terms."""
    above = tl.maximum(peak, tl.max(scores, axis=1))
    correction = tl.exp2(peak - above)
    terms = tl.exp2(scores - above[:, None])
    return above, total * correction + tl.sum(terms, axis=1), correction, terms


@triton.jit
def gather_keys(cache, table, start, length, stride, CHUNK: tl.constexpr, DIM: tl.constexpr):
    position = start + tl.arange(0, CHUNK)
    slot = tl.load(table + position, mask=position < length, other=0)
    at = slot[:, None] * stride + tl.arange(0, DIM)[None, :]
    return tl.load(cache + at, mask=(position < length)[:, None], other=0.0)


@triton.jit
def decode_kernel(
    query, keys, values, table, lengths, out, stride_q, stride_k, scale,
    HEADS: tl.constexpr, DIM: tl.constexpr, CHUNK: tl.constexpr,
):
    sequence = tl.program_id(0)
    length = tl.load(lengths + sequence)
    head = tl.arange(0, HEADS)
    dim = tl.arange(0, DIM)
    q = tl.load(query + sequence * stride_q + head[:, None] * DIM + dim[None, :])
    peak = tl.full([HEADS], float("-inf"), q.dtype)
    total = tl.zeros([HEADS], tl.float32)
    acc = tl.zeros([HEADS, DIM], tl.float32)
    for start in range(0, length, CHUNK):
        k = gather_keys(keys, table, start, length, stride_k, CHUNK, DIM)
        v = gather_keys(values, table, start, length, stride_k, CHUNK, DIM)
        scores = tl.dot(q, tl.trans(k)) * scale
        scores = tl.where((start + tl.arange(0, CHUNK) < length)[None, :], scores, float("-inf"))
        peak, total, correction, terms = rescale(peak, total, scores)
        acc = acc * correction[:, None] + tl.dot(terms.to(v.dtype), v)
    at = out + sequence * stride_q + head[:, None] * DIM + dim[None, :]
    tl.store(at, (acc / total[:, None]).to(out.dtype.element_ty))


@triton.jit
def fill_kernel(cache, amount, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(cache + at, tl.randn(seed, at).to(cache.dtype.element_ty), mask=at < amount)


class PagedCache:
    def __init__(self, slots, dim, dtype):
        self.keys = torch.empty(slots, dim, device="cuda", dtype=dtype)
        self.values = torch.empty_like(self.keys)
        for seed, tensor in enumerate((self.keys, self.values)):
            fill_kernel[(triton.cdiv(tensor.numel(), 1024),)](tensor, tensor.numel(), seed, BLOCK=1024)

    def table(self, slots):
        return torch.arange(slots - 1, -1, -1, device="cuda", dtype=torch.int32)


def decode(query, cache, table, lengths, chunk=32):
    sequences, heads, dim = query.shape
    out = torch.empty_like(query)
    decode_kernel[(sequences,)](
        query, cache.keys, cache.values, table, lengths, out, query.stride(0), cache.keys.stride(0),
        math.log2(math.e) / math.sqrt(dim), HEADS=heads, DIM=dim, CHUNK=chunk,
    )
    return out


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slots", type=int, default=256)
    parser.add_argument("--dtype", choices=["float32", "float16", "bfloat16"], default="float16")
    parser.add_argument("--repeat", type=int, default=2)
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    dtype = getattr(torch, args.dtype)
    cache = PagedCache(args.slots, 64, dtype)
    query = torch.randn(4, 16, 64, device="cuda", dtype=dtype)
    lengths = torch.tensor([args.slots, 70, 33, 1], device="cuda", dtype=torch.int32)
    took = {}
    for turn in range(args.repeat):
        with stopwatch(f"decode {turn}", took):
            decode(query, cache, cache.table(args.slots), lengths)
            torch.cuda.synchronize()
    for label, seconds in took.items():
        log.info("%s %.3f ms", label, 1e3 * seconds)


if __name__ == "__main__":
    main()

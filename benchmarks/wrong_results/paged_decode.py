"""Decode one token per sequence against a paged KV cache, with grouped query heads."""
import argparse
import math
from collections import namedtuple

import torch
import triton
import triton.language as tl

Case = namedtuple("Case", "name batch heads kv_heads head_dim page lengths")
CASES = [
    Case("multi-head", 2, 4, 4, 16, 8, (5, 17)),
    Case("multi-query", 2, 4, 1, 16, 8, (8, 9)),
    Case("grouped", 3, 8, 2, 32, 16, (1, 40, 33)),
]


@triton.jit
def paged_decode_kernel(
    q_ptr, k_ptr, v_ptr, table_ptr, len_ptr, out_ptr,
    stride_qb, stride_qh, stride_kp, stride_kt, stride_kh, stride_tb,
    kv_heads, scale,
    PAGE: tl.constexpr, DIM: tl.constexpr,
):
    seq = tl.program_id(0)
    head = tl.program_id(1)
    kv_head = head % kv_heads
    length = tl.load(len_ptr + seq)
    d = tl.arange(0, DIM)
    t = tl.arange(0, PAGE)
    q = tl.load(q_ptr + seq * stride_qb + head * stride_qh + d).to(tl.float32) * scale
    best = -float("inf")
    total = 0.0
    acc = tl.zeros((DIM,), dtype=tl.float32)
    for page in range(0, tl.cdiv(length, PAGE)):
        block = tl.load(table_ptr + seq * stride_tb + page)
        inside = page * PAGE + t < length
        at = block * stride_kp + t[:, None] * stride_kt + kv_head * stride_kh + d[None, :]
        k = tl.load(k_ptr + at, mask=inside[:, None], other=0.0).to(tl.float32)
        v = tl.load(v_ptr + at, mask=inside[:, None], other=0.0).to(tl.float32)
        score = tl.where(inside, tl.sum(k * q[None, :], axis=1), -float("inf"))
        new = tl.maximum(best, tl.max(score, axis=0))
        p = tl.exp(score - new)
        shrink = tl.exp(best - new)
        acc = acc * shrink + tl.sum(p[:, None] * v, axis=0)
        total = total * shrink + tl.sum(p, axis=0)
        best = new
    tl.store(out_ptr + seq * stride_qb + head * stride_qh + d, (acc / total).to(out_ptr.dtype.element_ty))


class PagedCache:
    """Pages are handed out in a random order, as they would be after a while in a server."""

    def __init__(self, case, dtype, device):
        self.page = case.page
        self.pages_of = [math.ceil(n / case.page) for n in case.lengths]
        pages = sum(self.pages_of)
        shape = (pages, case.page, case.kv_heads, case.head_dim)
        self.k = torch.randn(shape, device=device, dtype=dtype)
        self.v = torch.randn(shape, device=device, dtype=dtype)
        order = torch.randperm(pages).tolist()
        self.table = torch.zeros(case.batch, max(self.pages_of), dtype=torch.int32, device=device)
        for row, count in enumerate(self.pages_of):
            self.table[row, :count] = torch.tensor([order.pop() for _ in range(count)], device=device)
        self.lengths = torch.tensor(case.lengths, dtype=torch.int32, device=device)

    def gather(self, row):
        pages = self.table[row, : self.pages_of[row]].long()
        n = int(self.lengths[row])
        return self.k[pages].flatten(0, 1)[:n], self.v[pages].flatten(0, 1)[:n]


def paged_decode(q, cache):
    batch, heads, dim = q.shape
    out = torch.empty_like(q)
    paged_decode_kernel[(batch, heads)](
        q, cache.k, cache.v, cache.table, cache.lengths, out,
        q.stride(0), q.stride(1), *cache.k.stride()[:3], cache.table.stride(0),
        cache.k.shape[2], dim ** -0.5, PAGE=cache.page, DIM=dim)
    return out


def reference(q, cache):
    rows = []
    for row in range(q.shape[0]):
        k, v = cache.gather(row)
        repeat = q.shape[1] // k.shape[1]
        k = k.repeat_interleave(repeat, dim=1).transpose(0, 1).float()
        v = v.repeat_interleave(repeat, dim=1).transpose(0, 1).float()
        weights = torch.softmax((q[row].float()[:, None] @ k.transpose(1, 2)) * q.shape[2] ** -0.5, dim=-1)
        rows.append((weights @ v)[:, 0].to(q.dtype))
    return torch.stack(rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", default="float16", choices=["float16", "float32"])
    parser.add_argument("--seed", type=int, default=11)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    dtype = getattr(torch, args.dtype)
    for case in CASES:
        q = torch.randn(case.batch, case.heads, case.head_dim, device="cuda", dtype=dtype)
        cache = PagedCache(case, dtype, "cuda")
        torch.testing.assert_close(paged_decode(q, cache), reference(q, cache), rtol=1e-2, atol=1e-2)
        print(f"{case.name}: ok")


if __name__ == "__main__":
    main()

"""Attention over blocks of keys, with a bias and a mask of its own, in four stages (triton-lang/triton 9815)."""

import torch
import triton
import triton.language as tl

HEAD, LOG2E = 64, 1.44269504


@triton.jit
def attend_kernel(queries, keys, values, biases, kept, out, length, scale, QUERIES: tl.constexpr, KEYS: tl.constexpr,
                  HEAD: tl.constexpr):  # fmt: skip
    query = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES)
    key = tl.arange(0, KEYS)
    lane = tl.arange(0, HEAD)
    q = tl.load(queries + query[:, None] * HEAD + lane[None, :], mask=(query < length)[:, None], other=0.0)
    top = tl.full((QUERIES,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((QUERIES,), dtype=tl.float32)
    mixed = tl.zeros((QUERIES, HEAD), dtype=tl.float32)
    for begin in range(0, length, KEYS):
        inside = begin + key < length
        k = tl.load(keys + (begin + key)[None, :] * HEAD + lane[:, None], mask=inside[None, :], other=0.0)
        v = tl.load(values + (begin + key)[:, None] * HEAD + lane[None, :], mask=inside[:, None], other=0.0)
        bias = tl.load(biases + query[:, None] * length + (begin + key)[None, :],
                       mask=(query < length)[:, None] & inside[None, :], other=float("-inf"))  # fmt: skip
        keep = tl.load(kept + begin + key, mask=inside, other=0)
        scores = tl.dot(q, k) * scale + bias
        scores = tl.where((keep != 0)[None, :], scores, float("-inf"))
        highest = tl.maximum(top, tl.max(scores, axis=1))
        weight = tl.exp2(scores - highest[:, None])
        faded = tl.exp2(top - highest)
        total = total * faded + tl.sum(weight, axis=1)
        mixed = mixed * faded[:, None] + tl.dot(weight.to(v.dtype), v)
        top = highest
    mixed = mixed / total[:, None]
    tl.store(out + query[:, None] * HEAD + lane[None, :], mixed.to(out.dtype.element_ty),
             mask=(query < length)[:, None])  # fmt: skip


def attend(queries, keys, values, biases, kept):
    length, out = len(queries), torch.empty_like(queries)
    grid = (triton.cdiv(length, 64),)
    attend_kernel[grid](queries, keys, values, biases, kept, out, length, HEAD**-0.5 * LOG2E, QUERIES=64, KEYS=32,
                        HEAD=HEAD, num_warps=4, num_stages=4)  # fmt: skip
    return out


def main():
    torch.manual_seed(3)
    length = 200
    queries, keys, values = (torch.randn(length, HEAD, device="cuda", dtype=torch.float16) for _ in range(3))
    biases = torch.randn(length, length, device="cuda")
    kept = (torch.arange(length, device="cuda") % 7 != 3).to(torch.int8)
    out = attend(queries, keys, values, biases, kept)
    torch.cuda.synchronize()
    print(out.shape, out.dtype)


if __name__ == "__main__":
    main()

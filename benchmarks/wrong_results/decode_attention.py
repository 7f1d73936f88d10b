"""Attention of one new token against a cache, split over the cache and then combined."""
import dataclasses

import torch
import triton
import triton.language as tl


@dataclasses.dataclass
class ModelConfig:
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 64
    max_cache: int = 256
    rope_theta: float = 10000.0

    @property
    def group(self):
        return self.heads // self.kv_heads


@triton.jit
def split_kernel(q_ptr, k_ptr, v_ptr, part_ptr, max_ptr, sum_ptr, length, scale,
                 stride_kv_head, stride_kv_pos, splits,
                 GROUP: tl.constexpr, SPLIT: tl.constexpr, DIM: tl.constexpr):
    head = tl.program_id(0)
    split = tl.program_id(1)
    dims = tl.arange(0, DIM)
    pos = split * SPLIT + tl.arange(0, SPLIT)
    ok = pos < length
    q = tl.load(q_ptr + head * DIM + dims).to(tl.float32)
    at = (head // GROUP) * stride_kv_head + pos[:, None] * stride_kv_pos + dims[None, :]
    k = tl.load(k_ptr + at, mask=ok[:, None], other=0.0).to(tl.float32)
    v = tl.load(v_ptr + at, mask=ok[:, None], other=0.0).to(tl.float32)
    scores = tl.sum(k * q[None, :], axis=1) * scale
    scores = tl.where(ok, scores, -float("inf"))
    top = tl.max(scores, axis=0)
    p = tl.exp(scores - top)
    slot = head * splits + split
    tl.store(part_ptr + slot * DIM + dims, tl.sum(p[:, None] * v, axis=0))
    tl.store(max_ptr + slot, top)
    tl.store(sum_ptr + slot, tl.sum(p, axis=0))


@triton.jit
def combine_kernel(part_ptr, max_ptr, sum_ptr, o_ptr, splits,
                   SPLITS: tl.constexpr, DIM: tl.constexpr):
    head = tl.program_id(0)
    dims = tl.arange(0, DIM)
    idx = tl.arange(0, SPLITS)
    ok = idx < splits
    tops = tl.load(max_ptr + head * splits + idx, mask=ok, other=-float("inf"))
    sums = tl.load(sum_ptr + head * splits + idx, mask=ok, other=0.0)
    parts = tl.load(part_ptr + (head * splits + idx)[:, None] * DIM + dims[None, :],
                    mask=ok[:, None], other=0.0)
    factor = tl.exp(tops - tl.max(tops, axis=0))
    out = tl.sum(parts * factor[:, None], axis=0) / tl.sum(sums * factor, axis=0)
    tl.store(o_ptr + head * DIM + dims, out.to(o_ptr.dtype.element_ty))


class DecodeAttention:
    def __init__(self, config, split=64):
        self.config = config
        self.split = split
        self.scale = config.head_dim ** -1

    def __call__(self, q, k_cache, v_cache, length):
        c = self.config
        splits = triton.cdiv(length, self.split)
        part = q.new_empty((c.heads, splits, c.head_dim), dtype=torch.float32)
        top = q.new_empty((c.heads, splits), dtype=torch.float32)
        total = torch.empty_like(top)
        out = torch.empty_like(q)
        split_kernel[(c.heads, splits)](q, k_cache, v_cache, part, top, total, length, self.scale,
                                        k_cache.stride(0), k_cache.stride(1), splits,
                                        GROUP=c.group, SPLIT=self.split, DIM=c.head_dim)
        combine_kernel[(c.heads,)](part, top, total, out, splits,
                                   SPLITS=triton.next_power_of_2(splits), DIM=c.head_dim)
        return out


def rope_frequencies(config):
    return config.rope_theta ** (-torch.arange(0, config.head_dim, 2) / config.head_dim)


def reference(config, q, k_cache, v_cache, length):
    k = k_cache[:, :length].repeat_interleave(config.group, dim=0)
    v = v_cache[:, :length].repeat_interleave(config.group, dim=0)
    return torch.nn.functional.scaled_dot_product_attention(q[:, None], k, v)[:, 0]


if __name__ == "__main__":
    torch.manual_seed(4)
    config = ModelConfig()
    decode = DecodeAttention(config)
    caches = [torch.randn(config.kv_heads, config.max_cache, config.head_dim, device="cuda") for _ in "kv"]
    for length in (1, 150, 256):
        q = torch.randn(config.heads, config.head_dim, device="cuda")
        got, want = decode(q, *caches, length), reference(config, q, *caches, length)
        close = torch.isclose(got, want, rtol=2e-3, atol=2e-3)
        assert close.all(), f"length {length}: {(~close).sum().item()} of {close.numel()} elements off"
        print("length", length, "ok")

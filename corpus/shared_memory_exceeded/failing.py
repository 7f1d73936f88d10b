"""Attention scores with a relative position bias; a preset for long sequences does not fit into shared memory."""

import math

import torch
import triton
import triton.language as tl

PRESETS = {
    "short": dict(BLOCK_Q=64, BLOCK_K=32, num_stages=2, num_warps=4),
    "long": dict(BLOCK_Q=64, BLOCK_K=64, num_stages=9, num_warps=4),
}


@triton.jit
def bias_of(bias_ptr, q, k, longest):
    distance = tl.minimum(tl.maximum(q[:, None] - k[None, :], 0), longest - 1)
    return tl.load(bias_ptr + distance)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, out_ptr, length, longest, scale,
    HEAD: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):
    base = tl.program_id(1) * length * HEAD
    q_rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    dims = tl.arange(0, HEAD)
    q = tl.load(q_ptr + base + q_rows[:, None] * HEAD + dims[None, :], mask=(q_rows < length)[:, None], other=0.0)
    peak = tl.full([BLOCK_Q], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_Q], tl.float32)
    acc = tl.zeros([BLOCK_Q, HEAD], tl.float32)
    for start in range(0, length, BLOCK_K):
        k_rows = start + tl.arange(0, BLOCK_K)
        inside = (k_rows < length)[:, None]
        k = tl.load(k_ptr + base + k_rows[:, None] * HEAD + dims[None, :], mask=inside, other=0.0)
        v = tl.load(v_ptr + base + k_rows[:, None] * HEAD + dims[None, :], mask=inside, other=0.0)
        scores = tl.dot(q, tl.trans(k)) * scale + bias_of(bias_ptr, q_rows, k_rows, longest)
        scores = tl.where((k_rows < length)[None, :], scores, float("-inf"))
        higher = tl.maximum(peak, tl.max(scores, axis=1))
        weights = tl.exp(scores - higher[:, None])
        shrink = tl.exp(peak - higher)
        total = total * shrink + tl.sum(weights, axis=1)
        acc = tl.dot(weights.to(tl.float16), v, acc * shrink[:, None])
        peak = higher
    out = acc / total[:, None]
    tl.store(out_ptr + base + q_rows[:, None] * HEAD + dims[None, :], out, mask=(q_rows < length)[:, None])


def attention(q, k, v, bias, preset: str):
    heads, length, head = q.shape
    out = torch.empty(heads, length, head, device=q.device)
    options = PRESETS[preset]
    attention_kernel[(triton.cdiv(length, options["BLOCK_Q"]), heads)](
        q, k, v, bias, out, length, bias.numel(), 1 / math.sqrt(head), HEAD=head, **options
    )
    return out


def reference(q, k, v, bias):
    length = q.shape[1]
    position = torch.arange(length, device=q.device)
    distance = (position[:, None] - position[None, :]).clamp(0, bias.numel() - 1)
    scores = q.float() @ k.float().transpose(1, 2) / math.sqrt(q.shape[2]) + bias[distance]
    return torch.softmax(scores, -1) @ v.float()


def main() -> None:
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 2, 200, 128, device="cuda").half()
    bias = torch.linspace(1.0, 0.0, 32, device="cuda")
    for preset in PRESETS:
        torch.testing.assert_close(attention(q, k, v, bias, preset), reference(q, k, v, bias), rtol=1e-2, atol=1e-2)
        print(preset, "ok")


if __name__ == "__main__":
    main()

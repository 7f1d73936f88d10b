"""Weight-only int8 linear layer: fp16 activations, int8 weights, one scale per output."""
import unittest

import torch
import triton
import triton.language as tl


@triton.jit
def dequantise(w, scale):
    return w.to(tl.float16) * scale


@triton.jit
def w8a16_kernel(x_ptr, w_ptr, s_ptr, y_ptr, M, N, K, stride_x, stride_w, stride_y,
                 BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    ok_m = (rm < M)[:, None]
    ok_n = (rn < N)[None, :]
    x_ptrs = x_ptr + rm[:, None] * stride_x + rk[None, :]
    w_ptrs = w_ptr + rn[None, :] * stride_w + rk[:, None]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    full = K // BLOCK_K
    for _ in range(0, full):
        x = tl.load(x_ptrs, mask=ok_m, other=0.0)
        w = tl.load(w_ptrs, mask=ok_n, other=0)
        acc = tl.dot(x, w.to(tl.float16), acc)
        x_ptrs += BLOCK_K
        w_ptrs += BLOCK_K
    if full * BLOCK_K < K:
        ok_k = rk < K - full * BLOCK_K
        x = tl.load(x_ptrs, mask=ok_m & ok_k[None, :], other=0.0)
        w = tl.load(w_ptrs, mask=ok_n & ok_k[:, None], other=0)
        acc = tl.dot(x, w.to(tl.float16))
    scale = tl.load(s_ptr + rn, mask=rn < N, other=0.0)
    acc = acc * scale[None, :]
    tl.store(y_ptr + rm[:, None] * stride_y + rn[None, :], acc.to(tl.float16), mask=ok_m & ok_n)


def quantise_weight(weight):
    scale = weight.abs().amax(dim=1) / 127.0
    q = torch.round(weight / scale[:, None]).clamp(-127, 127).to(torch.int8)
    return q, scale


class W8A16Linear(torch.nn.Module):
    block_m, block_n, block_k = 16, 32, 32

    def __init__(self, weight):
        super().__init__()
        q, scale = quantise_weight(weight)
        self.register_buffer("q", q)
        self.register_buffer("scale", scale)

    @property
    def memory(self):
        return self.q.numel() + 4 * self.scale.numel()

    def dequantised(self):
        return self.q.float() * self.scale[:, None]

    def forward(self, x):
        m, k = x.shape
        n = self.q.shape[0]
        assert k == self.q.shape[1]
        y = torch.empty((m, n), device=x.device, dtype=torch.float16)
        grid = (triton.cdiv(m, self.block_m), triton.cdiv(n, self.block_n))
        w8a16_kernel[grid](x, self.q, self.scale, y, m, n, k,
                           x.stride(0), self.q.stride(0), y.stride(0),
                           BLOCK_M=self.block_m, BLOCK_N=self.block_n, BLOCK_K=self.block_k)
        return y


class TestW8A16(unittest.TestCase):
    device = "cuda"

    def setUp(self):
        torch.manual_seed(2)

    def close(self, m, n, k):
        layer = W8A16Linear(torch.randn(n, k, device=self.device) / k ** 0.5)
        x = torch.randn(m, k, device=self.device, dtype=torch.float16)
        ref = x.float() @ layer.dequantised().t()
        return torch.allclose(layer(x).float(), ref, rtol=1e-2, atol=1e-2)

    def test_quantise(self):
        q, scale = quantise_weight(torch.randn(8, 40, device=self.device))
        self.assertEqual(q.dtype, torch.int8)
        self.assertEqual(tuple(scale.shape), (8,))

    def test_one_token(self):
        self.assertTrue(self.close(1, 64, 128))

    def test_prefill(self):
        self.assertTrue(self.close(48, 64, 200))


if __name__ == "__main__":
    unittest.main()

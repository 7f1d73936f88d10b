"""Unit tests for the rotary embedding kernel."""
import unittest

import torch
import triton
import triton.language as tl


@triton.jit
def rope_kernel(
    q_ptr, cos_ptr, sin_ptr, out_ptr,
    seq_len, n_heads, half,
    stride_s, stride_h,
    BLOCK: tl.constexpr,
):
    token = tl.program_id(0)
    head = tl.program_id(1)
    pos = token % seq_len
    offs = tl.arange(0, BLOCK)
    mask = offs < half
    base = token * stride_s + head * stride_h
    x1 = tl.load(q_ptr + base + offs, mask=mask, other=0.0).to(tl.float32)
    x2 = tl.load(q_ptr + base + half + offs, mask=mask, other=0.0).to(tl.float32)
    cos = tl.load(cos_ptr + pos * half + offs, mask=mask, other=1.0)
    sin = tl.load(sin_ptr + pos * half + offs, mask=mask, other=0.0)
    o1 = x1 * cos - x2 * sin
    o2 = x2 * cos - x1 * sin
    tl.store(out_ptr + base + offs, o1.to(out_ptr.dtype.element_ty), mask=mask)
    tl.store(out_ptr + base + half + offs, o2.to(out_ptr.dtype.element_ty), mask=mask)


class RotaryEmbedding:
    """Tables of cosine and sine, and the kernel that applies them."""

    def __init__(self, dim, max_len, base=10000.0, device="cuda"):
        self.dim = dim
        self.half = dim // 2
        inv_freq = base ** (-torch.arange(0, dim, 2, device=device, dtype=torch.float32) / dim)
        angles = torch.outer(torch.arange(max_len, device=device, dtype=torch.float32), inv_freq)
        self.cos = angles.cos().contiguous()
        self.sin = angles.sin().contiguous()

    def apply(self, q):
        batch, seq, heads, dim = q.shape
        assert dim == self.dim
        flat = q.contiguous().view(batch * seq, heads, dim)
        out = torch.empty_like(flat)
        rope_kernel[(batch * seq, heads)](
            flat, self.cos, self.sin, out,
            seq, heads, self.half,
            flat.stride(0), flat.stride(1),
            BLOCK=triton.next_power_of_2(self.half),
        )
        return out.view_as(q)

    def reference(self, q):
        seq = q.shape[1]
        cos = self.cos[:seq].repeat(1, 2)[None, :, None, :]
        sin = self.sin[:seq].repeat(1, 2)[None, :, None, :]
        return q * cos + rotate_half(q) * sin


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


class RopeTest(unittest.TestCase):
    batch = 2
    heads = 3

    @classmethod
    def setUpClass(cls):
        cls.device = torch.device("cuda")

    def setUp(self):
        torch.manual_seed(2024)
        self.rope = RotaryEmbedding(48, max_len=32, device=self.device)

    def tearDown(self):
        del self.rope

    def make_query(self, seq, dtype=torch.float32):
        return torch.randn(self.batch, seq, self.heads, self.rope.dim, device=self.device, dtype=dtype)

    def assertClose(self, actual, expected, tol=1e-5):
        self.assertEqual(actual.shape, expected.shape)
        torch.testing.assert_close(actual, expected, rtol=tol, atol=tol)

    def test_shape(self):
        q = self.make_query(4)
        self.assertEqual(self.rope.apply(q).shape, q.shape)

    def test_first_position_is_identity(self):
        q = self.make_query(1)
        self.assertClose(self.rope.apply(q)[..., : self.rope.half], q[..., : self.rope.half])

    def test_against_reference(self):
        for seq in (8, 20):
            with self.subTest(seq=seq):
                q = self.make_query(seq)
                self.assertClose(self.rope.apply(q), self.rope.reference(q))


if __name__ == "__main__":
    unittest.main()

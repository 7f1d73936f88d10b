import torch
import torch.nn.functional as F

torch.manual_seed(0)
assert_close = torch.testing.assert_close


def rand(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda").to(dtype)


# %% silu_and_mul
from conch.kernels.activation.silu_and_mul import silu_and_mul_launcher

out, x = torch.empty(5, 96, device="cuda"), rand(5, 192)
silu_and_mul_launcher(out, x)
assert_close(out, F.silu(x[:, :96]) * x[:, 96:], rtol=1e-3, atol=1e-4)
# %% gelu_tanh_and_mul
from conch.kernels.activation.gelu_tanh_and_mul import gelu_tanh_and_mul_launcher

out, x = torch.empty(5, 96, device="cuda"), rand(5, 192)
gelu_tanh_and_mul_launcher(out, x)
assert_close(out, F.gelu(x[:, :96], approximate="tanh") * x[:, 96:], rtol=1e-3, atol=1e-3)
# %% gemma_rms_norm
from conch.kernels.normalization.gemma_rms_norm import gemma_rms_norm_inplace_launcher

x, w = rand(5, 96), rand(96)
right = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * (1 + w)
gemma_rms_norm_inplace_launcher(x, w)
assert_close(x, right, rtol=1e-3, atol=1e-3)
# %% rms_norm
from conch.kernels.normalization.rms_norm import rms_norm_launcher

out, x, w = torch.empty(5, 96, device="cuda"), rand(5, 96), rand(96)
rms_norm_launcher(out, x, w, 1e-6)
assert_close(out, x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * w, rtol=1e-3, atol=1e-3)
# %% fused_add_rms_norm
from conch.kernels.normalization.rms_norm import fused_add_rms_norm_launcher

x, residual, w = rand(5, 96), rand(5, 96), rand(96)
total = x + residual
fused_add_rms_norm_launcher(x, residual, w, 1e-6)
assert_close(x, total * torch.rsqrt(total.square().mean(-1, keepdim=True) + 1e-6) * w, rtol=1e-3, atol=1e-3)
# %% rotary_embedding
from conch.kernels.embedding.rotary_embedding import rotary_embedding_launcher

positions, q, k, table = torch.arange(5, device="cuda"), rand(5, 4 * 64), rand(5, 2 * 64), rand(32, 64)
cos, sin = table[positions][:, None, :32], table[positions][:, None, 32:]
a, b = q.view(5, 4, 64)[..., :32].clone(), q.view(5, 4, 64)[..., 32:].clone()
rotary_embedding_launcher(positions, q, k, 64, table)
assert_close(q.view(5, 4, 64), torch.cat([a * cos - b * sin, b * cos + a * sin], -1), rtol=1e-3, atol=1e-4)
# %% int8_quant
from conch.kernels.quantization.int8 import static_scaled_int8_quant_launcher

out, x, scale = torch.empty(5, 96, device="cuda", dtype=torch.int8), rand(5, 96), torch.full((1,), 0.02, device="cuda")
static_scaled_int8_quant_launcher(out, x, scale)
assert_close(out.float(), (x / scale).round().clamp(-128, 127), rtol=0, atol=1)
# %% scaled_gemm
from conch.ops.quantization.gemm import scaled_gemm

a, b = (torch.randint(-5, 5, s, device="cuda", dtype=torch.int8) for s in ((32, 64), (64, 48)))
one, other = torch.rand(32, 1, device="cuda"), torch.rand(48, 1, device="cuda")
out = scaled_gemm(a, b, one, other, torch.float32)
assert_close(out, (a.float() @ b.float()) * one * other.t(), rtol=1e-2, atol=1e-2)
# %% dequantize_blockwise
from conch.kernels.quantization.bitsandbytes.dequantize_blockwise import dequantize_blockwise_launcher

absmax, x = torch.rand(16, device="cuda") + 0.5, torch.zeros(512, 1, device="cuda", dtype=torch.uint8)
out = torch.empty(1024, device="cuda")
dequantize_blockwise_launcher(x, absmax, out, None, 64, 1024, "nf4")
assert_close(out, -absmax.repeat_interleave(64), rtol=1e-2, atol=1e-2)
# %% bev_pool
from conch.ops.vision.bev_pool import bev_pool

feats, geom = rand(40, 16), torch.zeros(40, 4, device="cuda", dtype=torch.int32)
geom[:, 0] = torch.arange(4, device="cuda").repeat_interleave(10)
starts = torch.arange(0, 40, 10, device="cuda", dtype=torch.int32)
lengths = torch.full((4,), 10, device="cuda", dtype=torch.int32)
out = bev_pool(feats, geom, starts, lengths, 1, 1, 8, 8)
assert_close(out.flatten().sum().reshape(1), feats.sum().reshape(1), rtol=1e-3, atol=1e-3)
# %% paged_attention
from conch.ops.attention.paged_attention import paged_attention

q, keys, values = rand(2, 4, 64), rand(4, 16, 2, 64), rand(4, 16, 2, 64)
tables = torch.tensor([[0, 1], [2, 3]], device="cuda", dtype=torch.int32)
lengths = torch.tensor([20, 30], device="cuda", dtype=torch.int32)
out = paged_attention(q, keys, values, tables, lengths)
rows = []
for i, length in enumerate([20, 30]):
    k, v = (each[2 * i : 2 * i + 2].reshape(32, 2, 64)[:length].repeat_interleave(2, 1) for each in (keys, values))
    p = (torch.einsum("hd,shd->hs", q[i], k) / 8).softmax(-1)
    rows.append(torch.einsum("hs,shd->hd", p, v))
assert_close(out, torch.stack(rows), rtol=2e-2, atol=2e-2)
# %% reshape_and_cache
from conch.kernels.vllm.reshape_and_cache import reshape_and_cache_launcher

k, v, keys, values = rand(5, 2, 32), rand(5, 2, 32), rand(8, 16, 2, 32), rand(8, 16, 2, 32)
slots = torch.arange(5, device="cuda") + 20
reshape_and_cache_launcher(k, v, keys, values, slots)
assert_close(keys.view(128, 2, 32)[20:25], k, rtol=1e-3, atol=1e-4)

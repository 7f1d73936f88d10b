import torch

torch.manual_seed(0)


def rand(*shape, dtype=torch.float16):
    return torch.randn(*shape, device="cuda").to(dtype)


# %% silu_and_mul
from conch.kernels.activation.silu_and_mul import silu_and_mul_launcher

silu_and_mul_launcher(rand(5, 96), rand(5, 192))
# %% gemma_rms_norm
from conch.kernels.normalization.gemma_rms_norm import gemma_rms_norm_inplace_launcher

gemma_rms_norm_inplace_launcher(rand(5, 96), rand(96))
# %% rms_norm
from conch.kernels.normalization.rms_norm import rms_norm_launcher

rms_norm_launcher(rand(5, 96), rand(5, 96), rand(96), 1e-6)
# %% fused_add_rms_norm
from conch.kernels.normalization.rms_norm import fused_add_rms_norm_launcher

fused_add_rms_norm_launcher(rand(5, 96), rand(5, 96), rand(96), 1e-6)
# %% rotary_embedding
from conch.kernels.embedding.rotary_embedding import rotary_embedding_launcher

positions = torch.arange(5, device="cuda")
rotary_embedding_launcher(positions, rand(5, 4 * 64), rand(5, 2 * 64), 64, rand(32, 64))
# %% fp8_quant
from conch.kernels.quantization.fp8 import static_scaled_fp8_quant_launcher

out = torch.empty(5, 96, device="cuda", dtype=torch.float8_e4m3fn)
static_scaled_fp8_quant_launcher(out, rand(5, 96), torch.ones(1, device="cuda"))
# %% int8_quant
from conch.kernels.quantization.int8 import static_scaled_int8_quant_launcher

out = torch.empty(5, 96, device="cuda", dtype=torch.int8)
static_scaled_int8_quant_launcher(out, rand(5, 96), torch.ones(1, device="cuda"))
# %% quantize_blockwise
from conch.kernels.quantization.bitsandbytes.quantize_blockwise import quantize_blockwise_launcher

absmax, out = torch.empty(16, device="cuda"), torch.empty(512, 1, device="cuda", dtype=torch.uint8)
quantize_blockwise_launcher(rand(1024), absmax, out, None, 64, 1024, "nf4")
# %% dequantize_blockwise
from conch.kernels.quantization.bitsandbytes.dequantize_blockwise import dequantize_blockwise_launcher

absmax, x = torch.ones(16, device="cuda"), torch.zeros(512, 1, device="cuda", dtype=torch.uint8)
dequantize_blockwise_launcher(x, absmax, rand(1024), None, 64, 1024, "nf4")
# %% scaled_gemm
from conch.ops.quantization.gemm import scaled_gemm

a = torch.ones(32, 64, device="cuda", dtype=torch.int8)
b = torch.ones(64, 48, device="cuda", dtype=torch.int8)
scaled_gemm(a, b, torch.ones(32, 1, device="cuda"), torch.ones(48, 1, device="cuda"), torch.float16)
# %% bev_pool
from conch.ops.vision.bev_pool import bev_pool

feats = torch.randn(40, 16, device="cuda")
geom = torch.zeros(40, 4, device="cuda", dtype=torch.int32)
starts = torch.arange(0, 40, 10, device="cuda", dtype=torch.int32)
lengths = torch.full((4,), 10, device="cuda", dtype=torch.int32)
bev_pool(feats, geom, starts, lengths, 1, 1, 8, 8)
# %% nms
from conch.kernels.vision.nms import nms_launcher

boxes, scores = torch.rand(20, 4, device="cuda"), torch.rand(20, device="cuda")
near, left = torch.zeros(20, 20, device="cuda", dtype=torch.bool), torch.ones(20, device="cuda", dtype=torch.bool)
nms_launcher(boxes, scores, near, left, 0.5)
# %% copy_blocks
from conch.ops.vllm.copy_blocks import copy_blocks

keys, values = [rand(8, 1024)], [rand(8, 1024)]
copy_blocks(keys, values, torch.tensor([[0, 1], [2, 3]], device="cuda"))
# %% reshape_and_cache
from conch.kernels.vllm.reshape_and_cache import reshape_and_cache_launcher

slots = torch.arange(5, device="cuda")
reshape_and_cache_launcher(rand(5, 2, 32), rand(5, 2, 32), rand(8, 16, 2, 32), rand(8, 16, 2, 32), slots)
# %% paged_attention
from conch.ops.attention.paged_attention import paged_attention

tables = torch.tensor([[0, 1], [2, 3]], device="cuda", dtype=torch.int32)
lengths = torch.tensor([20, 30], device="cuda", dtype=torch.int32)
paged_attention(rand(2, 4, 64), rand(4, 16, 2, 64), rand(4, 16, 2, 64), tables, lengths)
# %% varlen_attention
from conch.ops.attention.varlen_attention import varlen_attention

tables = torch.tensor([[0, 1], [2, 3]], device="cuda", dtype=torch.int32)
lengths = torch.tensor([20, 30], device="cuda", dtype=torch.int32)
starts = torch.tensor([0, 20, 50], device="cuda", dtype=torch.int32)
varlen_attention(rand(50, 4, 64), rand(4, 16, 2, 64), rand(4, 16, 2, 64), tables, lengths, starts, 30, 30)

import torch
import triton

autotune = triton.autotune
triton.autotune = lambda configs, *keys, **more: autotune(configs[:1], *keys, **more)  # one each, so that a run is short
torch.manual_seed(0)


def rand(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda").to(dtype)


# %% act_quant_lhs
from torchao.prototype.blockwise_fp8_training.kernels import triton_fp8_blockwise_act_quant_lhs

triton_fp8_blockwise_act_quant_lhs(rand(256, 256))
# %% act_quant_rhs
from torchao.prototype.blockwise_fp8_training.kernels import triton_fp8_blockwise_act_quant_rhs

triton_fp8_blockwise_act_quant_rhs(rand(256, 256))
# %% act_quant_transposed_lhs
from torchao.prototype.blockwise_fp8_training.kernels import triton_fp8_blockwise_act_quant_transposed_lhs

triton_fp8_blockwise_act_quant_transposed_lhs(rand(256, 256))
# %% weight_quant_rhs
from torchao.prototype.blockwise_fp8_training.kernels import triton_fp8_blockwise_weight_quant_rhs

triton_fp8_blockwise_weight_quant_rhs(rand(256, 256))
# %% weight_quant_transposed_rhs
from torchao.prototype.blockwise_fp8_training.kernels import triton_fp8_blockwise_weight_quant_transposed_rhs

triton_fp8_blockwise_weight_quant_transposed_rhs(rand(256, 256))
# %% gemm_1x128_128x128
from torchao.prototype.blockwise_fp8_training.kernels import triton_fp8_gemm_1x128_128x128

a, b = rand(128, 256, dtype=torch.float8_e4m3fn), rand(128, 256, dtype=torch.float8_e4m3fn).t()
triton_fp8_gemm_1x128_128x128(a, b, torch.ones(2, 128, device="cuda").t(), torch.ones(1, 2, device="cuda").t())
# %% gemm_1x128_128x1
from torchao.prototype.blockwise_fp8_training.kernels import triton_fp8_gemm_1x128_128x1

a, b = rand(128, 256, dtype=torch.float8_e4m3fn), rand(128, 256, dtype=torch.float8_e4m3fn).t()
triton_fp8_gemm_1x128_128x1(a, b, torch.ones(2, 128, device="cuda").t(), torch.ones(2, 128, device="cuda"))
# %% int_matmul
from torchao.kernel.intmm_triton import int_matmul_cuda

int_matmul_cuda(torch.ones(64, 64, device="cuda", dtype=torch.int8), torch.ones(64, 64, device="cuda", dtype=torch.int8))
# %% int_scaled_matmul
from torchao.kernel.intmm_triton import int_scaled_matmul_cuda

ones = torch.ones(64, 64, device="cuda", dtype=torch.int8)
int_scaled_matmul_cuda(ones, ones, rand(64, 1))
# %% scaled_int8_mm
from torchao.prototype.quantized_training.int8_mm import scaled_int8_mm_cuda

ones = torch.ones(64, 64, device="cuda", dtype=torch.int8)
scaled_int8_mm_cuda(ones, ones, rand(64), rand(64))
# %% matmul
from torchao.prototype.common.triton.matmul import matmul

matmul(rand(64, 64), rand(64, 64))
# %% hqq_mixed_mm
from torchao.prototype.hqq.mixed_mm import triton_mixed_mm

packed = torch.ones(64, 64, device="cuda", dtype=torch.uint8)
triton_mixed_mm(rand(16, 128), packed, rand(64, 2), rand(64, 2), group_size=64, transposed=False, fp8_fast_accum=False)
# %% hp_to_fp8_row_major
from torchao.float8.float8_training_tensor import LinearMMConfig
from torchao.prototype.float8nocompile.kernels.fp8_dynamic_tensorwise import hp_to_fp8_row_major

hp_to_fp8_row_major(rand(64, 64), torch.float8_e4m3fn, LinearMMConfig())
# %% hp_to_fp8_col_major
from torchao.float8.float8_training_tensor import LinearMMConfig
from torchao.prototype.float8nocompile.kernels.fp8_dynamic_tensorwise import hp_to_fp8_col_major

hp_to_fp8_col_major(rand(64, 64), torch.float8_e4m3fn, LinearMMConfig())
# %% hp_to_fp8_row_major_t
from torchao.float8.float8_training_tensor import LinearMMConfig
from torchao.prototype.float8nocompile.kernels.fp8_dynamic_tensorwise import hp_to_fp8_row_major_t

hp_to_fp8_row_major_t(rand(64, 64), torch.float8_e4m3fn, LinearMMConfig())
# %% fp8_sdpa_quantize
from torchao.prototype.attention.quantization.triton_qkv_quantization import triton_fp8_sdpa_quantize

triton_fp8_sdpa_quantize(rand(1, 2, 64, 64), rand(1, 2, 64, 64), rand(1, 2, 64, 64))
# %% fp8_rope_sdpa_quantize
from torchao.prototype.attention.quantization.triton_rope_qkv_quantization import triton_fp8_rope_sdpa_quantize

cos = torch.randn(64, 64, device="cuda")
triton_fp8_rope_sdpa_quantize(rand(1, 64, 2, 64), rand(1, 64, 2, 64), rand(1, 64, 2, 64), cos, cos)
# %% hadamard_sdpa_quantize
from torchao.prototype.attention.quantization.triton_hadamard_qkv_quantization import triton_fp8_hadamard_sdpa_quantize

triton_fp8_hadamard_sdpa_quantize(rand(1, 2, 64, 64), rand(1, 2, 64, 64), rand(1, 2, 64, 64))
# %% inverse_hadamard
from torchao.prototype.attention.quantization.triton_hadamard_utils import inverse_hadamard_transform

inverse_hadamard_transform(rand(1, 2, 64, 64))
# %% fill_indices
from torchao.prototype.moe_training.ep.kernels import generate_permute_indices

generate_permute_indices(torch.full((16,), 3, device="cuda", dtype=torch.int32), 4, 4, 128, 8)
# %% permute_and_pad
from torchao.prototype.moe_training.ep.permute import _triton_permute_bwd

rows = torch.arange(32, device="cuda", dtype=torch.int32)
_triton_permute_bwd(rand(32, 96), rows, 32, 96)
# %% act_quant_grouped
from torchao.prototype.blockwise_fp8_training.deepgemm_quant import triton_fp8_blockwise_weight_quant_grouped_rhs_deepgemm

triton_fp8_blockwise_weight_quant_grouped_rhs_deepgemm(rand(2, 256, 256).transpose(-2, -1))
# %% hp_to_fp8_col_major_t
from torchao.float8.float8_training_tensor import LinearMMConfig
from torchao.prototype.float8nocompile.kernels.fp8_dynamic_tensorwise import hp_to_fp8_col_major_t

hp_to_fp8_col_major_t(rand(64, 64), torch.float8_e4m3fn, LinearMMConfig())

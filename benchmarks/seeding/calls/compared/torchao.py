import torch
import triton

autotune = triton.autotune
triton.autotune = lambda configs, *keys, **more: autotune(configs[:1], *keys, **more)  # one each, so that a run is short
torch.manual_seed(0)
assert_close = torch.testing.assert_close


def rand(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda").to(dtype)


# %% scaled_int8_mm
from torchao.prototype.quantized_training.int8_mm import scaled_int8_mm_cuda

a, b = (torch.randint(-5, 5, (64, 64), device="cuda", dtype=torch.int8) for _ in range(2))
row, column = torch.rand(64, device="cuda"), torch.rand(64, device="cuda")
out = scaled_int8_mm_cuda(a, b, row, column)
assert_close(out.float(), (a.float() @ b.float()) * row[:, None] * column, rtol=2e-2, atol=2e-2)
# %% hadamard
from torchao.prototype.attention.quantization.triton_hadamard_utils import inverse_hadamard_transform

x = rand(1, 2, 64, 64)
h = torch.ones(1, 1, device="cuda")
for _ in range(6):
    h = torch.cat([torch.cat([h, h], 1), torch.cat([h, -h], 1)])
out = inverse_hadamard_transform(x)
assert_close(out.float(), x.float() @ h / 8, rtol=3e-2, atol=5e-2)
# %% fp8_weight_quant
from torchao.prototype.blockwise_fp8_training.kernels import triton_fp8_blockwise_weight_quant_rhs

x = rand(128, 128)
y, s = triton_fp8_blockwise_weight_quant_rhs(x)
assert_close(s.flatten(), x.float().abs().max().reshape(1) / 448, rtol=2e-2, atol=1e-4)
# %% fp8_act_quant
from torchao.prototype.blockwise_fp8_training.kernels import triton_fp8_blockwise_act_quant_lhs

x = rand(16, 128)
y, s = triton_fp8_blockwise_act_quant_lhs(x)
assert_close(s.flatten(), x.float().abs().amax(1) / 448, rtol=2e-2, atol=1e-4)

import torch
import triton

autotune = triton.autotune
triton.autotune = lambda configs, *keys, **more: autotune(configs[:1], *keys, **more)  # one each, so that a run is short
torch.manual_seed(0)


def leaf(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=dtype, requires_grad=True)


def unfilled(*shape):
    """Without a page of memory behind it, however large, as long as nobody writes there."""
    return torch.empty(*shape, device="cuda", dtype=torch.bfloat16)


# %% rms_norm
from liger_kernel.ops.rms_norm import LigerRMSNormFunction

LigerRMSNormFunction.apply(leaf(6, 96), leaf(96), 1e-6, 0.0, "llama", True).sum().backward()
# %% rms_norm_block
from liger_kernel.ops.rms_norm import LigerRMSNormFunction

LigerRMSNormFunction.apply(leaf(40000, 96), leaf(96), 1e-6, 0.0, "gemma", False).sum()
# %% layer_norm
from liger_kernel.ops.layer_norm import LigerLayerNormFunction

LigerLayerNormFunction.apply(leaf(6, 96), leaf(96), leaf(96), 1e-6).sum().backward()
# %% group_norm
from liger_kernel.ops.group_norm import LigerGroupNormFunction

LigerGroupNormFunction.apply(leaf(3, 6, 40), leaf(6), leaf(6), 6, 2, 1e-6).sum().backward()
# %% cross_entropy
from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction

target = torch.randint(0, 100, (5,), device="cuda")
LigerCrossEntropyFunction.apply(leaf(5, 100), target, None, -100, 1e-4, 0.1, "mean", 30.0, True)[0].backward()
# %% dyt
from liger_kernel.ops.dyt import LigerDyTFunction

LigerDyTFunction.apply(leaf(6, 96), leaf(1), leaf(96), leaf(96)).sum().backward()
# %% fused_add_rms_norm
from liger_kernel.ops.fused_add_rms_norm import LigerFusedAddRMSNormFunction

y, s = LigerFusedAddRMSNormFunction.apply(leaf(6, 96), leaf(6, 96), leaf(96), 1e-6, 0.0, "llama", False)
(y.sum() + s.sum()).backward()
# %% geglu
from liger_kernel.ops.geglu import LigerGELUMulFunction

LigerGELUMulFunction.apply(leaf(6, 96), leaf(6, 96)).sum().backward()
# %% swiglu
from liger_kernel.ops.swiglu import LigerSiLUMulFunction

LigerSiLUMulFunction.apply(leaf(6, 96), leaf(6, 96)).sum().backward()
# %% swiglu_fused
from liger_kernel.ops.swiglu import LigerFusedGateUpSiLUMulFunction

LigerFusedGateUpSiLUMulFunction.apply(leaf(6, 192)).sum().backward()
# %% jsd
from liger_kernel.ops.jsd import LigerJSDFunction

LigerJSDFunction.apply(leaf(5, 100), leaf(5, 100), None, 0.5, -100).backward()
# %% kl_div
from liger_kernel.ops.kl_div import LigerKLDivLossFunction

LigerKLDivLossFunction.apply(leaf(5, 100), torch.rand(5, 100, device="cuda"), "batchmean").backward()
# %% tvd
from liger_kernel.ops.tvd import LigerTVDLossFunction

LigerTVDLossFunction.apply(leaf(5, 100), torch.rand(5, 100, device="cuda"), None, "batchmean").backward()
# %% llama4_rope
from liger_kernel.ops.llama4_rope import LigerLlama4RopeFunction

freqs = torch.randn(1, 8, 32, 2, device="cuda")
LigerLlama4RopeFunction.apply(leaf(1, 8, 4, 64), leaf(1, 8, 2, 64), torch.view_as_complex(freqs))
# %% rope
from liger_kernel.ops.rope import LigerRopeFunction

cos = torch.randn(1, 8, 64, device="cuda")
q, k = LigerRopeFunction.apply(leaf(1, 4, 8, 64), leaf(1, 2, 8, 64), cos, cos)
(q.sum() + k.sum()).backward()
# %% qwen2vl_mrope
from liger_kernel.ops.qwen2vl_mrope import LigerQwen2VLMRopeFunction

cos = torch.randn(3, 1, 8, 64, device="cuda")
LigerQwen2VLMRopeFunction.apply(leaf(1, 4, 8, 64), leaf(1, 2, 8, 64), cos, cos, [16, 24, 24])
# %% poly_norm
from liger_kernel.ops.poly_norm import LigerPolyNormFunction

LigerPolyNormFunction.apply(leaf(6, 96), leaf(3), leaf(1)).sum().backward()
# %% relu_squared
from liger_kernel.ops.relu_squared import LigerReLUSquaredFunction

LigerReLUSquaredFunction.apply(leaf(6, 96)).sum().backward()
# %% softmax
from liger_kernel.ops.softmax import LigerSoftmaxFunction

LigerSoftmaxFunction.apply(leaf(6, 96)).sum().backward()
# %% softmax_wide
from liger_kernel.ops.softmax import LigerSoftmaxFunction

LigerSoftmaxFunction.apply(leaf(2, 70000)).sum().backward()
# %% sparsemax
from liger_kernel.ops.sparsemax import LigerSparsemaxFunction

LigerSparsemaxFunction.apply(leaf(6, 96), -1).sum().backward()
# %% embedding
from liger_kernel.ops.experimental.embedding import LigerEmbeddingFunction

indices = torch.randint(0, 50, (3, 7), device="cuda")
LigerEmbeddingFunction.apply(leaf(50, 96), indices).sum().backward()
# %% mm_int8int2
from liger_kernel.ops.experimental.mm_int8int2 import matmul

matmul(torch.ones(32, 256, device="cuda", dtype=torch.int8), torch.ones(64, 64, device="cuda", dtype=torch.uint8))
# %% fused_ce_tvd
from liger_kernel.ops.fused_ce_tvd import LigerFusedCETVDFunction

target = torch.randint(0, 100, (5,), device="cuda")
ce, tvd = LigerFusedCETVDFunction.apply(leaf(5, 100), torch.randn(5, 100, device="cuda"), target, -100)
(ce.sum() + tvd.sum()).backward()
# %% neighborhood_attention
from liger_kernel.ops.fused_neighborhood_attention import LigerFusedNeighborhoodAttentionFunction

LigerFusedNeighborhoodAttentionFunction.apply(leaf(1, 2, 40, 32), leaf(1, 2, 40, 32), leaf(1, 2, 40, 32), 7, 1)
# %% attn_res
from liger_kernel.ops.attn_res import LigerAttnResFunction

LigerAttnResFunction.apply(leaf(3, 2, 5, 96), leaf(96), leaf(96), 1e-6).sum().backward()
# %% multi_token_attention
from liger_kernel.ops.multi_token_attention import LigerMultiTokenAttentionFunction

LigerMultiTokenAttentionFunction.apply(leaf(1, 2, 40, 40), leaf(2, 2, 3, 3), None, 1, 1).sum()
# %% mhc_pre
from liger_kernel.ops.mhc import LigerMHCPreFunction

LigerMHCPreFunction.apply(leaf(5, 4, 96), leaf(5, 4)).sum().backward()
# %% mhc_post_res
from liger_kernel.ops.mhc import LigerMHCPostResFunction

LigerMHCPostResFunction.apply(leaf(5, 4, 96), leaf(5, 96), leaf(5, 4), leaf(5, 4, 4)).sum().backward()
# %% mhc_mm_norm
from liger_kernel.ops.mhc import mhc_mm_norm_fwd

mhc_mm_norm_fwd(torch.randn(40, 512, device="cuda"), torch.randn(512, 24, device="cuda"), 1e-6)
# %% selective_log_softmax
from liger_kernel.ops.grpo_loss import fused_selective_log_softmax

ids = torch.randint(0, 100, (2, 5), device="cuda")
fused_selective_log_softmax(torch.randn(2, 6, 100, device="cuda"), ids)
# %% grpo_loss
from liger_kernel.ops.grpo_loss import GrpoLossFunction

ids = torch.randint(0, 100, (2, 5), device="cuda")
mask = torch.ones(2, 5, device="cuda", dtype=torch.int32)
advantages = torch.randn(2, device="cuda")
GrpoLossFunction.apply(leaf(2, 6, 100), None, None, ids, advantages, mask, 0.9, 0.0, 0.2, 0.4, False)
# %% fused_linear_kl_div
from liger_kernel.ops.fused_linear_kl_div import fused_linear_kl_div_forward

x, w = torch.randn(5, 64, device="cuda"), torch.randn(100, 64, device="cuda")
fused_linear_kl_div_forward(x, w, torch.rand(5, 100, device="cuda"), None, "batchmean", -100, False, 1.0, 1e-10)
# %% modulated_rms_norm
from liger_kernel.ops.modulated_rms_norm import LigerModulatedRMSNormFunction

x, w, scale, shift = leaf(2, 5, 96), leaf(96), leaf(2, 96), leaf(2, 96)
LigerModulatedRMSNormFunction.apply(x, w, scale, shift, 1e-6, 0.0, "llama", False).sum().backward()
# %% vocab_parallel_ce
from liger_kernel.ops.vocab_parallel_cross_entropy import LigerVocabParallelCEFunction

target = torch.randint(0, 100, (5, 1), device="cuda")
LigerVocabParallelCEFunction.apply(leaf(5, 1, 100), target, None, -100, 0.0, "megatron", "global")
# %% swiglu_large
from liger_kernel.ops.swiglu import LigerSiLUMulFunction

LigerSiLUMulFunction.apply(unfilled(2**16 + 8, 2**15), unfilled(2**16 + 8, 2**15))
# %% geglu_large
from liger_kernel.ops.geglu import LigerGELUMulFunction

LigerGELUMulFunction.apply(unfilled(2**16 + 8, 2**15), unfilled(2**16 + 8, 2**15))
# %% relu_squared_large
from liger_kernel.ops.relu_squared import LigerReLUSquaredFunction

LigerReLUSquaredFunction.apply(unfilled(2**16 + 8, 2**15))
# %% softmax_large
from liger_kernel.ops.softmax import LigerSoftmaxFunction

LigerSoftmaxFunction.apply(unfilled(2**16 + 8, 2**15))
# %% layer_norm_large
from liger_kernel.ops.layer_norm import LigerLayerNormFunction

LigerLayerNormFunction.apply(unfilled(2**16 + 8, 2**15), unfilled(2**15), unfilled(2**15), 1e-6)

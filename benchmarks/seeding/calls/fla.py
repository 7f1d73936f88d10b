import torch
import triton

autotune = triton.autotune
triton.autotune = lambda configs, *keys, **more: autotune(configs[:1], *keys, **more)  # one each, so that a run is short
torch.manual_seed(0)


def leaf(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=dtype, requires_grad=True)


def gate(*shape):
    return -torch.rand(*shape, device="cuda")


# %% local_cumsum
from fla.ops.utils import chunk_local_cumsum

chunk_local_cumsum(torch.randn(1, 100, 4, device="cuda"), 64)
# %% local_cumsum_vector
from fla.ops.utils import chunk_local_cumsum

chunk_local_cumsum(torch.randn(1, 100, 4, 48, device="cuda"), 64)
# %% global_cumsum
from fla.ops.utils import chunk_global_cumsum

chunk_global_cumsum(torch.randn(1, 100, 4, device="cuda"))
# %% mean_pooling
from fla.ops.utils.pooling import mean_pooling

mean_pooling(leaf(1, 100, 4, 48), 32).sum().backward()
# %% logsumexp
from fla.ops.utils.logsumexp import logsumexp_fwd

logsumexp_fwd(torch.randn(5, 100, device="cuda"))
# %% matmul
from fla.ops.utils.matmul import matmul

matmul(torch.randn(40, 48, device="cuda"), torch.randn(48, 40, device="cuda"))
# %% addmm
from fla.ops.utils.matmul import addmm

addmm(torch.randn(40, 40, device="cuda"), torch.randn(40, 48, device="cuda"), torch.randn(48, 40, device="cuda"))
# %% pack
from fla.ops.utils.pack import pack_sequence

pack_sequence(leaf(2, 30, 48), torch.tensor([0, 20, 45], device="cuda")).sum().backward()
# %% softmax
from fla.ops.utils.softmax import softmax_bwd, softmax_fwd

x = torch.randn(5, 100, device="cuda")
softmax_bwd(softmax_fwd(x), x)
# %% solve_tril
from fla.ops.utils.solve_tril import solve_tril

solve_tril(torch.randn(1, 64, 2, 64, device="cuda").tril(-1))
# %% sigmoid
from fla.modules.activations import sigmoid

sigmoid(leaf(6, 96)).sum().backward()
# %% logsigmoid
from fla.modules.activations import logsigmoid

logsigmoid(leaf(6, 96)).sum().backward()
# %% swish
from fla.modules.activations import swish

swish(leaf(6, 96)).sum().backward()
# %% swiglu
from fla.modules.activations import swiglu

swiglu(leaf(6, 96), leaf(6, 96)).sum().backward()
# %% causal_conv1d
from fla.modules.causal_conv1d.ops import causal_conv1d_fwd

causal_conv1d_fwd(torch.randn(1, 100, 48, device="cuda"), torch.randn(48, 4, device="cuda"), None, None)
# %% cross_entropy
from fla.modules.fused_cross_entropy.ops import FusedCrossEntropyFunction

target = torch.randint(0, 100, (5,), device="cuda")
FusedCrossEntropyFunction.apply(leaf(5, 100), target)[0].sum().backward()
# %% kl_div
from fla.modules.fused_kl_div.ops import fused_kl_div_fwd

x, w = torch.randn(6, 64, device="cuda"), torch.randn(100, 64, device="cuda")
fused_kl_div_fwd(x, x, w, w)
# %% linear_cross_entropy
from fla.modules.fused_linear_cross_entropy.ops import fused_linear_cross_entropy_fwd

x, w = torch.randn(6, 64, device="cuda"), torch.randn(100, 64, device="cuda")
fused_linear_cross_entropy_fwd(x, torch.randint(0, 100, (6,), device="cuda"), w)
# %% l2norm
from fla.modules.norm.l2norm import L2NormFunction

L2NormFunction.apply(leaf(6, 96)).sum().backward()
# %% layer_norm
from fla.modules.norm.layernorm import LayerNormFunction

LayerNormFunction.apply(leaf(6, 96), leaf(96), leaf(96)).sum().backward()
# %% layer_norm_gated
from fla.modules.norm.fused_norm_gate import LayerNormGatedFunction

LayerNormGatedFunction.apply(leaf(6, 96), leaf(6, 96), leaf(96), leaf(96), "swish").sum().backward()
# %% norm_before_gate
from fla.modules.norm.layernorm_gated import layer_norm_fwd

layer_norm_fwd(torch.randn(6, 96, device="cuda"), torch.randn(96, device="cuda"), torch.randn(96, device="cuda"), 1e-5)
# %% rotary
from fla.modules.rotary.ops import RotaryEmbeddingFunction

cos = torch.randn(100, 16, device="cuda")
RotaryEmbeddingFunction.apply(leaf(1, 40, 4, 64), cos, cos).sum().backward()
# %% token_shift
from fla.modules.token_shift import token_shift_fwd

token_shift_fwd(torch.randn(1, 40, 96, device="cuda"))
# %% hgrn_recurrent
from fla.ops.hgrn.fused_recurrent import fused_recurrent_hgrn

fused_recurrent_hgrn(leaf(1, 40, 96), gate(1, 40, 96))[0].sum().backward()
# %% hgrn_chunk
from fla.ops.hgrn.chunk import chunk_hgrn

chunk_hgrn(leaf(1, 40, 96), gate(1, 40, 96))[0].sum()
# %% fused_recurrent
from fla.ops.common.fused_recurrent import fused_recurrent

fused_recurrent(leaf(1, 40, 2, 48), leaf(1, 40, 2, 48), leaf(1, 40, 2, 48), gk=gate(1, 40, 2, 48))
# %% chunk_fwd_h
from fla.ops.common.chunk_h import chunk_fwd_h

k = torch.randn(1, 100, 2, 64, device="cuda")
chunk_fwd_h(k, k, gk=gate(1, 100, 2, 64), output_final_state=True)
# %% chunk_fwd_o
from fla.ops.common.chunk_o import chunk_fwd_o

q = torch.randn(1, 100, 2, 64, device="cuda")
chunk_fwd_o(q, q, q, torch.randn(1, 2, 2, 64, 64, device="cuda"), scale=1.0)
# %% scaled_dot_kkt
from fla.ops.common.chunk_scaled_dot_kkt import chunk_scaled_dot_kkt_fwd

chunk_scaled_dot_kkt_fwd(torch.randn(1, 100, 2, 64, device="cuda"), None, torch.rand(1, 100, 2, device="cuda"))
# %% chunk_delta_h
from fla.ops.common.chunk_delta_h import chunk_gated_delta_rule_fwd_h

k = torch.randn(1, 100, 2, 64, device="cuda")
chunk_gated_delta_rule_fwd_h(k, k, k, g=gate(1, 100, 2))
# %% gla_intra
from fla.ops.gla.chunk import chunk_gla_fwd_intra_gk

q = torch.randn(1, 100, 2, 64, device="cuda")
chunk_gla_fwd_intra_gk(q, q, gate(1, 100, 2, 64), 1.0)
# %% gla_o
from fla.ops.gla.chunk import chunk_gla_fwd_o_gk

q = torch.randn(1, 100, 2, 64, device="cuda")
A, h = torch.randn(1, 100, 2, 64, device="cuda"), torch.randn(1, 2, 2, 64, 64, device="cuda")
chunk_gla_fwd_o_gk(q, q, gate(1, 100, 2, 64), A, h, 1.0)
# %% beta_sigmoid
from fla.ops.common.gate import fused_beta_sigmoid

fused_beta_sigmoid(leaf(6, 96)).sum().backward()
# %% simple_gla_parallel
from fla.ops.simple_gla.parallel import parallel_simple_gla_fwd

q = torch.randn(1, 100, 2, 64, device="cuda")
parallel_simple_gla_fwd(q, q, q, gate(1, 100, 2), 1.0)
# %% delta_rule_recurrent
from fla.ops.delta_rule.fused_recurrent import fused_recurrent_delta_rule_fwd

k = torch.randn(1, 40, 2, 48, device="cuda")
fused_recurrent_delta_rule_fwd(k, k, k, torch.rand(1, 40, 2, device="cuda"), 1.0, None, True)
# %% wy_fast
from fla.ops.delta_rule.wy_fast import recompute_w_u_fwd

k = torch.randn(1, 100, 2, 64, device="cuda")
recompute_w_u_fwd(k, k, torch.rand(1, 100, 2, device="cuda"), torch.randn(1, 100, 2, 64, device="cuda"), None)
# %% based_parallel
from fla.ops.based.parallel import parallel_based

parallel_based(*(leaf(1, 2, 100, 16) for _ in range(2)), leaf(1, 2, 100, 64))
# %% rwkv6_cumsum
from fla.ops.rwkv6.chunk import chunk_rwkv6_fwd_cumsum

chunk_rwkv6_fwd_cumsum(torch.randn(1, 100, 2, 48, device="cuda"), 32)
# %% rwkv6_recurrent
from fla.ops.rwkv6.fused_recurrent import fused_recurrent_rwkv6_fwd

k = torch.randn(1, 40, 2, 48, device="cuda")
fused_recurrent_rwkv6_fwd(k, k, k, k, torch.randn(2, 48, device="cuda"), 1.0)
# %% rwkv7_mix
from fla.ops.rwkv7.channel_mixing import rwkv_mix_fwd

rwkv_mix_fwd(*(torch.randn(s, device="cuda") for s in ((1, 40, 96), (1, 96), (96,))))
# %% rwkv7_addcmul
from fla.ops.rwkv7.fused_addcmul import fused_addcmul_rwkv7

fused_addcmul_rwkv7(leaf(1, 40, 96), leaf(1, 40, 96), *(leaf(1, 1, 96) for _ in range(5)))
# %% rwkv7_k_update
from fla.ops.rwkv7.fused_k_update import fused_k_rwkv7

fused_k_rwkv7(leaf(1, 40, 96), leaf(1, 40, 96), leaf(1, 1, 96)).sum().backward()
# %% rwkv4
from fla.ops.rwkv4.fused_recurrent import fused_recurrent_rwkv4

fused_recurrent_rwkv4(leaf(96), leaf(96), leaf(2, 40, 96), leaf(2, 40, 96), torch.zeros(2, 3, 1, 96, device="cuda"))
# %% attn_decoding
from fla.ops.attn.decoding import attn_decoding_one_step

cu = torch.tensor([0, 40, 100], device="cuda", dtype=torch.int32)
k = torch.randn(1, 100, 2, 64, device="cuda")
attn_decoding_one_step(torch.randn(1, 2, 4, 64, device="cuda"), k, k, cu_seqlens=cu)
# %% attn_parallel
from fla.ops.attn.parallel import parallel_attn_fwd

q = torch.randn(1, 100, 2, 64, device="cuda", dtype=torch.bfloat16)
parallel_attn_fwd(q, q, q, None, None, 1.0)
# %% kda_gate
from fla.ops.kda.gate import kda_gate_fwd

kda_gate_fwd(torch.randn(1, 40, 2, 48, device="cuda"), torch.randn(2, device="cuda"))
# %% kda_recurrent
from fla.ops.kda.fused_recurrent import fused_recurrent_kda_fwd

k = torch.randn(1, 40, 2, 48, device="cuda")
fused_recurrent_kda_fwd(k, k, k, gate(1, 40, 2, 48), torch.rand(1, 40, 2, device="cuda"), scale=1.0)
# %% gsa_recurrent
from fla.ops.gsa.fused_recurrent import fused_recurrent_gsa_fwd

k, s = torch.randn(1, 40, 2, 48, device="cuda"), torch.randn(1, 40, 2, 32, device="cuda")
fused_recurrent_gsa_fwd(k, k, k, s, gate(1, 40, 2, 32))
# %% parallax_decode
from fla.ops.parallax.decode import parallax_decode_one_step

q, k = torch.randn(2, 1, 2, 64, device="cuda"), torch.randn(2, 40, 2, 64, device="cuda")
parallax_decode_one_step(q, q, k, k)
# %% retention
from fla.ops.retention import fused_recurrent_retention

fused_recurrent_retention(*(leaf(1, 40, 2, 48) for _ in range(3)))
# %% sinkhorn
from fla.ops.utils.sinkhorn.ops import sinkhorn_fwd

sinkhorn_fwd(torch.randn(40, 4, 4, device="cuda"), 5)

import torch
import torch.nn.functional as F
import triton

autotune = triton.autotune
triton.autotune = lambda configs, *keys, **more: autotune(configs[:1], *keys, **more)  # one each, so that a run is short
torch.manual_seed(0)
assert_close = torch.testing.assert_close


def rand(*shape):
    return torch.randn(*shape, device="cuda")


def gate(*shape):
    return -torch.rand(*shape, device="cuda")


# %% local_cumsum
from fla.ops.utils import chunk_local_cumsum

x = rand(1, 64, 4)
out = chunk_local_cumsum(x, 32)
assert_close(out, x.view(1, 2, 32, 4).cumsum(2).view(1, 64, 4), rtol=1e-3, atol=1e-3)
# %% global_cumsum
from fla.ops.utils import chunk_global_cumsum

x = rand(1, 100, 4)
assert_close(chunk_global_cumsum(x), x.cumsum(1), rtol=1e-3, atol=1e-3)
# %% mean_pooling
from fla.ops.utils.pooling import mean_pooling

x = rand(1, 64, 4, 48)
assert_close(mean_pooling(x, 32), x.view(1, 2, 32, 4, 48).mean(2), rtol=1e-3, atol=1e-3)
# %% mean_pooling_backward
from fla.ops.utils.pooling import mean_pooling_bwd

dy = rand(1, 2, 4, 48)
dx = mean_pooling_bwd(dy, 1, 64, 32)
assert_close(dx, dy.repeat_interleave(32, 1) / 32, rtol=1e-3, atol=1e-3)
# %% logsumexp
from fla.ops.utils.logsumexp import logsumexp_fwd

x = rand(5, 100)
assert_close(logsumexp_fwd(x, scale=0.5), torch.logsumexp(x * 0.5, -1), rtol=1e-3, atol=1e-3)
# %% matmul
from fla.ops.utils.matmul import matmul

a, b = rand(40, 48).half(), rand(48, 40).half()
assert_close(matmul(a, b), a @ b, rtol=2e-2, atol=5e-2)
# %% addmm
from fla.ops.utils.matmul import addmm

x, a, b = rand(40, 40).half(), rand(40, 48).half(), rand(48, 40).half()
assert_close(addmm(x, a, b), x + a @ b, rtol=2e-2, atol=5e-2)
# %% softmax
from fla.ops.utils.softmax import softmax_fwd

x = rand(5, 100)
assert_close(softmax_fwd(x), torch.softmax(x, -1), rtol=1e-3, atol=1e-4)
# %% softmax_backward
from fla.ops.utils.softmax import softmax_bwd

p, dp = torch.softmax(rand(5, 100), -1), rand(5, 100)
assert_close(softmax_bwd(p, dp), p * (dp - (p * dp).sum(-1, keepdim=True)), rtol=1e-3, atol=1e-4)
# %% sigmoid
from fla.modules.activations import sigmoid

x = rand(6, 96).requires_grad_()
y = sigmoid(x)
y.sum().backward()
right = torch.sigmoid(x.detach())
assert_close(y, right, rtol=1e-3, atol=1e-4)
assert_close(x.grad, right * (1 - right), rtol=1e-3, atol=1e-4)
# %% swish
from fla.modules.activations import swish

x, other = rand(6, 96).requires_grad_(), rand(6, 96)
swish(x).backward(other)
sigma = torch.sigmoid(x.detach())
assert_close(x.grad, other * sigma * (1 + x.detach() * (1 - sigma)), rtol=1e-3, atol=1e-4)
# %% swiglu
from fla.modules.activations import swiglu

x, y = rand(6, 96), rand(6, 96)
assert_close(swiglu(x, y), F.silu(x) * y, rtol=1e-3, atol=1e-4)
# %% logsigmoid
from fla.modules.activations import logsigmoid

x = rand(6, 96).requires_grad_()
logsigmoid(x, 2.0).sum().backward()
assert_close(x.grad, torch.sigmoid(-x.detach()) / 2.0, rtol=1e-3, atol=1e-4)
# %% cross_entropy
from fla.modules.fused_cross_entropy.ops import FusedCrossEntropyFunction

x, target = rand(5, 100), torch.randint(0, 100, (5,), device="cuda")
losses = FusedCrossEntropyFunction.apply(x.clone(), target)[0]
assert_close(losses, F.cross_entropy(x, target, reduction="none"), rtol=1e-3, atol=1e-3)
# %% cross_entropy_backward
from fla.modules.fused_cross_entropy.ops import FusedCrossEntropyFunction

x, target = rand(5, 100).requires_grad_(), torch.randint(0, 100, (5,), device="cuda")
FusedCrossEntropyFunction.apply(x, target, 0.1)[0].sum().backward()
y = x.detach().clone().requires_grad_()
F.cross_entropy(y, target, reduction="sum", label_smoothing=0.1).backward()
assert_close(x.grad, y.grad, rtol=1e-3, atol=1e-3)
# %% layer_norm
from fla.modules.norm.layernorm import LayerNormFunction

x, w, b = rand(6, 96), rand(96), rand(96)
assert_close(LayerNormFunction.apply(x, w, b), F.layer_norm(x, (96,), w, b), rtol=1e-3, atol=1e-3)
# %% layer_norm_backward
from fla.modules.norm.layernorm import LayerNormFunction

x, w, b, dy = rand(6, 96).requires_grad_(), rand(96), rand(96), rand(6, 96)
LayerNormFunction.apply(x, w, b).backward(dy)
y = x.detach().clone().requires_grad_()
F.layer_norm(y, (96,), w, b).backward(dy)
assert_close(x.grad, y.grad, rtol=1e-3, atol=1e-3)
# %% layer_norm_gated
from fla.modules.norm.fused_norm_gate import LayerNormGatedFunction

x, g, w, b = rand(6, 96), rand(6, 96), rand(96), rand(96)
y = LayerNormGatedFunction.apply(x, g, w, b, "swish")
assert_close(y, F.layer_norm(x, (96,), w, b) * F.silu(g), rtol=1e-3, atol=1e-3)
# %% norm_before_gate
from fla.modules.norm.layernorm_gated import layer_norm_fwd

x, w, b = rand(6, 96), rand(96), rand(96)
y = layer_norm_fwd(x, w, b, 1e-5)[0]
assert_close(y, F.layer_norm(x, (96,), w, b), rtol=1e-3, atol=1e-3)
# %% token_shift
from fla.modules.token_shift import token_shift_fwd, token_shift_ref

x = rand(1, 40, 96)
out = token_shift_fwd(x)
out = out[0] if isinstance(out, tuple) else out
assert_close(out, token_shift_ref(x), rtol=1e-3, atol=1e-4)
# %% rotary
from fla.modules.rotary.ops import RotaryEmbeddingFunction

x, cos, sin = rand(1, 20, 4, 64), rand(20, 16), rand(20, 16)
y = RotaryEmbeddingFunction.apply(x, cos, sin)
a, b, c, s = x[..., :16], x[..., 16:32], cos[:, None], sin[:, None]
assert_close(y, torch.cat([a * c - b * s, a * s + b * c, x[..., 32:]], -1), rtol=1e-3, atol=1e-4)
# %% hgrn_recurrent
from fla.ops.hgrn.fused_recurrent import fused_recurrent_hgrn
from fla.ops.hgrn.naive import naive_recurrent_hgrn

x, g = rand(1, 20, 96), gate(1, 20, 96)
assert_close(fused_recurrent_hgrn(x, g)[0], naive_recurrent_hgrn(x, g)[0], rtol=1e-3, atol=1e-3)
# %% hgrn_chunk
from fla.ops.hgrn.chunk import chunk_hgrn

x, g = rand(1, 20, 96), gate(1, 20, 96)
h, rows = torch.zeros(1, 96, device="cuda"), []
for t in range(20):
    h = g[:, t].exp() * h + x[:, t]
    rows.append(h)
assert_close(chunk_hgrn(x, g)[0], torch.stack(rows, 1), rtol=1e-3, atol=1e-3)
# %% linear_attention
from fla.ops.common.fused_recurrent import fused_recurrent

q, k, v = (rand(1, 20, 2, 32) for _ in range(3))
out = fused_recurrent(q, k, v, scale=0.25)[0]
scores = torch.einsum("bthd,bshd->bhts", q, k).tril() * 0.25
assert_close(out, torch.einsum("bhts,bshd->bthd", scores, v), rtol=1e-3, atol=1e-3)
# %% gla_recurrent
from fla.ops.common.fused_recurrent import fused_recurrent
from fla.ops.gla.naive import naive_recurrent_gla

q, k, v, g = rand(1, 20, 2, 32), rand(1, 20, 2, 32), rand(1, 20, 2, 32), gate(1, 20, 2, 32)
out = fused_recurrent(q, k, v, gk=g, scale=32**-0.5)[0]
assert_close(out, naive_recurrent_gla(q, k, v, g)[0], rtol=1e-3, atol=1e-3)
# %% scaled_dot_kkt
from fla.ops.common.chunk_scaled_dot_kkt import chunk_scaled_dot_kkt_fwd

k, beta = rand(1, 64, 2, 64) / 8, torch.rand(1, 64, 2, device="cuda")
out = chunk_scaled_dot_kkt_fwd(k, None, beta)
right = (torch.einsum("bthd,bshd->bhts", k, k) * beta.transpose(1, 2)[..., None]).tril(-1).transpose(1, 2)
assert_close(out, right, rtol=1e-2, atol=1e-2)
# %% simple_gla_parallel
from fla.ops.simple_gla.parallel import parallel_simple_gla_fwd

q, g = (rand(1, 64, 2, 64) / 8).half(), gate(1, 64, 2)
out = parallel_simple_gla_fwd(q, q, q, g, 0.5)[0]
decay = g.transpose(1, 2).cumsum(-1)
scores = torch.einsum("bthd,bshd->bhts", q.float(), q.float()) * (decay[..., :, None] - decay[..., None, :]).exp() * 0.5
assert_close(out.float(), torch.einsum("bhts,bshd->bthd", scores.tril(), q.float()), rtol=2e-2, atol=2e-2)
# %% delta_rule
from fla.ops.delta_rule.fused_recurrent import fused_recurrent_delta_rule_fwd
from fla.ops.delta_rule.naive import delta_rule_recurrence

q, k, v = (F.normalize(rand(1, 12, 2, 32), dim=-1) for _ in range(3))
beta = torch.rand(1, 12, 2, device="cuda")
out = fused_recurrent_delta_rule_fwd(q, k, v.clone(), beta, 32**-0.5, None, True)[0]
right = delta_rule_recurrence(*(each.transpose(1, 2) for each in (q, k, v)), beta.transpose(1, 2))[0]
assert_close(out, right.transpose(1, 2), rtol=1e-2, atol=1e-3)
# %% attention
from fla.ops.attn.parallel import parallel_attn_fwd

q, k, v = ((rand(1, 64, 2, 32) / 4).half() for _ in range(3))
out = parallel_attn_fwd(q, k, v, None, None, 0.5)[0]
scores = torch.einsum("bthd,bshd->bhts", q.float(), k.float()) * 0.5
causal = torch.ones(64, 64, device="cuda", dtype=torch.bool).tril()
scores = scores.masked_fill(~causal, float("-inf")).softmax(-1)
assert_close(out.float(), torch.einsum("bhts,bshd->bthd", scores, v.float()), rtol=2e-2, atol=2e-2)
# %% attention_decoding
from fla.ops.attn.decoding import attn_decoding_one_step

cu = torch.tensor([0, 20, 50], device="cuda", dtype=torch.int32)
q, k, v = rand(1, 2, 4, 32), rand(1, 50, 4, 32), rand(1, 50, 4, 32)
out = attn_decoding_one_step(q, k, v, scale=0.25, cu_seqlens=cu)
rows = []
for i, (a, b) in enumerate([(0, 20), (20, 50)]):
    p = (torch.einsum("hd,shd->hs", q[0, i], k[0, a:b]) * 0.25).softmax(-1)
    rows.append(torch.einsum("hs,shd->hd", p, v[0, a:b]))
assert_close(out[0], torch.stack(rows), rtol=1e-2, atol=1e-2)
# %% rwkv7_mix
from fla.ops.rwkv7.channel_mixing import rwkv_mix_fwd, rwkv_mix_torch

x, before, mix = rand(1, 40, 96), rand(1, 96), rand(96)
out = rwkv_mix_fwd(x, before, mix)
assert_close(out.view_as(x), rwkv_mix_torch(x, before, mix), rtol=1e-3, atol=1e-4)
# %% rwkv7_addcmul
from fla.ops.rwkv7.fused_addcmul import fused_addcmul_rwkv7, torch_addcmul_rwkv7

given = rand(1, 40, 96), rand(1, 40, 96), *(rand(1, 1, 96) for _ in range(6))
for one, other in zip(fused_addcmul_rwkv7(*given), torch_addcmul_rwkv7(*given)):
    assert_close(one, other, rtol=1e-3, atol=1e-4)
# %% rwkv7_k_update
from fla.ops.rwkv7.fused_k_update import fused_k_rwkv7, k_update_ref

k, a, ka = rand(1, 40, 96), rand(1, 40, 96), rand(1, 1, 96)
assert_close(fused_k_rwkv7(k, a, ka), k_update_ref(k, a, ka), rtol=1e-3, atol=1e-4)
# %% sinkhorn
from fla.ops.utils.sinkhorn.ops import sinkhorn_fwd

x = rand(10, 4, 4)
out = sinkhorn_fwd(x, 5)
out = out[0] if isinstance(out, tuple) else out
right = x.softmax(-1)
right = right / right.sum(-2, keepdim=True)
for _ in range(4):
    right = right / right.sum(-1, keepdim=True)
    right = right / right.sum(-2, keepdim=True)
assert_close(out, right, rtol=1e-2, atol=1e-2)

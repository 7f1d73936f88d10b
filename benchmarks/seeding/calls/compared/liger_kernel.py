import torch
import torch.nn.functional as F
import triton

autotune = triton.autotune
triton.autotune = lambda configs, *keys, **more: autotune(configs[:1], *keys, **more)  # one each, so that a run is short
torch.manual_seed(0)
assert_close = torch.testing.assert_close


def leaf(*shape):
    return torch.randn(*shape, device="cuda", requires_grad=True)


# %% rms_norm
from liger_kernel.ops.rms_norm import LigerRMSNormFunction

x, w = leaf(6, 96), leaf(96)
y = LigerRMSNormFunction.apply(x, w, 1e-6, 0.0, "llama", False)
assert_close(y, x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * w, rtol=1e-3, atol=1e-3)
# %% layer_norm
from liger_kernel.ops.layer_norm import LigerLayerNormFunction

x, w, b = leaf(6, 96), leaf(96), leaf(96)
assert_close(LigerLayerNormFunction.apply(x, w, b, 1e-6), F.layer_norm(x, (96,), w, b, 1e-6), rtol=1e-3, atol=1e-3)
# %% swiglu
from liger_kernel.ops.swiglu import LigerSiLUMulFunction

a, b = leaf(6, 96), leaf(6, 96)
y = LigerSiLUMulFunction.apply(a.clone(), b.clone())
assert_close(y, F.silu(a) * b, rtol=1e-3, atol=1e-4)
# %% swiglu_backward
from liger_kernel.ops.swiglu import LigerSiLUMulFunction

a, b, dy = leaf(6, 96), leaf(6, 96), torch.randn(6, 96, device="cuda")
x = a.detach().clone()
right = dy * b.detach() * torch.sigmoid(x) * (1 + x * (1 - torch.sigmoid(x)))
LigerSiLUMulFunction.apply(a, b).backward(dy.clone())
assert_close(a.grad, right, rtol=1e-3, atol=1e-3)
# %% jsd
from liger_kernel.ops.jsd import LigerJSDFunction

x, y = (torch.randn(5, 100, device="cuda").log_softmax(-1) for _ in range(2))
loss = LigerJSDFunction.apply(x, y, None, 0.5, -100)
m = (x.exp() + y.exp()) / 2
right = ((y.exp() * (y - m.log())).sum() + (x.exp() * (x - m.log())).sum()) / 2 / 5
assert_close(loss.reshape(1), right.reshape(1), rtol=1e-3, atol=1e-4)
# %% kl_div
from liger_kernel.ops.kl_div import LigerKLDivLossFunction

x, y = torch.randn(5, 100, device="cuda").log_softmax(-1), torch.randn(5, 100, device="cuda").softmax(-1)
loss = LigerKLDivLossFunction.apply(x, y, "batchmean")
assert_close(loss.reshape(1), F.kl_div(x, y, reduction="batchmean").reshape(1), rtol=1e-3, atol=1e-4)
# %% tvd
from liger_kernel.ops.tvd import LigerTVDLossFunction

x, y = (torch.randn(5, 100, device="cuda").softmax(-1) for _ in range(2))
loss = LigerTVDLossFunction.apply(x, y, None, "batchmean")
assert_close(loss.reshape(1), ((x - y).abs().sum() / 2 / 5).reshape(1), rtol=1e-3, atol=1e-4)
# %% rope
from liger_kernel.ops.rope import LigerRopeFunction

q, k = torch.randn(1, 4, 8, 64, device="cuda"), torch.randn(1, 2, 8, 64, device="cuda")
cos, sin = (torch.randn(1, 8, 32, device="cuda").repeat(1, 1, 2) for _ in range(2))
wanted = [x * cos[:, None] + torch.cat([-x[..., 32:], x[..., :32]], -1) * sin[:, None] for x in (q, k)]
for one, other in zip(LigerRopeFunction.apply(q.clone(), k.clone(), cos, sin), wanted):
    assert_close(one, other, rtol=1e-3, atol=1e-3)
# %% relu_squared
from liger_kernel.ops.relu_squared import LigerReLUSquaredFunction

x, dy = leaf(6, 96), torch.randn(6, 96, device="cuda")
LigerReLUSquaredFunction.apply(x).backward(dy)
assert_close(x.grad, 2 * F.relu(x.detach()) * dy, rtol=1e-3, atol=1e-4)
# %% softmax
from liger_kernel.ops.softmax import LigerSoftmaxFunction

x = leaf(6, 96)
assert_close(LigerSoftmaxFunction.apply(x), x.softmax(-1), rtol=1e-3, atol=1e-4)
# %% softmax_backward
from liger_kernel.ops.softmax import LigerSoftmaxFunction

x, dy = leaf(6, 96), torch.randn(6, 96, device="cuda")
LigerSoftmaxFunction.apply(x).backward(dy)
p = x.detach().softmax(-1)
assert_close(x.grad, p * (dy - (p * dy).sum(-1, keepdim=True)), rtol=1e-3, atol=1e-4)
# %% embedding
from liger_kernel.ops.experimental.embedding import LigerEmbeddingFunction

table, at = leaf(50, 96), torch.randint(0, 50, (3, 7), device="cuda")
LigerEmbeddingFunction.apply(table, at).sum().backward()
count = torch.bincount(at.flatten(), minlength=50).float()
assert_close(table.grad, count[:, None].expand(50, 96), rtol=1e-3, atol=1e-4)
# %% cross_entropy
from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction

x, target = torch.randn(5, 100, device="cuda"), torch.randint(0, 100, (5,), device="cuda")
loss = LigerCrossEntropyFunction.apply(x.clone(), target, None, -100, 0.0, 0.1, "mean", None, False)[0]
right = F.cross_entropy(x, target, label_smoothing=0.1)
assert_close(loss.reshape(1), right.reshape(1), rtol=1e-3, atol=1e-4)
# %% cross_entropy_backward
from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction

x, target = leaf(5, 100), torch.randint(0, 100, (5,), device="cuda")
y = x.detach().clone().requires_grad_()
F.cross_entropy(y, target, label_smoothing=0.1).backward()
LigerCrossEntropyFunction.apply(x, target, None, -100, 0.0, 0.1, "mean", None, False)[0].backward()
assert_close(x.grad, y.grad, rtol=1e-3, atol=1e-4)
# %% attention_residual
from liger_kernel.ops.attn_res import LigerAttnResFunction

v, query, w = leaf(3, 2, 5, 96), leaf(96), leaf(96)
y = LigerAttnResFunction.apply(v, query, w, 1e-6)
k = v * torch.rsqrt(v.square().mean(-1, keepdim=True) + 1e-6) * w
assert_close(y, ((k @ query).softmax(0)[..., None] * v).sum(0), rtol=1e-3, atol=1e-3)
# %% mhc_post_res
from liger_kernel.ops.mhc import LigerMHCPostResFunction

x, out, post, res = leaf(5, 4, 96), leaf(5, 96), leaf(5, 4), leaf(5, 4, 4)
y = LigerMHCPostResFunction.apply(x, out, post, res)
assert_close(y, res @ x + post[..., None] * out[:, None], rtol=1e-2, atol=1e-2)
# %% mhc_pre
from liger_kernel.ops.mhc import LigerMHCPreFunction

x, pre = leaf(5, 4, 96), leaf(5, 4)
assert_close(LigerMHCPreFunction.apply(x, pre), (pre[..., None] * x).sum(1), rtol=1e-3, atol=1e-3)
# %% group_norm
from liger_kernel.ops.group_norm import LigerGroupNormFunction

x, w, b = leaf(3, 6, 40), leaf(6), leaf(6)
y = LigerGroupNormFunction.apply(x, w, b, 6, 2, 1e-6)
assert_close(y, F.group_norm(x, 2, w, b, 1e-6), rtol=1e-3, atol=1e-3)
# %% geglu
from liger_kernel.ops.geglu import LigerGELUMulFunction

a, b = leaf(6, 96), leaf(6, 96)
y = LigerGELUMulFunction.apply(a, b)
assert_close(y, F.gelu(a, approximate="tanh") * b, rtol=1e-3, atol=1e-3)
# %% dyt
from liger_kernel.ops.dyt import LigerDyTFunction

x, alpha, gamma, beta = leaf(6, 96), leaf(1), leaf(96), leaf(96)
y = LigerDyTFunction.apply(x, alpha, gamma, beta)
assert_close(y, gamma * torch.tanh(alpha * x) + beta, rtol=1e-3, atol=1e-3)
# %% poly_norm
from liger_kernel.ops.poly_norm import LigerPolyNormFunction

x, w, b = leaf(6, 96), leaf(3), leaf(1)
y = LigerPolyNormFunction.apply(x, w, b)
norm = lambda z: z * torch.rsqrt(z.square().mean(-1, keepdim=True) + 1e-6)
assert_close(y, w[0] * norm(x**3) + w[1] * norm(x**2) + w[2] * norm(x) + b, rtol=1e-3, atol=1e-3)

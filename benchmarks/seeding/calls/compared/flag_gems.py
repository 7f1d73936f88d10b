import torch
import torch.nn.functional as F

from flag_gems import ops

torch.manual_seed(0)
assert_close = torch.testing.assert_close


def rand(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda").to(dtype)


# %% addmm
x, a, b = rand(40), rand(40, 48).half(), rand(48, 40).half()
assert_close(ops.addmm(x.half(), a, b, beta=2.0, alpha=0.5), (2 * x.half() + 0.5 * (a @ b)), rtol=2e-2, atol=5e-2)
# %% addmv
x, a, b = rand(40), rand(40, 48), rand(48)
assert_close(ops.addmv(x, a, b, beta=2.0, alpha=0.5), 2 * x + 0.5 * (a @ b), rtol=1e-2, atol=1e-2)
# %% amax
x = rand(40, 48) - 5
assert_close(ops.amax(x, 1), x.max(1).values, rtol=1e-3, atol=1e-4)
# %% bmm
a, b = rand(2, 40, 48).half(), rand(2, 48, 40).half()
assert_close(ops.bmm(a, b), a @ b, rtol=2e-2, atol=5e-2)
# %% conv2d
x, w = rand(1, 3, 8, 8), rand(4, 3, 3, 3)
assert_close(ops.conv2d(x, w), F.conv2d(x, w), rtol=1e-2, atol=5e-2)
# %% cumsum
x = rand(40, 48)
assert_close(ops.cumsum(x, 1), x.cumsum(1), rtol=1e-3, atol=1e-3)
# %% dot
a, b = rand(1000), rand(1000)
assert_close(ops.dot(a, b).reshape(1), (a * b).sum().reshape(1), rtol=1e-3, atol=1e-2)
# %% group_norm
x, w, b = rand(2, 6, 40), rand(6), rand(6)
assert_close(ops.group_norm(x, w, b, 2, 6, 40, 3)[0], F.group_norm(x, 3, w, b), rtol=1e-3, atol=1e-3)
# %% layer_norm
x, w, b = rand(40, 48), rand(48), rand(48)
assert_close(ops.layer_norm(x, (48,), w, b)[0], F.layer_norm(x, (48,), w, b), rtol=1e-3, atol=1e-3)
# %% log_softmax
x = rand(40, 48)
assert_close(ops.log_softmax(x, 1), x.log_softmax(1), rtol=1e-3, atol=1e-3)
# %% mean
x = rand(40, 48) + 1
assert_close(ops.mean(x).reshape(1), x.mean().reshape(1), rtol=1e-3, atol=1e-3)
# %% mm
a, b = rand(40, 48).half(), rand(48, 40).half()
assert_close(ops.mm(a, b), a @ b, rtol=2e-2, atol=5e-2)
# %% mv
a, b = rand(40, 48), rand(48)
assert_close(ops.mv(a, b), a @ b, rtol=1e-2, atol=1e-2)
# %% nll_loss
x, target = rand(40, 48), torch.randint(0, 48, (40,), device="cuda")
assert_close(ops.nll_loss_forward(x, target)[0].reshape(1), F.nll_loss(x, target).reshape(1), rtol=1e-3, atol=1e-3)
# %% prod_dim
x = rand(40, 8) + 1
assert_close(ops.prod_dim(x, 1), x.prod(1), rtol=1e-3, atol=1e-3)
# %% rms_norm
x, w = rand(40, 48), rand(48)
out = ops.rms_norm(x, (48,), w)
assert_close(out, x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * w, rtol=1e-3, atol=1e-3)
# %% softmax
x = rand(40, 48)
assert_close(ops.softmax(x, 1), x.softmax(1), rtol=1e-3, atol=1e-4)
# %% sum_dim
x = rand(40, 48)
assert_close(ops.sum_dim(x, [1]), x.sum(1), rtol=1e-3, atol=1e-3)
# %% trace
x = rand(40, 40)
assert_close(ops.trace(x).reshape(1), x.diagonal().sum().reshape(1), rtol=1e-3, atol=1e-3)
# %% var_mean
x = rand(40, 48)
var, mean = ops.var_mean(x, [1])
assert_close(var, x.var(1), rtol=1e-3, atol=1e-3)
assert_close(mean, x.mean(1), rtol=1e-3, atol=1e-3)
# %% std
x = rand(40, 48)
assert_close(ops.std(x, [1]), x.std(1), rtol=1e-3, atol=1e-3)
# %% vdot
a, b = rand(1000), rand(1000)
assert_close(ops.vdot(a, b).reshape(1), (a * b).sum().reshape(1), rtol=1e-3, atol=1e-2)
# %% vector_norm
x = rand(40, 48)
assert_close(ops.vector_norm(x, 2, [1]), x.square().sum(1).sqrt(), rtol=1e-3, atol=1e-3)
# %% weight_norm
v, g = rand(40, 48), rand(40, 1)
out = ops.weight_norm_interface(v, g)
out = out[0] if isinstance(out, tuple) else out
assert_close(out, g * v / v.norm(dim=1, keepdim=True), rtol=1e-3, atol=1e-3)
# %% batch_norm
x, w, b = rand(4, 6, 10), rand(6), rand(6)
mean, var = torch.zeros(6, device="cuda"), torch.ones(6, device="cuda")
out = ops.batch_norm(x, w, b, mean, var, True)
out = out[0] if isinstance(out, tuple) else out
assert_close(out, F.batch_norm(x, None, None, w, b, True), rtol=1e-3, atol=1e-3)
# %% attention
q, k, v = (rand(1, 2, 64, 64, dtype=torch.float16) for _ in range(3))
out = ops.scaled_dot_product_attention_forward(q, k, v)
out = out[0] if isinstance(out, tuple) else out
right = (q.float() @ k.float().transpose(-2, -1) / 8).softmax(-1) @ v.float()
assert_close(out.float(), right, rtol=2e-2, atol=2e-2)

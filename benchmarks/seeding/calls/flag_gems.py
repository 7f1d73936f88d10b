import torch

from flag_gems import ops

torch.manual_seed(0)


def rand(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda").to(dtype)


# %% addmm
ops.addmm(rand(40), rand(40, 48), rand(48, 40))
# %% addmv
ops.addmv(rand(40), rand(40, 48), rand(48))
# %% amax
ops.amax(rand(40, 48), 1)
# %% argmax
ops.argmax(rand(40, 48), 1)
# %% argmin
ops.argmin(rand(40, 48), 1)
# %% batch_norm
ops.batch_norm(rand(4, 6, 10), rand(6), rand(6), rand(6), rand(6), True)
# %% bmm
ops.bmm(rand(2, 40, 48), rand(2, 48, 40))
# %% conv2d
ops.conv2d(rand(1, 3, 16, 16), rand(4, 3, 3, 3))
# %% cumsum
ops.cumsum(rand(40, 48), 1)
# %% diag
ops.diag(rand(40))
# %% dot
ops.dot(rand(1000), rand(1000))
# %% dropout
ops.dropout(rand(40, 48), 0.5)
# %% embedding
ops.embedding(rand(50, 48), torch.randint(0, 50, (3, 7), device="cuda"))
# %% group_norm
ops.group_norm(rand(2, 6, 40), rand(6), rand(6), 2, 6, 40, 3)
# %% index_select
ops.index_select(rand(40, 48), 0, torch.randint(0, 40, (9,), device="cuda"))
# %% isin
ops.isin(torch.arange(40, device="cuda"), torch.arange(7, device="cuda"))
# %% layer_norm
ops.layer_norm(rand(40, 48), (48,), rand(48), rand(48))
# %% log_softmax
ops.log_softmax(rand(40, 48), 1)
# %% masked_fill
ops.masked_fill(rand(40, 48), rand(40, 48) > 0, 1.0)
# %% max_dim
ops.max_dim(rand(40, 48), 1)
# %% mean
ops.mean(rand(40, 48))
# %% mm
ops.mm(rand(40, 48), rand(48, 40))
# %% mv
ops.mv(rand(40, 48), rand(48))
# %% nll_loss
ops.nll_loss_forward(rand(40, 48), torch.randint(0, 48, (40,), device="cuda"))
# %% prod_dim
ops.prod_dim(rand(40, 48), 1)
# %% rms_norm
ops.rms_norm(rand(40, 48), (48,), rand(48))
# %% softmax
ops.softmax(rand(40, 48), 1)
# %% sum_dim
ops.sum_dim(rand(40, 48), [1])
# %% topk
ops.topk(rand(4, 48), 5)
# %% trace
ops.trace(rand(40, 40))
# %% triu
ops.triu(rand(40, 48))
# %% upsample_nearest2d
ops.upsample_nearest2d(rand(1, 3, 8, 8), (16, 16))
# %% var_mean
ops.var_mean(rand(40, 48), [1])
# %% vdot
ops.vdot(rand(1000), rand(1000))
# %% vector_norm
ops.vector_norm(rand(40, 48), 2, [1])
# %% weight_norm
ops.weight_norm_interface(rand(40, 48), rand(40, 1))
# %% std
ops.std(rand(40, 48), [1])
# %% attention
ops.scaled_dot_product_attention_forward(*(rand(1, 2, 64, 64, dtype=torch.float16) for _ in range(3)))
# %% sort
ops.sort(rand(4, 48))
# %% scatter
ops.scatter(rand(40, 48), 0, torch.zeros(3, 48, device="cuda", dtype=torch.int64), rand(3, 48))
# %% repeat_interleave
ops.repeat_interleave_self_int(rand(40, 48), 2, 1)
# %% min
ops.min(rand(40, 48))

import torch
import triton

autotune = triton.autotune
triton.autotune = lambda configs, *keys, **more: autotune(configs[:1], *keys, **more)  # one each, so that a run is short
torch.manual_seed(0)

# %% lse_forward
from cut_cross_entropy.cce_lse_forward import cce_lse_forward_kernel

e, c = torch.randn(40, 64, device="cuda").bfloat16(), torch.randn(100, 64, device="cuda").bfloat16()
cce_lse_forward_kernel(e, c)
# %% indexed_dot
from cut_cross_entropy.indexed_dot import indexed_neg_dot_forward_kernel

e, c = torch.randn(40, 64, device="cuda").bfloat16(), torch.randn(100, 64, device="cuda").bfloat16()
indexed_neg_dot_forward_kernel(e, c, torch.randint(0, 100, (40,), device="cuda"))
# %% backward
from cut_cross_entropy.cce_backward import cce_backward_kernel

e, c = torch.randn(40, 64, device="cuda").bfloat16(), torch.randn(100, 64, device="cuda").bfloat16()
one, targets = torch.ones(1, device="cuda"), torch.randint(0, 100, (40,), device="cuda")
cce_backward_kernel(one, e, c, torch.randn(40, device="cuda"), None, None, None, targets)

import torch
import triton
import triton.language as tl


@triton.jit
def loss_kernel(lse, SAVE: tl.constexpr):
    if SAVE:
        tl.store(lse, 0.0)


@triton.jit
def grad_kernel(lse, out):
    tl.store(out, tl.load(lse))


class Loss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.lse = torch.empty(1, device="cuda")
        loss_kernel[(1,)](ctx.lse, SAVE=torch.is_grad_enabled())
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        grad_kernel[(1,)](ctx.lse, grad)


Loss.apply(torch.zeros(1, device="cuda", requires_grad=True)).backward()
torch.cuda.synchronize()

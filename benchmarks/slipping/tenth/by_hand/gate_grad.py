import torch
import triton
import triton.language as tl


@triton.jit
def backward_kernel(grad, stride):
    tl.store(grad + tl.program_id(0) * stride + tl.arange(0, 8), 0.0)


class Gated(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        backward_kernel[(12,)](grad, x.stride(0))
        return grad


out = Gated.apply(torch.randn(12, 16, device="cuda", requires_grad=True)[:, :8])
out.backward(torch.ones(12, 8, device="cuda"))
torch.cuda.synchronize()

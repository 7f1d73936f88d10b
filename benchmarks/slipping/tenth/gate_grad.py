"""A gated unit as a function of autograd: forward and backward are kernels that take rows by their strides."""

import torch
import triton
import triton.language as tl


@triton.jit
def forward_kernel(x, gate, out, columns, stride_x, stride_gate, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    live = column < columns
    value = tl.load(x + row * stride_x + column, mask=live, other=0.0)
    opened = tl.sigmoid(tl.load(gate + row * stride_gate + column, mask=live, other=0.0))
    tl.store(out + row * columns + column, value * opened, mask=live)


@triton.jit
def backward_kernel(
    grad, x, gate, grad_x, grad_gate, columns, stride_grad, stride_x, stride_gate, BLOCK: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    live = column < columns
    from_above = tl.load(grad + row * stride_grad + column, mask=live, other=0.0)
    value = tl.load(x + row * stride_x + column, mask=live, other=0.0)
    opened = tl.sigmoid(tl.load(gate + row * stride_gate + column, mask=live, other=0.0))
    tl.store(grad_x + row * columns + column, from_above * opened, mask=live)
    tl.store(grad_gate + row * columns + column, from_above * value * opened * (1.0 - opened), mask=live)


class Gated(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gate):
        rows, columns = x.shape
        out = torch.empty(rows, columns, device=x.device)
        ctx.block = triton.next_power_of_2(columns)
        forward_kernel[(rows,)](x, gate, out, columns, x.stride(0), gate.stride(0), BLOCK=ctx.block)
        ctx.save_for_backward(x, gate)
        return out

    @staticmethod
    def backward(ctx, grad):
        x, gate = ctx.saved_tensors
        rows, columns = x.shape
        grad_x, grad_gate = (torch.empty(rows, columns, device=x.device) for _ in range(2))
        backward_kernel[(rows,)](
            grad, x, gate, grad_x, grad_gate, columns, x.stride(0), x.stride(0), gate.stride(0), BLOCK=ctx.block
        )
        return grad_x, grad_gate


class Unit(torch.nn.Module):
    """Half of what comes in gates the other half, if it is `fused`."""

    def __init__(self, columns: int, fused: bool):
        super().__init__()
        self.columns, self.fused = columns, fused

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.fused:
            return Gated.apply(x[:, : self.columns], x[:, self.columns :])
        return Gated.apply(x, torch.ones_like(x))


def main() -> None:
    for rows, columns, fused in ((6, 40, False), (12, 40, True)):
        unit = Unit(columns, fused)
        x = torch.randn(rows, 2 * columns if fused else columns, device="cuda", requires_grad=True)
        out = unit(x)
        out.backward(torch.ones_like(out))
        torch.cuda.synchronize()
        print(rows, columns, fused, x.grad.shape)


if __name__ == "__main__":
    main()

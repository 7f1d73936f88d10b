"""Layer norm with a residual, forward and backward: gradients of gain and bias by partial sums of programs."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import argparse

import torch
import triton
import triton.language as tl


@triton.jit
def forward_kernel(x, residual, gain, bias, added, out, means, rstds, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    keep = column < columns
    at = row * columns + column
    value = tl.load(x + at, mask=keep, other=0.0) + tl.load(residual + at, mask=keep, other=0.0)
    tl.store(added + at, value, mask=keep)
    mean = tl.sum(value, axis=0) / columns
    centred = tl.where(keep, value - mean, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    tl.store(means + row, mean)
    tl.store(rstds + row, rstd)
    scaled = centred * rstd * tl.load(gain + column, mask=keep, other=0.0)
    tl.store(out + at, scaled + tl.load(bias + column, mask=keep, other=0.0), mask=keep)


@triton.jit
def input_grad(grad, normed, gain, rstd, columns):
    """The gradient of one row before its norm."""
    scaled = grad * gain
    along = tl.sum(scaled * normed, axis=0) / columns
    level = tl.sum(scaled, axis=0) / columns
    return (scaled - normed * along - level) * rstd


@triton.jit
def backward_kernel(
    grad, added, gain, means, rstds, grad_x, partial_gain, partial_bias, rows, columns,
    ROWS: tl.constexpr, BLOCK: tl.constexpr,
):
    """A few rows a program; what they add to gain and bias goes to the program's own row."""
    program = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    keep = column < columns
    weight = tl.load(gain + column, mask=keep, other=0.0)
    to_gain, to_bias = tl.zeros([BLOCK], tl.float32), tl.zeros([BLOCK], tl.float32)
    for row in range(program * ROWS, tl.minimum(program * ROWS + ROWS, rows)):
        at = row * columns + column
        rstd = tl.load(rstds + row)
        above = tl.load(grad + at, mask=keep, other=0.0)
        normed = (tl.load(added + at, mask=keep, other=0.0) - tl.load(means + row)) * rstd
        normed = tl.where(keep, normed, 0.0)
        tl.store(grad_x + at, input_grad(above, normed, weight, rstd, columns), mask=keep)
        to_gain += above * normed
        to_bias += above
    tl.store(partial_gain + program * columns + column, to_gain, mask=keep)
    tl.store(partial_bias + program * columns + column, to_bias, mask=keep)


@triton.jit
def gather_kernel(partials, out, amount, columns, PARTS: tl.constexpr, COLUMNS: tl.constexpr):
    """Adds partial sums up, some columns a program."""
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros([COLUMNS], tl.float32)
    for start in range(0, amount, PARTS):
        part = start + tl.arange(0, PARTS)
        keep = (part[:, None] < amount) & (column[None, :] < columns)
        total += tl.sum(tl.load(partials + part[:, None] * columns + column[None, :], mask=keep, other=0.0), axis=0)
    tl.store(out + column, total, mask=column < columns)


class Scratch:
    """Memory for partial sums that is kept from call to call, and made anew when more is wanted."""

    def __init__(self):
        self.kept = {}

    def rows(self, name, amount, columns, device):
        held = self.kept.get((name, columns))
        if held is None or held.shape[0] < amount:
            held = self.kept[name, columns] = torch.empty(amount, columns, device=device)
        return held


scratch = Scratch()


class AddNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, residual, gain, bias, eps):
        rows, columns = x.shape
        added, out = torch.empty_like(x), torch.empty_like(x)
        means, rstds = x.new_empty(rows), x.new_empty(rows)
        block = triton.next_power_of_2(columns)
        forward_kernel[(rows,)](x, residual, gain, bias, added, out, means, rstds, columns, eps, BLOCK=block)
        ctx.save_for_backward(added, gain, means, rstds)
        return out

    @staticmethod
    def backward(ctx, grad):
        added, gain, means, rstds = ctx.saved_tensors
        (rows, columns), each = added.shape, 4
        programs, grad_x = triton.cdiv(rows, each), torch.empty_like(added)
        partials = [scratch.rows(name, programs, columns, added.device) for name in ("gain", "bias")]
        backward_kernel[(programs,)](
            grad.contiguous(), added, gain, means, rstds, grad_x, *partials, rows, columns,
            ROWS=each, BLOCK=triton.next_power_of_2(columns),
        )
        grads = [torch.empty_like(gain) for _ in partials]
        for partial, out in zip(partials, grads):
            gather_kernel[(triton.cdiv(columns, 16),)](partial, out, partial.shape[0], columns, PARTS=8, COLUMNS=16)
        return grad_x, grad_x, *grads, None


def gradients(norm, x, residual, upstream):
    weights = torch.ones(x.shape[1]), torch.zeros(x.shape[1])
    leaves = [leaf.clone().requires_grad_() for leaf in (x, residual, *weights)]
    return torch.autograd.grad(norm(*leaves), leaves, upstream)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, default=40)
    parser.add_argument("--batches", type=int, nargs="+", default=[12, 30, 18])
    args = parser.parse_args()
    torch.manual_seed(0)
    for rows in args.batches:
        x, residual, upstream = torch.randn(3, rows, args.columns)
        ours = gradients(lambda *leaves: AddNorm.apply(*leaves, 1e-5), x, residual, upstream)
        plain = gradients(
            lambda a, b, *w: torch.nn.functional.layer_norm(a + b, a.shape[1:], *w), x, residual, upstream,
        )
        torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-4)
        print(f"{rows} rows of {args.columns}: gradients as torch has them")


if __name__ == "__main__":
    main()

"""Huber loss with per-sample weights as an autograd.Function, gradients held against torch.autograd."""
import torch
import triton
import triton.language as tl


@triton.jit
def huber_fwd_kernel(pred, target, weight, loss, n_cols, stride, delta, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        p = tl.load(pred + row * stride + cols, mask=mask, other=0.0)
        t = tl.load(target + row * stride + cols, mask=mask, other=0.0)
        d = p - t
        a = tl.abs(d)
        acc += tl.where(a < delta, 0.5 * d * d, delta * (a - 0.5 * delta))
    w = tl.load(weight + row)
    tl.store(loss + row, w * tl.sum(acc, axis=0) / n_cols)


@triton.jit
def huber_bwd_kernel(
    pred, target, weight, grad_loss, grad_pred,
    n_cols, stride, delta,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    w = tl.load(weight + row)
    g = tl.load(grad_loss + row) * w / n_cols
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        p = tl.load(pred + row * stride + cols, mask=mask, other=0.0)
        t = tl.load(target + row * stride + cols, mask=mask, other=0.0)
        d = p - t
        slope = tl.where(tl.abs(d) < delta, d, tl.where(d > 0, 1.0, -1.0))
        tl.store(grad_pred + row * stride + cols, g * slope, mask=mask)


class HuberLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, pred, target, weight, delta):
        pred = pred.contiguous()
        target = target.contiguous()
        rows, cols = pred.shape
        loss = torch.empty(rows, device=pred.device, dtype=torch.float32)
        block = min(64, triton.next_power_of_2(cols))
        huber_fwd_kernel[(rows,)](
            pred, target, weight, loss, cols, pred.stride(0), delta, BLOCK=block,
        )
        ctx.save_for_backward(pred, target, weight)
        ctx.delta = delta
        ctx.block = block
        return loss

    @staticmethod
    def backward(ctx, grad_loss):
        pred, target, weight = ctx.saved_tensors
        rows, cols = pred.shape
        grad_pred = torch.empty_like(pred)
        huber_bwd_kernel[(rows,)](
            pred, target, weight, grad_loss.contiguous(), grad_pred,
            cols, pred.stride(0), ctx.delta, BLOCK=ctx.block,
        )
        return grad_pred, None, None, None


def huber(pred, target, weight, delta=1.0):
    return HuberLoss.apply(pred, target, weight, delta)


def huber_reference(pred, target, weight, delta=1.0):
    loss = torch.nn.functional.huber_loss(pred, target, reduction="none", delta=delta)
    return loss.mean(dim=1) * weight


def make_inputs(rows, cols, device="cuda"):
    pred = torch.randn(rows, cols, device=device) * 2
    target = torch.randn(rows, cols, device=device)
    weight = torch.rand(rows, device=device) + 0.1
    return pred, target, weight


def run(fn, inputs, upstream, delta):
    pred, target, weight = inputs
    pred = pred.detach().clone().requires_grad_(True)
    loss = fn(pred, target, weight, delta)
    (loss * upstream).sum().backward()
    return loss.detach(), pred.grad


def check_case(rows, cols, delta):
    inputs = make_inputs(rows, cols)
    upstream = torch.rand(rows, device=inputs[0].device)
    loss, grad = run(huber, inputs, upstream, delta)
    ref_loss, ref_grad = run(huber_reference, inputs, upstream, delta)
    torch.testing.assert_close(loss, ref_loss, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(grad, ref_grad, rtol=1e-5, atol=1e-6)
    print(f"rows={rows} cols={cols} delta={delta}: ok")


if __name__ == "__main__":
    torch.manual_seed(0)
    for rows, cols in [(4, 64), (7, 100)]:
        for delta in (1.0, 0.5):
            check_case(rows, cols, delta)

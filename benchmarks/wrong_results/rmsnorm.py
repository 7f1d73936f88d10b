"""RMSNorm with a hand-written backward."""
import argparse

import torch
import triton
import triton.language as tl


@triton.jit
def forward_kernel(x_ptr, w_ptr, y_ptr, rstd_ptr, n_cols, stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    rstd = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    tl.store(rstd_ptr + row, rstd)
    tl.store(y_ptr + row * stride + cols, (x * rstd * w).to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def backward_kernel(dy_ptr, x_ptr, w_ptr, rstd_ptr, dx_ptr, dw_ptr, n_rows, n_cols, stride,
                    ROWS: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in range(ROWS):
        row = pid * ROWS + i
        live = mask & (row < n_rows)
        x = tl.load(x_ptr + row * stride + cols, mask=live, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + row * stride + cols, mask=live, other=0.0).to(tl.float32)
        rstd = tl.load(rstd_ptr + row, mask=row < n_rows, other=0.0)
        xhat = x * rstd
        wdy = w * dy
        c = tl.sum(xhat * wdy, axis=0) / BLOCK
        dx = (wdy - xhat * c) * rstd
        tl.store(dx_ptr + row * stride + cols, dx.to(dx_ptr.dtype.element_ty), mask=live)
        dw += dy * xhat
    tl.store(dw_ptr + pid * n_cols + cols, dw, mask=mask)


class RMSNormFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        x2 = x.reshape(-1, x.shape[-1]).contiguous()
        rows, cols = x2.shape
        y = torch.empty_like(x2)
        rstd = torch.empty(rows, device=x.device, dtype=torch.float32)
        block = triton.next_power_of_2(cols)
        forward_kernel[(rows,)](x2, weight, y, rstd, cols, x2.stride(0), eps, BLOCK=block)
        ctx.save_for_backward(x2, weight, rstd)
        ctx.block = block
        return y.view_as(x)

    @staticmethod
    def backward(ctx, dy):
        x, weight, rstd = ctx.saved_tensors
        rows, cols = x.shape
        dy2 = dy.reshape(rows, cols).contiguous()
        dx = torch.empty_like(x)
        rows_each = 4
        programs = triton.cdiv(rows, rows_each)
        dw = torch.empty((programs, cols), device=x.device, dtype=torch.float32)
        backward_kernel[(programs,)](dy2, x, weight, rstd, dx, dw, rows, cols, x.stride(0),
                                     ROWS=rows_each, BLOCK=ctx.block)
        return dx.view_as(dy), dw.sum(0).to(weight.dtype), None


def rms_norm(x, weight, eps=1e-6):
    return RMSNormFunction.apply(x, weight, eps)


def rms_norm_torch(x, weight, eps=1e-6):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


def gradients(function, x, weight, dy):
    x, weight = x.clone().requires_grad_(), weight.clone().requires_grad_()
    y = function(x, weight)
    y.backward(dy)
    return {"y": y.detach(), "dx": x.grad, "dw": weight.grad}


def count_parameters(module):
    return sum(p.numel() for p in module.parameters())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", type=int, nargs="*", default=[128, 200])
    args = parser.parse_args()
    torch.manual_seed(9)
    for hidden in args.hidden:
        x, dy = (torch.randn(2, 9, hidden, device="cuda") for _ in range(2))
        weight = torch.rand(hidden, device="cuda") + 0.5
        mine, ref = gradients(rms_norm, x, weight, dy), gradients(rms_norm_torch, x, weight, dy)
        for name in ref:
            torch.testing.assert_close(mine[name], ref[name], rtol=1e-4, atol=1e-4,
                                       msg=f"{name} differs at hidden size {hidden}")
        print("hidden", hidden, "ok")


if __name__ == "__main__":
    main()

# Layer norm forward and backward as an autograd function inside a module, with a small training loop.
import contextlib
import math
import typing as t
from dataclasses import dataclass, field

import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@dataclass
class Settings:
    hidden: int = 1024
    batch: int = 8
    eps: float = 1e-5
    steps: int = 3
    names: list = field(default_factory=lambda: ["x", "dy"])


@triton.jit
def _normalise(x, mean, rstd):
    centred = x - mean
    return centred * rstd


@triton.jit
def layernorm_fwd(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + row * stride + offs, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    diff = tl.where(mask, x - mean, 0.0)
    rstd = libdevice.rsqrt(tl.sum(diff * diff, axis=0) / n + eps)
    w, b = tl.load(w_ptr + offs, mask, 0.0), tl.load(b_ptr + offs, mask, 0.0)
    y = _normalise(x, mean, rstd) * w + b
    tl.store(y_ptr + row * stride + offs, y, mask)
    tl.store(mean_ptr + row, mean); tl.store(rstd_ptr + row, rstd)


@triton.jit
def layernorm_bwd(dy_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, dx_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + row * stride + offs, mask=mask, other=0.0)
    dy = tl.load(dy_ptr + row * stride + offs, mask=mask, other=0.0)
    xhat = _normalise(x, tl.load(mean_ptr + row), tl.load(rstd_ptr + row))
    wdy = dy * tl.load(w_ptr + offs, mask=mask, other=0.0)
    c1 = tl.sum(xhat * wdy, axis=0) / n
    c2 = tl.sum(wdy, axis=0) / n
    tl.store(dx_ptr + row * stride + offs, (wdy - (xhat * c1 + c2)) * tl.load(rstd_ptr + row), mask=mask)


class LayerNormFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        rows, n = x.shape
        y, mean, rstd = torch.empty_like(x), torch.empty(rows, device=x.device), torch.empty(rows, device=x.device)
        block = triton.next_power_of_2(n)
        warps = 4 if block < 2048 else 8
        layernorm_fwd[rows, 1](x, y, weight, bias, mean, rstd, x.stride(0), n, eps, BLOCK=block, num_warps=warps)
        ctx.save_for_backward(x, weight, mean, rstd)
        ctx.block = block
        return y

    @staticmethod
    def backward(ctx, dy):
        x, weight, mean, rstd = ctx.saved_tensors
        dx = torch.empty_like(x)
        layernorm_bwd[(x.shape[0],)](dy, x, weight, mean, rstd, dx, x.stride(0), x.shape[1], BLOCK=ctx.block)
        return dx, None, None, None


class LayerNorm(nn.Module):
    """Drop-in replacement."""

    scale = 1.0

    def __init__(self, hidden, eps=1e-5, *extra, **options):
        super().__init__()
        self.eps, self.hidden = eps, hidden
        self.weight = nn.Parameter(torch.ones(hidden, **options))
        self.bias: t.Optional[nn.Parameter] = nn.Parameter(torch.zeros(hidden, **options))

    @property
    def bound(self) -> float:
        return math.sqrt(self.hidden)

    def forward(self, x):
        shape = x.shape
        y = LayerNormFunction.apply(x.reshape(-1, shape[-1]), self.weight, self.bias, self.eps)
        return y.reshape(shape) if self.scale == 1.0 else (y * self.scale).reshape(shape)


@contextlib.contextmanager
def timed(label: str):
    begin = torch.cuda.Event(enable_timing=True)
    begin.record()
    try:
        yield begin
    except RuntimeError as error:
        print(f"{label} failed: {error!r}")
        raise
    else:
        print(label, "done")
    finally:
        torch.cuda.synchronize()


def train(settings: Settings = Settings()) -> list[float]:
    layer = LayerNorm(settings.hidden, settings.eps, device="cuda")
    losses = []
    step = 0
    while step < settings.steps:
        x = torch.randn(settings.batch, settings.hidden, device="cuda", requires_grad=True)
        with timed(f"step {step}") as event, torch.autograd.set_detect_anomaly(True):
            loss = layer(x).square().mean()
            loss.backward()
        losses += [loss.item()]
        step += 1
        if math.isnan(losses[-1]):
            break
    else:
        print({name: len(name) for name in settings.names})
    return losses


train()

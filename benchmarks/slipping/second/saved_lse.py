"""Cross entropy over a large vocabulary in tiles, with label smoothing; backward reads the log-sum-exp of forward."""

import argparse
import contextlib
import enum

import torch
import triton
import triton.language as tl
from torch import nn


class Reduction(enum.Enum):
    MEAN = "mean"
    SUM = "sum"

    def scale(self, rows: int) -> float:
        return 1.0 / rows if self is Reduction.MEAN else 1.0


@triton.jit
def combine(best, total, scores):
    fresh = tl.maximum(best, tl.max(scores, axis=0))
    return fresh, total * tl.exp(best - fresh) + tl.sum(tl.exp(scores - fresh), axis=0)


@triton.jit
def loss_kernel(
    logits, labels, losses, lse, vocabulary, stride, smoothing,
    SAVE: tl.constexpr, BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    best = float("-inf")
    total = 0.0
    mean = 0.0
    for start in range(0, vocabulary, BLOCK):
        at = start + tl.arange(0, BLOCK)
        scores = tl.load(logits + row * stride + at, mask=at < vocabulary, other=float("-inf")).to(tl.float32)
        best, total = combine(best, total, scores)
        mean += tl.sum(tl.where(at < vocabulary, scores, 0.0), axis=0) / vocabulary
    level = best + tl.log(total)
    label = tl.load(labels + row)
    score = tl.load(logits + row * stride + label).to(tl.float32)
    tl.store(losses + row, level - (1.0 - smoothing) * score - smoothing * mean)
    if SAVE:
        tl.store(lse + row, level)


@triton.jit
def grad_kernel(
    logits, labels, lse, grads, out, vocabulary, stride, smoothing, scale, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    keep = at < vocabulary
    scores = tl.load(logits + row * stride + at, mask=keep, other=0.0).to(tl.float32)
    share = tl.exp(scores - tl.load(lse + row))
    target = tl.where(at == tl.load(labels + row), 1.0 - smoothing, 0.0) + smoothing / vocabulary
    grad = (share - target) * tl.load(grads) * scale
    tl.store(out + row * vocabulary + at, grad, mask=keep)


@triton.jit
def sum_kernel(losses, out, rows, scale, BLOCK: tl.constexpr):
    total = 0.0
    for start in range(0, rows, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(losses + at, mask=at < rows, other=0.0), axis=0)
    tl.store(out, total * scale)


class CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, labels, smoothing, reduction):
        rows, vocabulary = logits.shape
        losses = torch.empty(rows, device=logits.device)
        lse = torch.empty(rows, device=logits.device)
        save = torch.is_grad_enabled()
        loss_kernel[(rows,)](
            logits, labels, losses, lse, vocabulary, logits.stride(0), smoothing, SAVE=save, BLOCK=256
        )
        out = torch.empty(1, device=logits.device)
        sum_kernel[(1,)](losses, out, rows, reduction.scale(rows), BLOCK=64)
        ctx.save_for_backward(logits, labels, lse)
        ctx.smoothing, ctx.scale = smoothing, reduction.scale(rows)
        return out

    @staticmethod
    def backward(ctx, grads):
        logits, labels, lse = ctx.saved_tensors
        rows, vocabulary = logits.shape
        out = torch.empty_like(logits)
        grad_kernel[(rows, triton.cdiv(vocabulary, 256))](
            logits, labels, lse, grads.contiguous(), out, vocabulary, logits.stride(0), ctx.smoothing, ctx.scale,
            BLOCK=256,
        )
        return out, None, None, None


class Head(nn.Module):
    def __init__(self, hidden: int, vocabulary: int, smoothing: float, reduction: Reduction):
        super().__init__()
        self.project = nn.Linear(hidden, vocabulary, bias=False)
        self.smoothing, self.reduction = smoothing, reduction

    def forward(self, x, labels):
        return CrossEntropy.apply(self.project(x), labels, self.smoothing, self.reduction)


def step(head, optimiser, x, labels):
    optimiser.zero_grad()
    loss = head(x, labels)
    loss.backward()
    optimiser.step()
    return loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vocabulary", type=int, default=600)
    parser.add_argument("--reduction", default="mean")
    parser.add_argument("--steps", type=int, default=2)
    args = parser.parse_args()
    torch.manual_seed(4)
    head = Head(32, args.vocabulary, 0.1, Reduction(args.reduction)).cuda()
    optimiser = torch.optim.SGD(head.parameters(), lr=0.1)
    x = torch.randn(10, 32, device="cuda")
    labels = torch.randint(0, args.vocabulary, (10,), device="cuda")
    with torch.no_grad(), contextlib.suppress(ZeroDivisionError):
        print("before", head(x, labels).item())
    for _ in range(args.steps):
        print("loss", step(head, optimiser, x, labels))


if __name__ == "__main__":
    main()

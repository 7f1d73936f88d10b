"""AdamW over one flat buffer: segments say which part decays; compared with torch's own after each step."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import argparse
import collections

import torch
import triton
import triton.language as tl
from torch import nn

Segment = collections.namedtuple("Segment", "first length decay")


@triton.jit
def moment(old, fresh, beta):
    return beta * old + (1.0 - beta) * fresh


@triton.jit
def adamw_kernel(
    values, grads, first_moments, second_moments, firsts, lengths, decays,
    rate, beta1, beta2, eps, correction1, correction2, BLOCK: tl.constexpr,
):
    segment = tl.program_id(0)
    first = tl.load(firsts + segment)
    length = tl.load(lengths + segment)
    decay = tl.load(decays + segment)
    for start in range(0, length, BLOCK):
        inside = start + tl.arange(0, BLOCK)
        keep = inside < length
        at = first + inside
        value = tl.load(values + at, mask=keep, other=0.0)
        grad = tl.load(grads + at, mask=keep, other=0.0)
        m = moment(tl.load(first_moments + at, mask=keep, other=0.0), grad, beta1)
        v = moment(tl.load(second_moments + at, mask=keep, other=0.0), grad * grad, beta2)
        value = value * (1.0 - rate * decay)
        value -= rate * (m / correction1) / (tl.sqrt(v / correction2) + eps)
        tl.store(first_moments + at, m, mask=keep)
        tl.store(second_moments + at, v, mask=keep)
        tl.store(values + at, value, mask=keep)


@triton.jit
def norm_kernel(x, out, amount, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, amount, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + at, mask=at < amount, other=0.0)
        total += value * value
    tl.store(out, tl.sqrt(tl.sum(total, axis=0)))


@triton.jit
def scale_kernel(x, norm, limit, amount, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    factor = tl.minimum(1.0, limit / (tl.load(norm) + 1e-6))
    tl.store(x + at, tl.load(x + at, mask=at < amount, other=0.0) * factor, mask=at < amount)


def decays(parameter):
    """Matrices decay; biases and the scales of norms do not."""
    return parameter.ndim > 1


class Flat:
    def __init__(self, module):
        named = sorted(module.named_parameters(), key=lambda item: not decays(item[1]))
        self.parameters = [parameter for _, parameter in named]
        self.values = torch.cat([p.detach().flatten() for p in self.parameters])

    def segments(self, module, decay):
        first, found = 0, []
        for parameter in module.parameters():
            found.append(Segment(first, parameter.numel(), decay if decays(parameter) else 0.0))
            first += parameter.numel()
        return found

    def grads(self):
        return torch.cat([p.grad.flatten() for p in self.parameters])

    @torch.no_grad()
    def write_back(self):
        sizes = [p.numel() for p in self.parameters]
        for parameter, part in zip(self.parameters, self.values.split(sizes)):
            parameter.copy_(part.view_as(parameter))


class FlatAdamW:
    def __init__(self, module, rate=0.01, betas=(0.9, 0.99), eps=1e-8, decay=0.1, limit=1e9):
        self.flat = Flat(module)
        self.rate, self.betas, self.eps, self.limit, self.steps = rate, betas, eps, limit, 0
        segments = self.flat.segments(module, decay)
        self.firsts = torch.tensor([s.first for s in segments])
        self.lengths = torch.tensor([s.length for s in segments])
        self.decays = torch.tensor([s.decay for s in segments])
        self.moments = torch.zeros_like(self.flat.values), torch.zeros_like(self.flat.values)

    def step(self):
        self.steps += 1
        grads, norm = self.flat.grads(), torch.empty(1)
        norm_kernel[(1,)](grads, norm, grads.numel(), BLOCK=256)
        scale_kernel[(triton.cdiv(grads.numel(), 256),)](grads, norm, self.limit, grads.numel(), BLOCK=256)
        corrections = (1 - beta**self.steps for beta in self.betas)
        adamw_kernel[(self.firsts.numel(),)](
            self.flat.values, grads, *self.moments, self.firsts, self.lengths, self.decays,
            self.rate, *self.betas, self.eps, *corrections, BLOCK=64,
        )
        self.flat.write_back()


def model():
    torch.manual_seed(8)
    return nn.Sequential(nn.Linear(6, 10), nn.LayerNorm(10), nn.Tanh(), nn.Linear(10, 3))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--decay", type=float, default=0.1)
    args = parser.parse_args()
    ours, theirs = model(), model()
    groups = [
        {"params": [p for p in theirs.parameters() if decays(p)], "weight_decay": args.decay},
        {"params": [p for p in theirs.parameters() if not decays(p)], "weight_decay": 0.0},
    ]
    optimiser, reference = FlatAdamW(ours, decay=args.decay), torch.optim.AdamW(groups, lr=0.01, betas=(0.9, 0.99))
    for step in range(args.steps):
        x = torch.randn(16, 6)
        for module in (ours, theirs):
            module.zero_grad()
            (module(x) ** 2).mean().backward()
        optimiser.step()
        reference.step()
        for mine, other in zip(ours.parameters(), theirs.parameters()):
            torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)
        print("step", step, "agrees")


if __name__ == "__main__":
    main()

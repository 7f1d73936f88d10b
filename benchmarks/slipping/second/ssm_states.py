"""A selective scan with a cache of its states, as the mixer of a small language model: prefill, then decoding."""

import argparse
import time
from dataclasses import dataclass, field

import torch
import triton
import triton.language as tl
from torch import nn


@dataclass
class Shape:
    channels: int = 48
    states: int = 16
    layers: int = 2
    block: int = field(default=32)

    def blocks(self):
        return triton.cdiv(self.channels, self.block)


@triton.jit
def softplus(x):
    return tl.where(x > 20.0, x, tl.log(1.0 + tl.exp(x)))


@triton.jit
def decay(step, rate):
    return tl.exp(-step * rate)


@triton.jit
def gate_kernel(x, z, out, amount, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < amount
    gate = tl.load(z + at, mask=keep, other=0.0).to(tl.float32)
    value = tl.load(x + at, mask=keep, other=0.0)
    tl.store(out + at, value * gate * tl.sigmoid(gate), mask=keep)


@triton.jit
def scan_kernel(
    u, delta, rates, b, c, skip, state, y, length, channels, N: tl.constexpr, BLOCK: tl.constexpr
):
    sample = tl.program_id(0)
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    n = tl.arange(0, N)
    keep = channel < channels
    both = keep[:, None] & (n < N)[None, :]
    rate = tl.load(rates + channel[:, None] * N + n[None, :], mask=both, other=0.0)
    direct = tl.load(skip + channel, mask=keep, other=0.0)
    place = state + (sample * channels + channel)[:, None] * N + n[None, :]
    h = tl.load(place, mask=both, other=0.0)
    for t in range(length):
        row = sample * length + t
        step = softplus(tl.load(delta + row * channels + channel, mask=keep, other=0.0).to(tl.float32))
        value = tl.load(u + row * channels + channel, mask=keep, other=0.0).to(tl.float32)
        into = tl.load(b + row * N + n).to(tl.float32)
        out_of = tl.load(c + row * N + n).to(tl.float32)
        h = h * decay(step[:, None], rate) + (step * value)[:, None] * into[None, :]
        tl.store(y + row * channels + channel, tl.sum(h * out_of[None, :], axis=1) + direct * value, mask=keep)
    tl.store(place, h, mask=both)


class States:
    """What each layer remembers of each sample."""

    def __init__(self, shape: Shape):
        self.shape = shape
        self.kept = {}

    def of(self, layer: int, like: torch.Tensor):
        if layer not in self.kept:
            self.kept[layer] = like.new_zeros(like.shape[0], self.shape.channels, self.shape.states)
        return self.kept[layer]

    def bytes(self):
        return sum(state.numel() * state.element_size() for state in self.kept.values())


class Mixer(nn.Module):
    def __init__(self, shape: Shape, layer: int):
        super().__init__()
        self.shape, self.layer = shape, layer
        self.project = nn.Linear(shape.channels, 3 * shape.channels + 2 * shape.states, bias=False)
        self.rates = nn.Parameter(torch.arange(1, shape.states + 1.0).repeat(shape.channels, 1))
        self.skip = nn.Parameter(torch.ones(shape.channels))

    def forward(self, x, states):
        s = self.shape
        widths = [s.channels] * 3 + [s.states] * 2
        u, z, delta, b, c = (part.contiguous() for part in self.project(x).split(widths, dim=-1))
        y = torch.empty_like(u)
        state = states.of(self.layer, x)
        scan_kernel[(x.shape[0], s.blocks())](
            u, delta, self.rates, b, c, self.skip, state, y, x.shape[1], s.channels, N=s.states, BLOCK=s.block
        )
        out = torch.empty_like(y)
        gate_kernel[(triton.cdiv(y.numel(), 256),)](y, z, out, y.numel(), BLOCK=256)
        return x + out


def build(shape, dtype):
    layers = nn.ModuleList(Mixer(shape, i) for i in range(shape.layers)).cuda()
    for layer in layers:
        layer.project.to(dtype)
    return layers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--prompt", type=int, default=12)
    parser.add_argument("--new", type=int, default=3)
    args = parser.parse_args()
    torch.manual_seed(1)
    shape, dtype = Shape(), getattr(torch, args.dtype)
    layers, states = build(shape, dtype), States(shape)
    started = time.perf_counter()
    with torch.no_grad():
        x = torch.randn(2, args.prompt, shape.channels, device="cuda", dtype=dtype)
        for _ in range(1 + args.new):
            for layer in layers:
                x = layer(x, states)
            x = x[:, -1:].contiguous()
    print(f"{states.bytes()} bytes of states, {time.perf_counter() - started:.2f} s")


if __name__ == "__main__":
    main()

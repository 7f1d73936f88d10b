"""A feed-forward block with int8 activations under torch.compile; the row scales come from a kernel of our own.

    python compiled_model.py                    compiled
    python compiled_model.py --eager            the same model without torch.compile
    python compiled_model.py --gates 4          four routing gates a block instead of two

Each block projects to `hidden` features and a few gates at once, and splits the result.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl
from torch.library import triton_op, wrap_triton


@dataclass(frozen=True)
class Shape:
    width: int = 256
    hidden: int = 512
    gates: int = 2
    layers: int = 2


@triton.jit
def magnitude(word, shift: tl.constexpr):
    """One of the four halves in a word, without its sign: as a number, since those bits sort as the halves do."""
    return ((word >> shift) & 0x7FFF).to(tl.int32)


@triton.jit
def row_peak_kernel(x_ptr, peak_ptr, words, row_stride, BLOCK: tl.constexpr):
    """Largest magnitude of each row, as the bits of a half; four halves a load."""
    row = tl.program_id(0)
    row_ptr = (x_ptr + row * row_stride).to(tl.pointer_type(tl.int64))
    peak = tl.zeros([BLOCK], tl.int32)
    for start in range(0, words, BLOCK):
        at = start + tl.arange(0, BLOCK)
        word = tl.load(row_ptr + at, mask=at < words, other=0)
        peak = tl.maximum(peak, tl.maximum(magnitude(word, 0), magnitude(word, 16)))
        peak = tl.maximum(peak, tl.maximum(magnitude(word, 32), magnitude(word, 48)))
    tl.store(peak_ptr + row, tl.max(peak, axis=0).to(tl.int16))


@triton.jit
def quantise_kernel(x_ptr, peak_ptr, out_ptr, cols, row_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    peak = tl.load(peak_ptr + row).to(tl.float32)
    x = tl.load(x_ptr + row * row_stride + at, mask=at < cols, other=0.0).to(tl.float32)
    scaled = x * (127.0 / tl.maximum(peak, 1e-6))
    rounded = tl.where(scaled < 0, scaled - 0.5, scaled + 0.5)
    tl.store(out_ptr + row * cols + at, rounded.to(tl.int8), mask=at < cols)


@triton_op("int8mlp::row_peak", mutates_args={})
def row_peak(x: torch.Tensor) -> torch.Tensor:
    rows, cols = x.shape
    peak = torch.empty(rows, dtype=torch.int16, device=x.device)
    wrap_triton(row_peak_kernel)[(rows,)](x, peak, cols // 4, x.stride(0), BLOCK=128)
    return peak.view(torch.float16)


@triton_op("int8mlp::quantise", mutates_args={})
def quantise(x: torch.Tensor, peak: torch.Tensor) -> torch.Tensor:
    rows, cols = x.shape
    out = torch.empty(rows, cols, dtype=torch.int8, device=x.device)
    wrap_triton(quantise_kernel)[(rows, triton.cdiv(cols, 256))](x, peak, out, cols, x.stride(0), BLOCK=256)
    return out


class Int8Linear(nn.Module):
    """Weights and activations rounded to int8; multiplied as halves, since this only models the rounding."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        weight = torch.randn(outputs, inputs) * inputs**-0.5
        scale = weight.abs().amax(dim=1, keepdim=True) / 127
        self.register_buffer("weight", (weight / scale).round().to(torch.int8))
        self.register_buffer("scale", scale.half())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        peak = row_peak(x)
        activations = quantise(x, peak).half() * (peak / 127)[:, None]
        return F.linear(activations, self.weight.half() * self.scale)


class Block(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(shape.width)
        self.up = nn.Linear(shape.width, shape.hidden + shape.gates, bias=False)
        self.down = Int8Linear(shape.hidden, shape.width)
        self.hidden = shape.hidden

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        projected = self.up(self.norm(x))
        hidden, gates = projected[:, : self.hidden], projected[:, self.hidden :]
        return x + self.down(hidden) * gates.sigmoid().mean(dim=1, keepdim=True)


class Model(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.head = nn.Linear(shape.width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(F.gelu(x)).float().log_softmax(-1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--gates", type=int, default=2)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--eager", action="store_true")
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()

    torch.manual_seed(0)
    model = Model(Shape(gates=args.gates)).to(args.device, torch.float16).eval()
    step = model if args.eager else torch.compile(model, fullgraph=True, dynamic=False)
    with torch.no_grad():
        for number in range(args.steps):
            x = torch.randn(args.tokens, model.head.in_features, dtype=torch.float16, device=args.device)
            print(f"step {number}: entropy {-(step(x).exp() * step(x)).sum(-1).mean().item():.4f}")


if __name__ == "__main__":
    main()

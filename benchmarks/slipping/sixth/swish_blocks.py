"""Gated feed-forward blocks of several checkpoints: norm, gate and up projections with an activation, down again."""

from __future__ import annotations

import dataclasses
import json

import torch
import triton
import triton.language as tl

CHECKPOINTS = """
[
    {"model": "alpha-small", "hidden_size": 64, "intermediate_size": 96, "hidden_act": "silu"},
    {"model": "beta-base", "hidden_size": 96, "intermediate_size": 160, "hidden_act": "gelu_new"},
    {"model": "gamma-mini", "hidden_size": 64, "intermediate_size": 128, "hidden_act": "swish"}
]
"""

FAMILIES = {
    "silu": ("swish"),
    "gelu": ("gelu_erf", "gelu_exact"),
    "gelu_tanh": ("gelu_new", "gelu_fast", "gelu_pytorch_tanh"),
    "relu2": ("squared_relu", "relu_squared"),
}
ALIASES = {alias: name for name, aliases in FAMILIES.items() for alias in aliases}


@dataclasses.dataclass(frozen=True)
class Config:
    hidden: int
    inner: int
    activation: str
    eps: float = 1e-6

    @classmethod
    def of(cls, entry: dict) -> Config:
        """What a checkpoint's file says, with the names that the kernels know."""
        act = entry["hidden_act"].lower()
        return cls(entry["hidden_size"], entry["intermediate_size"], ALIASES.get(act, act))


@triton.jit
def activated(x, ACT: tl.constexpr):
    if ACT == "silu":
        bent = x * tl.sigmoid(x)
    elif ACT == "gelu":
        bent = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    elif ACT == "gelu_tanh":
        bent = x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))
    elif ACT == "relu2":
        bent = tl.maximum(x, 0.0) * tl.maximum(x, 0.0)
    return bent


@triton.jit
def norm_kernel(x, gain, out, columns, eps, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    keep = column < columns
    row = tl.program_id(0) * columns
    value = tl.load(x + row + column, mask=keep, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, axis=0) / columns + eps)
    tl.store(out + row + column, (value * scale * tl.load(gain + column, mask=keep)).to(tl.float16), mask=keep)


@triton.jit
def project(x, w, row, column, rows, inner, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr, K: tl.constexpr):
    acc = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(0, inner, K):
        k = start + tl.arange(0, K)
        a_keep = (row[:, None] < rows) & (k[None, :] < inner)
        b_keep = (k[:, None] < inner) & (column[None, :] < columns)
        a = tl.load(x + row[:, None] * inner + k[None, :], mask=a_keep, other=0.0)
        b = tl.load(w + k[:, None] * columns + column[None, :], mask=b_keep, other=0.0)
        acc = tl.dot(a, b, acc)
    return acc


@triton.jit
def gated_kernel(
    x, gate, up, out, rows, hidden, inner,
    ACT: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, K: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    opened = activated(project(x, gate, row, column, rows, hidden, inner, ROWS, COLUMNS, K), ACT)
    value = opened * project(x, up, row, column, rows, hidden, inner, ROWS, COLUMNS, K)
    keep = (row[:, None] < rows) & (column[None, :] < inner)
    tl.store(out + row[:, None] * inner + column[None, :], value.to(tl.float16), mask=keep)


@triton.jit
def down_kernel(x, w, out, rows, inner, hidden, ROWS: tl.constexpr, COLUMNS: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    keep = (row[:, None] < rows) & (column[None, :] < hidden)
    value = project(x, w, row, column, rows, inner, hidden, ROWS, COLUMNS, K)
    tl.store(out + row[:, None] * hidden + column[None, :], value.to(tl.float16), mask=keep)


class FeedForward:
    def __init__(self, config: Config, device: str = "cuda") -> None:
        self.config = config
        shape, kind = (config.hidden, config.inner), {"dtype": torch.float16, "device": device}
        self.gain = torch.ones(config.hidden, device=device)
        self.gate, self.up = torch.randn(shape, **kind) / 8, torch.randn(shape, **kind) / 8
        self.down = torch.randn(shape[::-1], **kind) / 8
        self.tile = {"ROWS": 16, "COLUMNS": 32, "K": 32}

    def grid(self, rows: int, columns: int) -> tuple[int, int]:
        return triton.cdiv(rows, self.tile["ROWS"]), triton.cdiv(columns, self.tile["COLUMNS"])

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        config, rows = self.config, x.shape[0]
        normed, out, middle = torch.empty_like(x), torch.empty_like(x), x.new_empty(rows, config.inner)
        block = triton.next_power_of_2(config.hidden)
        norm_kernel[(rows,)](x, self.gain, normed, config.hidden, config.eps, BLOCK=block)
        sizes = rows, config.hidden, config.inner
        gated_kernel[self.grid(rows, config.inner)](
            normed, self.gate, self.up, middle, *sizes, ACT=config.activation, **self.tile,
        )
        down_kernel[self.grid(rows, config.hidden)](
            middle, self.down, out, rows, config.inner, config.hidden, **self.tile,
        )
        return out


def main() -> None:
    for entry in json.loads(CHECKPOINTS):
        block = FeedForward(Config.of(entry))
        x = torch.randn(20, block.config.hidden, dtype=torch.float16, device="cuda")
        out = block(x)
        torch.cuda.synchronize()
        print(f"{entry['model']}: {tuple(out.shape)} by {block.config.activation}")


if __name__ == "__main__":
    main()

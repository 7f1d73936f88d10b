"""An MLP with int8 weights and activations: quantise rows, two integer products by TMA, a gate, and back to float.

The integer product has two variants: the plain persistent loop, and one where the loads have warps of their own
(`warp_specialize`). Hopper only.
"""

from __future__ import annotations

import argparse
import itertools
import logging
from dataclasses import dataclass

import torch
import triton
import triton.language as tl

log = logging.getLogger("int8_mlp")


@dataclass(frozen=True)
class Tiles:
    m: int = 64
    n: int = 64
    k: int = 64
    warps: int = 4
    stages: int = 2
    specialized: bool = False


PLAIN = Tiles()
VARIANTS: dict[str, Tiles] = {
    "plain": PLAIN,
    "deep": Tiles(k=128, stages=3),
    "specialized": Tiles(n=128, stages=3, specialized=True),
}


@triton.jit
def quantize_kernel(x_ptr, q_ptr, scale_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < width
    x = tl.load(x_ptr + row * width + cols, mask=inside, other=0.0)
    scale = tl.max(tl.abs(x), axis=0) / 127.0 + 1e-8
    q = x / scale
    q = tl.where(q > 0, q + 0.5, q - 0.5).to(tl.int8)
    tl.store(q_ptr + row * width + cols, q, mask=inside)
    tl.store(scale_ptr + row, scale)


@triton.jit
def int8_matmul_kernel(
    a_ptr, b_ptr, a_scale_ptr, b_scale_ptr, c_ptr, rows, columns, depth,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    STAGES: tl.constexpr, SPECIALIZED: tl.constexpr,
):
    a = tl.make_tensor_descriptor(a_ptr, shape=[rows, depth], strides=[depth, 1], block_shape=[BLOCK_M, BLOCK_K])
    b = tl.make_tensor_descriptor(b_ptr, shape=[depth, columns], strides=[columns, 1], block_shape=[BLOCK_K, BLOCK_N])
    row = tl.program_id(0) * BLOCK_M
    col = tl.program_id(1) * BLOCK_N
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.int32)
    for start in tl.range(0, depth, BLOCK_K, num_stages=STAGES, warp_specialize=SPECIALIZED):
        left = a.load([row, start])
        right = b.load([start, col])
        acc = tl.dot(left, right, acc, out_dtype=tl.int32)
    rm = row + tl.arange(0, BLOCK_M)
    rn = col + tl.arange(0, BLOCK_N)
    sa = tl.load(a_scale_ptr + rm, mask=rm < rows, other=0.0)
    sb = tl.load(b_scale_ptr + rn, mask=rn < columns, other=0.0)
    out = acc.to(tl.float32) * sa[:, None] * sb[None, :]
    tl.store(
        c_ptr + rm[:, None] * columns + rn[None, :], out, mask=(rm < rows)[:, None] & (rn < columns)[None, :]
    )


@triton.jit
def gate_kernel(up_ptr, gate_ptr, out_ptr, total, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < total
    up = tl.load(up_ptr + offsets, mask=inside, other=0.0)
    gate = tl.load(gate_ptr + offsets, mask=inside, other=0.0)
    tl.store(out_ptr + offsets, up * gate * tl.sigmoid(gate), mask=inside)


def quantize(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rows, width = x.shape
    q = torch.zeros(rows, width, dtype=torch.int8, device=x.device)
    scales = torch.zeros(rows, device=x.device)
    quantize_kernel[(rows,)](x, q, scales, width, BLOCK=triton.next_power_of_2(width))
    return q, scales


def int8_matmul(a, b, a_scales, b_scales, tiles: Tiles) -> torch.Tensor:
    (rows, depth), columns = a.shape, b.shape[1]
    c = torch.zeros(rows, columns, device=a.device)
    grid = (triton.cdiv(rows, tiles.m), triton.cdiv(columns, tiles.n))
    int8_matmul_kernel[grid](
        a, b, a_scales, b_scales, c, rows, columns, depth, BLOCK_M=tiles.m, BLOCK_N=tiles.n, BLOCK_K=tiles.k,
        STAGES=tiles.stages, SPECIALIZED=tiles.specialized, num_warps=tiles.warps,
    )
    return c


class QuantizedMLP:
    """Weights are quantised once, by output channel; activations at each call."""

    def __init__(self, hidden: int, inner: int):
        self.weights, self.scales = {}, {}
        for name, shape in (("up", (inner, hidden)), ("gate", (inner, hidden)), ("down", (hidden, inner))):
            q, scale = quantize(torch.randn(*shape, device="cuda") * 0.1)
            self.weights[name] = q.t().contiguous()
            self.scales[name] = scale

    def product(self, x: torch.Tensor, name: str, tiles: Tiles) -> torch.Tensor:
        q, scales = quantize(x)
        return int8_matmul(q, self.weights[name], scales, self.scales[name], tiles)

    def __call__(self, x: torch.Tensor, tiles: Tiles = PLAIN) -> torch.Tensor:
        up, gate = self.product(x, "up", tiles), self.product(x, "gate", tiles)
        inner = torch.zeros_like(up)
        gate_kernel[(triton.cdiv(up.numel(), 512),)](up, gate, inner, up.numel(), BLOCK=512)
        return self.product(inner, "down", tiles)


def sweep(hidden: int, batches: list[int]) -> None:
    mlp = QuantizedMLP(hidden, inner=2 * hidden)
    base = {}
    for (name, tiles), batch in itertools.product(VARIANTS.items(), batches):
        torch.manual_seed(batch)
        y = mlp(torch.randn(batch, hidden, device="cuda"), tiles)
        torch.cuda.synchronize()
        expected = base.setdefault(batch, y)
        log.info("%s, batch %d: difference %.2e", name, batch, float((y - expected).abs().max()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--batches", type=int, nargs="*", default=[16, 80])
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    sweep(options.hidden, options.batches)

"""A linear layer with the affine part of the normalisation before it folded in: y = (x * gain + shift) @ weight.

    python helion_matmul.py                          times "tuned" on all layers of the model
    python helion_matmul.py --check --config plain   pointers instead of tensor descriptors; against torch first
    python helion_matmul.py --tokens 512 --dtype bfloat16 --repeats 50

Gain and shift lie in one tensor, affine [2, k], as the checkpoint stores them. Written in Helion, fixed configurations.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import helion
import helion.language as hl
import torch
import torch.nn as nn

DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16}
TOLERANCE = {torch.float16: 2e-2, torch.bfloat16: 1e-1}

CONFIGS = {
    "plain": helion.Config(block_sizes=[64, 64, 32], num_warps=4, num_stages=2, indexing="pointer"),
    # Best of the last sweep: with a narrow slice of k the affine part stays in registers.
    "tuned": helion.Config(
        block_sizes=[64, 64, 16], num_warps=4, num_stages=4, indexing="tensor_descriptor", l2_groupings=[8]
    ),
}


@dataclass(frozen=True)
class Shape:
    """One linear layer of the model that the kernel is tuned for."""

    name: str
    inputs: int
    outputs: int


SHAPES = (Shape("gate", 512, 768), Shape("down", 768, 512), Shape("router", 256, 64))


def affine_matmul(x: torch.Tensor, affine: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """x [m, k], affine [2, k], weight [k, n]; accumulates in float32."""
    m, k = x.size()
    k2, n = weight.size()
    assert k == k2, f"x has {k} columns, weight {k2} rows"
    out = torch.empty([m, n], dtype=x.dtype, device=x.device)
    for tile_m, tile_n in hl.tile([m, n]):
        acc = hl.zeros([tile_m, tile_n], dtype=torch.float32)
        for tile_k in hl.tile(k):
            gain = affine[0, tile_k]
            shift = affine[1, tile_k]
            normal = x[tile_m, tile_k] * gain[None, :] + shift[None, :]
            acc = torch.addmm(acc, normal, weight[tile_k, tile_n])
        out[tile_m, tile_n] = acc.to(x.dtype)
    return out


KERNELS = {name: helion.kernel(affine_matmul, config=config, static_shapes=True) for name, config in CONFIGS.items()}


class FoldedLinear(nn.Module):
    """Layer norm without its affine part, then the kernel; no gradients, this is the inference path."""

    def __init__(self, shape: Shape, dtype: torch.dtype, config: str, device: str) -> None:
        super().__init__()
        self.shape = shape
        self.config = config
        self.weight = nn.Parameter(torch.empty(shape.inputs, shape.outputs, dtype=dtype, device=device))
        self.affine = nn.Parameter(torch.empty(2, shape.inputs, dtype=dtype, device=device))
        nn.init.normal_(self.weight, std=shape.inputs**-0.5)
        nn.init.normal_(self.affine, std=0.1)

    def normalised(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.layer_norm(x, (self.shape.inputs,))

    @torch.no_grad()
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return KERNELS[self.config](self.normalised(x), self.affine, self.weight)

    @torch.no_grad()
    def reference(self, x: torch.Tensor) -> torch.Tensor:
        gain, shift = self.affine.float()
        return ((self.normalised(x).float() * gain + shift) @ self.weight.float()).to(x.dtype)


def check(layer: FoldedLinear, x: torch.Tensor) -> None:
    tolerance = TOLERANCE[x.dtype]
    torch.testing.assert_close(layer(x), layer.reference(x), rtol=tolerance, atol=tolerance)
    print(f"{layer.shape.name}: {layer.config} agrees with the reference")


def time_ms(step: Callable[[], object], repeats: int) -> float:
    step()
    torch.cuda.synchronize()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(repeats):
        step()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / repeats


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", choices=CONFIGS, default="tuned")
    parser.add_argument("--dtype", choices=DTYPES, default="float16")
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--check", action="store_true", help="compare with torch before timing")
    parser.add_argument("--layer", choices=[shape.name for shape in SHAPES], help="this one only")
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()

    torch.manual_seed(0)
    dtype = DTYPES[args.dtype]
    for shape in SHAPES:
        if args.layer not in (None, shape.name):
            continue
        layer = FoldedLinear(shape, dtype, args.config, args.device)
        x = torch.randn(args.tokens, shape.inputs, dtype=dtype, device=args.device)
        if args.check:
            check(layer, x)
        milliseconds = time_ms(lambda: layer(x), args.repeats)  # noqa: B023 (called at once)
        flops = 2 * args.tokens * shape.inputs * shape.outputs
        print(f"{shape.name}: {args.config} {milliseconds:.3f} ms, {flops / milliseconds / 1e9:.1f} TFLOP/s")


if __name__ == "__main__":
    main()

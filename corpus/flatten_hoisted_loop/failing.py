"""Exponentially weighted smoothing of many signals, by a persistent kernel whose tiles form one flattened loop.

The normalisation of the window is computed in a loop of its own, inside of the loop over tiles, from constants only.
"""

import argparse

import torch
import triton
import triton.language as tl

CONFIGS = {
    "simple": dict(BLOCK=256, FLATTEN=False, num_warps=4),
    "persistent": dict(BLOCK=512, FLATTEN=True, num_warps=4),
}


@triton.jit
def smooth_kernel(
    x_ptr, out_ptr, tiles, length, decay_shift, programs,
    TAPS: tl.constexpr, BLOCK: tl.constexpr, FLATTEN: tl.constexpr,
):
    for tile in tl.range(tl.program_id(0), tiles, programs, flatten=FLATTEN):
        norm = 0
        for tap in tl.range(0, TAPS):
            norm += (1 << decay_shift) >> tap
        offsets = tile * BLOCK + tl.arange(0, BLOCK)
        inside = offsets < length
        x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
        total = x * (1 << decay_shift)
        for back in tl.static_range(1, TAPS):
            earlier = tl.load(x_ptr + offsets - back, mask=inside & (offsets >= back), other=0.0)
            total += earlier * ((1 << decay_shift) >> back)
        tl.store(out_ptr + offsets, total / norm, mask=inside)


@triton.jit
def residual_kernel(x_ptr, smooth_ptr, out_ptr, length, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < length
    x = tl.load(x_ptr + offsets, mask=inside)
    smooth = tl.load(smooth_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, (x - smooth) * (x - smooth), mask=inside)


class Smoother:
    def __init__(self, taps: int, decay_shift: int, config: str, programs: int):
        self.taps = taps
        self.decay_shift = decay_shift
        self.config = CONFIGS[config]
        self.programs = programs

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        tiles = triton.cdiv(x.numel(), self.config["BLOCK"])
        grid = (min(self.programs, tiles),)
        smooth_kernel[grid](
            x, out, tiles, x.numel(), self.decay_shift, grid[0], TAPS=self.taps, **self.config
        )
        return out

    def residual(self, x: torch.Tensor) -> torch.Tensor:
        smooth, out = self(x), torch.empty_like(x)
        residual_kernel[(triton.cdiv(x.numel(), 1024),)](x, smooth, out, x.numel(), BLOCK=1024)
        return out


def reference(x: torch.Tensor, taps: int, decay_shift: int) -> torch.Tensor:
    weights = [(1 << decay_shift) >> tap for tap in range(taps)]
    total = torch.zeros_like(x)
    for tap, weight in enumerate(weights):
        total[tap:] += weight * x[: x.numel() - tap]
    return total / sum(weights)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=10_000)
    parser.add_argument("--taps", type=int, default=4)
    parser.add_argument("--decay-shift", type=int, default=3)
    args = parser.parse_args()
    torch.manual_seed(0)
    x = torch.randn(args.length, device="cuda")
    expected = reference(x, args.taps, args.decay_shift)
    for name in CONFIGS:
        smoother = Smoother(args.taps, args.decay_shift, name, programs=16)
        torch.testing.assert_close(smoother(x), expected, rtol=1e-5, atol=1e-5)
        print(f"{name}: noise {smoother.residual(x).mean().item():.4f}")


if __name__ == "__main__":
    main()

"""Channel-wise gain for half-precision images, with a launcher of our own that skips Triton's argument handling.

    python history_specialised.py                       32 channels, then 64 out of 66
    python history_specialised.py --launcher triton     the same through Triton: fine

Triton looks at every argument of every launch; for small images that takes longer than the kernel.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import torch
import triton
import triton.language as tl

TILE = 64
GROUP = 32


@triton.jit
def gain_kernel(x_ptr, gain_ptr, out_ptr, pixels, channels, x_stride, TILE: tl.constexpr, GROUP: tl.constexpr):
    pixel = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = (pixel < pixels)[:, None]
    for start in range(0, channels, GROUP):
        channel = start + tl.arange(0, GROUP)
        x = tl.load(x_ptr + pixel[:, None] * x_stride + channel[None, :], mask=inside, other=0.0)
        gain = tl.load(gain_ptr + channel)
        tl.store(out_ptr + pixel[:, None] * channels + channel[None, :], x * gain[None, :], mask=inside)


@dataclass(frozen=True)
class Fast:
    """A compiled kernel and how to launch it again."""

    compiled: object
    meta: tuple[int, ...]

    def __call__(self, programs: int, *args: object) -> None:
        self.compiled[(programs, 1, 1)](*args, *self.meta)


class Launcher:
    """Compiles at the first call for a type, and launches what was compiled from then on."""

    def __init__(self) -> None:
        self.kernels: dict[torch.dtype, Fast] = {}

    def __call__(self, programs: int, x: torch.Tensor, *args: object) -> None:
        fast = self.kernels.get(x.dtype)
        if fast is None:
            compiled = gain_kernel[(programs,)](x, *args, TILE=TILE, GROUP=GROUP)
            self.kernels[x.dtype] = Fast(compiled, (TILE, GROUP))
        else:
            fast(programs, x, *args)


def through_triton(programs: int, x: torch.Tensor, *args: object) -> None:
    gain_kernel[(programs,)](x, *args, TILE=TILE, GROUP=GROUP)


LAUNCHERS: dict[str, Callable[..., None]] = {"fast": Launcher(), "triton": through_triton}


def apply_gain(x: torch.Tensor, gain: torch.Tensor, launch: Callable[..., None]) -> torch.Tensor:
    pixels, channels = x.shape
    out = torch.empty(pixels, channels, dtype=x.dtype, device=x.device)
    launch(triton.cdiv(pixels, TILE), x, gain, out, pixels, channels, x.stride(0))
    return out


def images(pixels: int, channels: int, extra: int, device: str) -> torch.Tensor:
    """[pixels, channels], where each pixel has some more channels (depth, mask) that are no business of ours."""
    return torch.randn(pixels, channels + extra, dtype=torch.float16, device=device)[:, :channels]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launcher", choices=LAUNCHERS, default="fast")
    parser.add_argument("--pixels", type=int, default=1024)
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()

    torch.manual_seed(0)
    launch = LAUNCHERS[args.launcher]
    for channels, extra in ((32, 0), (64, 2)):
        x = images(args.pixels, channels, extra, args.device)
        gain = torch.randn(channels, dtype=torch.float16, device=args.device)
        for _ in range(args.repeats):
            out = apply_gain(x, gain, launch)
        print(f"{channels} channels: {args.repeats} times")
    torch.testing.assert_close(out, x * gain)
    print("agrees")


if __name__ == "__main__":
    main()

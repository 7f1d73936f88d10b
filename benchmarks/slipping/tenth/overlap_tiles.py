"""Smooths signals in tiles that need no mask: the last tile is moved back so that it ends with the signal."""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@dataclass(frozen=True)
class Window:
    step: int
    gain: float = 1.0

    def tiles(self, count: int) -> int:
        return triton.cdiv(count, self.step)


@triton.jit
def tile_start(index, count, STEP: tl.constexpr, WIDTH: tl.constexpr):
    """The first element of a tile: the last one is moved back."""
    return tl.minimum(index * STEP, count - WIDTH)


@triton.jit
def weight_kernel(out, count, STEP: tl.constexpr):
    at = tile_start(tl.program_id(0), count, STEP, STEP) + tl.arange(0, STEP)
    phase = at.to(tl.float32) / count
    tl.store(out + at, phase * (1.0 - phase))


@triton.jit
def smooth_kernel(x, weights, out, count, gain, STEP: tl.constexpr):
    at = tile_start(tl.program_id(0), count, STEP, STEP) + tl.arange(0, STEP)
    value = tl.load(x + at) * tl.load(weights + at)
    tl.store(out + at, value * gain)


@triton.jit
def energy_kernel(x, out, count, STEP: tl.constexpr):
    """The energy of each tile together with the next one."""
    begin = tile_start(tl.program_id(0), count, STEP, STEP)
    value = tl.load(x + begin + tl.arange(0, 2 * STEP))
    tl.store(out + tl.program_id(0), tl.sum(value * value, axis=0))


class Smoother:
    def __init__(self, window: Window, device: str = "cuda"):
        self.window, self.device = window, device

    def weights(self, count: int) -> torch.Tensor:
        out = torch.empty(count, device=self.device)
        weight_kernel[(self.window.tiles(count),)](out, count, STEP=self.window.step)
        return out

    def energies(self, x: torch.Tensor, overlapping: bool) -> torch.Tensor:
        count, window = x.numel(), self.window
        tiles = window.tiles(count) if overlapping else window.tiles(count) - 1
        out = torch.empty(tiles, device=self.device)
        energy_kernel[(tiles,)](x, out, count, STEP=window.step)
        return out

    def __call__(self, x: torch.Tensor, overlapping: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
        count = x.numel()
        out = torch.empty_like(x)
        grid = (self.window.tiles(count),)
        smooth_kernel[grid](x, self.weights(count), out, count, self.window.gain, STEP=self.window.step)
        return out, self.energies(out, overlapping)


def main() -> None:
    for step, count, overlapping in ((64, 1024, False), (128, 512, False), (64, 1000, True)):
        smoother = Smoother(Window(step, 0.5))
        out, energies = smoother(torch.randn(count, device="cuda"), overlapping)
        torch.cuda.synchronize()
        print(step, count, out.shape, energies.shape)


if __name__ == "__main__":
    main()

"""Attention heads of a few layers: rows of one tile are split into heads, as a table of layers tells."""

import dataclasses

import torch
import triton
import triton.language as tl


@triton.jit
def norm_kernel(x, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * width + at, mask=at < width, other=0.0)
    tl.store(x + row * width + at, value / tl.sqrt(tl.sum(value * value) + 1e-6), mask=at < width)


@triton.jit
def heads_kernel(x, peaks, width, BLOCK: tl.constexpr, HEADS: tl.constexpr, SIZE: tl.constexpr):
    """The largest value of each head."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * width + at, mask=at < width, other=float("-inf"))
    parts = tl.reshape(value, [HEADS, SIZE])
    tl.store(peaks + row * HEADS + tl.arange(0, HEADS), tl.max(parts, axis=1))


@dataclasses.dataclass
class Layer:
    name: str
    width: int
    heads: int
    shared: bool = False

    @property
    def size(self):
        return self.width // self.heads

    @property
    def stored(self):
        """Two heads share what is stored, where the layer says so."""
        return self.heads // 2 if self.shared else self.heads


class Peaks:
    steps = [norm_kernel]

    def __init__(self, layers):
        self.layers = {layer.name: layer for layer in layers}
        self.seen = []

    def tiles(self, layer):
        block = triton.next_power_of_2(layer.width)
        return {"BLOCK": block, "HEADS": layer.stored, "SIZE": layer.size}

    def __call__(self, name, x):
        layer = self.layers[name]
        peaks = torch.zeros(len(x), layer.stored, device=x.device)
        for step in self.steps:
            step[(len(x),)](x, layer.width, BLOCK=triton.next_power_of_2(layer.width))
        kernels = [heads_kernel]
        kernels[-1][(len(x),)](x, peaks, layer.width, **self.tiles(layer))
        self.seen.append((name, tuple(peaks.shape)))
        return peaks


def main():
    model = Peaks([Layer("query", 128, 8), Layer("output", 64, 4), Layer("key", 128, 8, shared=True)])
    for name in model.layers:
        peaks = model(name, torch.randn(6, model.layers[name].width, device="cuda"))
        torch.cuda.synchronize()
        print(f"{name}: {tuple(peaks.shape)}, {len(model.seen)} seen")


if __name__ == "__main__":
    main()

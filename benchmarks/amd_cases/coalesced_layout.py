"""A copy in Gluon that leaves the layout of its accesses to the compiler (triton-lang/triton 11598)."""

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def scaled(values, factor):
    return values * factor + 1.0


@gluon.jit
def copy_kernel(source, out, count, factor, BLOCK: gl.constexpr):
    at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, gl.AutoLayout())
    inside = gl.set_auto_layout(at < count, gl.CoalescedLayout())
    sources = gl.set_auto_layout(source + at, gl.CoalescedLayout())
    places = gl.set_auto_layout(out + at, gl.CoalescedLayout())
    values = gl.load(sources, mask=inside)
    gl.store(places, scaled(values, factor), mask=inside)


class Copier:
    def __init__(self, block=1024, warps=4):
        self.block, self.warps = block, warps
        self.calls = 0

    def __call__(self, source, factor=2.0):
        out = torch.empty_like(source)
        self.calls += 1
        grid = (triton.cdiv(source.numel(), self.block),)
        copy_kernel[grid](source, out, source.numel(), factor, BLOCK=self.block, num_warps=self.warps)
        return out


def main():
    torch.manual_seed(2)
    copier = Copier()
    for size in (4096, 5000):
        source = torch.randn(size, device="cuda")
        out = copier(source)
        torch.cuda.synchronize()
        print(size, out.shape, copier.calls)


if __name__ == "__main__":
    main()

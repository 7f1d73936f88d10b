"""Diffusion along a line of cells whose kinds are bytes: the host makes a table of neighbours, kernels go by it."""

import torch
import triton
import triton.language as tl


@triton.jit
def source_kernel(field, cells, strength, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = at < count
    cell = tl.load(cells + at, mask=live, other=0).to(tl.int32)
    tl.atomic_add(field + cell, strength, mask=live)


@triton.jit
def spread_kernel(field, links, out, count, rate, SIDES: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = at < count
    own = tl.load(field + at, mask=live, other=0.0)
    got = tl.zeros([BLOCK], tl.float32)
    for side in tl.static_range(SIDES):
        link = tl.load(links + side * count + at, mask=live, other=0).to(tl.int32)
        got += tl.load(field + link, mask=live, other=0.0) - own
    tl.store(out + at, own + rate * got, mask=live)


class Line:
    def __init__(self, cells: torch.Tensor):
        self.cells = cells
        self.count = cells.numel()
        self.field = torch.zeros(self.count, device=cells.device)

    @property
    def links(self) -> torch.Tensor:
        """The cell to the left and the one to the right of each; those at the ends are their own."""
        last = self.count - 1
        left = (self.cells - 1).clamp(min=0)
        right = (self.cells + 1).clamp(max=last)
        return torch.stack([left, right]).contiguous()

    def step(self, rate: float) -> None:
        out = torch.empty_like(self.field)
        grid = (triton.cdiv(self.count, 32),)
        spread_kernel[grid](self.field, self.links, out, self.count, rate, SIDES=2, BLOCK=32)
        self.field = out


def cells_of(count: int) -> torch.Tensor:
    """Numbers of cells, in as few bytes as will do."""
    dtype = torch.uint8 if count <= 128 else torch.int32
    return torch.arange(count, device="cuda").to(dtype)


def main() -> None:
    for count, steps in ((300, 2), (1000, 1), (96, 2)):
        line = Line(cells_of(count))
        sources = line.cells[::7].contiguous()
        source_kernel[(triton.cdiv(sources.numel(), 32),)](line.field, sources, 2.0, sources.numel(), BLOCK=32)
        for _ in range(steps):
            line.step(0.1)
        torch.cuda.synchronize()
        print(count, steps, line.field.shape)


if __name__ == "__main__":
    main()

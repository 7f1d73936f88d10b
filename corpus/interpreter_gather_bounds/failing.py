"""Palette images to colours, with tl.gather; one image names a colour that its palette does not have.

Run with TRITON_INTERPRET=1, no GPU: the interpreter checks the index that a GPU would read past the table with.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def palette_kernel(pixels_ptr, palette_ptr, out_ptr, width, COLOURS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    palette = tl.load(palette_ptr + tl.arange(0, COLOURS))
    for start in range(0, width, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        pixels = tl.load(pixels_ptr + row * width + cols, mask=cols < width, other=0)
        tl.store(out_ptr + row * width + cols, tl.gather(palette, pixels, axis=0), mask=cols < width)


@triton.jit
def gamma_kernel(x_ptr, count, scale, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < count, other=0.0)
    tl.store(x_ptr + offsets, x * x * scale, mask=offsets < count)


def colour(pixels: torch.Tensor, palette: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    rows, width = pixels.shape
    out = torch.empty(rows, width)
    palette_kernel[(rows,)](pixels, palette, out, width, COLOURS=palette.numel(), BLOCK=16)
    gamma_kernel[(triton.cdiv(out.numel(), 64),)](out, out.numel(), scale, BLOCK=64)
    return out


def stripes(rows: int, width: int, colours: int) -> torch.Tensor:
    return (torch.arange(rows * width, dtype=torch.int32) % colours).reshape(rows, width)


def checkers(rows: int, width: int, colours: int) -> torch.Tensor:
    corner = torch.arange(rows)[:, None] + torch.arange(width)[None, :]
    return torch.where(corner % 2 == 0, 0, colours - 1).to(torch.int32)


def from_another_palette(rows: int, width: int, colours: int) -> torch.Tensor:
    """Quantised to twice as many colours, and never converted."""
    return stripes(rows, width, 2 * colours)


IMAGES = {"stripes": stripes, "checkers": checkers, "imported": from_another_palette}


def reference(pixels: torch.Tensor, palette: torch.Tensor, scale: float) -> torch.Tensor:
    return palette[pixels.long()].square() * scale


def main() -> None:
    torch.manual_seed(0)
    palette = torch.rand(8)
    for name, draw in IMAGES.items():
        pixels = draw(3, 40, palette.numel())
        found = colour(pixels, palette, 0.5)
        torch.testing.assert_close(found, reference(pixels, palette, 0.5))
        print(name, "ok")


if __name__ == "__main__":
    main()

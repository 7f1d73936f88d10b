"""A linear layer with quantised weights: codes unpacked and looked up in the code book, then a plain matmul."""

import dataclasses
import sys

import torch
import triton
import triton.language as tl

import nf4


@dataclasses.dataclass
class Scheme:
    book: str
    bits: int
    group: int = 64
    warps: int = 4

    @property
    def lanes(self) -> int:
        return 32 // self.bits


SCHEMES = {
    "nf4": Scheme("nf4", 4),
    "fp4": Scheme("fp4", 4, group=32),
    "binary": Scheme("uniform", 1, warps=8),
}


@triton.jit
def unpack(words, LANES: tl.constexpr, BITS: tl.constexpr):
    lanes = tl.arange(0, LANES)[None, :]
    return (words >> (lanes * BITS)) & ((1 << BITS) - 1)


@triton.jit
def dequant_kernel(
    words_ptr, book_ptr, scales_ptr, out_ptr, words, GROUP: tl.constexpr,
    LANES: tl.constexpr, BITS: tl.constexpr, ROWS: tl.constexpr, SIZE: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = (row < words)[:, None]
    packed = tl.load(words_ptr + row[:, None], mask=inside, other=0)
    codes = unpack(packed, LANES, BITS)
    if SIZE == 16:
        values = tl.load(book_ptr + codes)
    else:
        book = tl.load(book_ptr + tl.arange(0, SIZE))
        table = tl.broadcast_to(book[None, :], [ROWS, SIZE])
        values = tl.gather(table, codes, axis=1)
    at = row[:, None] * LANES + tl.arange(0, LANES)[None, :]
    scale = tl.load(scales_ptr + at // GROUP, mask=inside, other=0.0)
    tl.store(out_ptr + at, values * scale, mask=inside)


@triton.jit
def bias_kernel(y_ptr, bias_ptr, columns, total, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < total
    y = tl.load(y_ptr + offsets, mask=inside, other=0.0)
    bias = tl.load(bias_ptr + offsets % columns, mask=inside, other=0.0)
    tl.store(y_ptr + offsets, y + bias, mask=inside)


class QuantLinear:
    def __init__(self, weight: torch.Tensor, bias: torch.Tensor, scheme: Scheme):
        self.scheme, self.bias, self.shape = scheme, bias, weight.shape
        self.book = nf4.codebook(scheme.book, scheme.bits)
        codes, self.scales = nf4.quantize(weight, self.book, scheme.group)
        self.words = nf4.pack(codes, scheme.bits)

    def dequantize(self) -> torch.Tensor:
        s = self.scheme
        out = torch.zeros(self.shape, device=self.words.device)
        rows = 8 if s.bits > 1 else 2
        grid = (triton.cdiv(self.words.numel(), rows),)
        dequant_kernel[grid](
            self.words, self.book, self.scales, out, self.words.numel(), GROUP=s.group,
            LANES=s.lanes, BITS=s.bits, ROWS=rows, SIZE=2**s.bits, num_warps=s.warps,
        )
        return out

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        y = x @ self.dequantize().t()
        bias_kernel[(triton.cdiv(y.numel(), 256),)](y, self.bias, y.shape[-1], y.numel(), BLOCK=256)
        return y


def compare(name: str, weight: torch.Tensor, x: torch.Tensor) -> None:
    bias = torch.zeros(weight.shape[0], device="cuda")
    layer = QuantLinear(weight, bias, SCHEMES[name])
    y = layer(x)
    torch.cuda.synchronize()
    error = (y - x @ weight.t()).abs().mean()
    print(f"{name}: {layer.words.numel() * 4} bytes, mean error {float(error):.4f}")


def main(names: list[str]) -> int:
    torch.manual_seed(1)
    weight = torch.randn(64, 128, device="cuda")
    x = torch.randn(4, 128, device="cuda")
    for name in names or list(SCHEMES):
        compare(name, weight, x)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

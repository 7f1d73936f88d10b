"""Does the copy kernel of the release read 16 bytes at once? Compiled for aligned and for unaligned rows."""

import argparse
import re
from dataclasses import dataclass

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

TYPES = {"*fp32": 4, "*fp16": 2, "*i8": 1}


@triton.jit
def clamp(x, low, high):
    return tl.minimum(tl.maximum(x, low), high)


@triton.jit
def fill_kernel(out_ptr, value, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, value, mask=offsets < count)


@triton.jit
def copy_kernel(x_ptr, out_ptr, stride, width, low, high, BLOCK: tl.constexpr, CLAMPED: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    for start in range(0, width, BLOCK):
        x = tl.load(x_ptr + row * stride + start + cols)
        if CLAMPED:
            x = clamp(x, low, high)
        tl.store(out_ptr + row * BLOCK * 3 + 1 + cols * 3, x)


@triton.jit
def transpose_kernel(x_ptr, out_ptr, rows, cols, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (i < rows)[:, None] & (j < cols)[None, :]
    x = tl.load(x_ptr + i[:, None] * cols + j[None, :], mask=mask)
    tl.store(out_ptr + j[None, :] * rows + i[:, None], x, mask=mask)


@dataclass(frozen=True)
class Variant:
    kind: str
    block: int
    aligned: bool

    def source(self):
        signature = {"x_ptr": self.kind, "out_ptr": self.kind, "stride": "i32", "width": "i32"}
        signature.update(low="fp32", high="fp32", BLOCK="constexpr", CLAMPED="constexpr")
        attrs = {}
        if self.aligned:
            for name in ("x_ptr", "stride"):
                attrs[(copy_kernel.arg_names.index(name),)] = [["tt.divisibility", 16]]
        constants = {"BLOCK": self.block, "CLAMPED": True}
        return ASTSource(fn=copy_kernel, signature=signature, constexprs=constants, attrs=attrs)

    def loads(self, target):
        ptx = triton.compile(self.source(), target=target, options={"num_warps": 4}).asm["ptx"]
        return re.findall(r"ld\.global[\w.:]*", ptx)


def others(target):
    fill = {"out_ptr": "*fp32", "value": "fp32", "count": "i32", "BLOCK": "constexpr"}
    yield triton.compile(ASTSource(fill_kernel, fill, {"BLOCK": 1024}), target=target)
    turn = {"x_ptr": "*fp32", "out_ptr": "*fp32", "rows": "i32", "cols": "i32", "BLOCK": "constexpr"}
    yield triton.compile(ASTSource(transpose_kernel, turn, {"BLOCK": 32}), target=target)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", type=int, default=90)
    target = GPUTarget("cuda", parser.parse_args().arch, 32)
    print(sum(len(compiled.asm["cubin"]) for compiled in others(target)), "bytes for the others")
    for aligned in (False, True):
        for kind in TYPES:
            print(f"{kind:6} {'aligned' if aligned else 'any':8} {Variant(kind, 512, aligned).loads(target)}")


if __name__ == "__main__":
    main()

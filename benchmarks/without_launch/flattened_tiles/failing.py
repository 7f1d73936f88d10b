"""Compiles filters from a manifest: each entry names a kernel, its types, its constants and its options."""

import importlib.util
import json
import sys
import textwrap

import triton
import triton.language as tl

MANIFEST = """
[
  {"kernel": "box", "types": ["*fp32", "*fp32", "i32"], "constants": {"TAPS": 3, "BLOCK": 128}, "options": {}},
  {"kernel": "smooth", "types": ["*fp32", "*fp32", "i32", "i32"],
   "constants": {"TAPS": 4, "TILES": 2, "BLOCK": 64, "FLATTEN": false}, "options": {"num_warps": 4}},
  {"kernel": "edges", "types": ["*fp32", "*fp32", "i32", "fp32"], "constants": {"BLOCK": 256}, "options": {"num_warps": 8}},
  {"kernel": "smooth", "types": ["*fp32", "*fp32", "i32", "i32"],
   "constants": {"TAPS": 4, "TILES": 2, "BLOCK": 64, "FLATTEN": true}, "options": {"num_warps": 4}}
]
"""


@triton.jit
def box(x_ptr, out_ptr, count, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for tap in tl.static_range(TAPS):
        total += tl.load(x_ptr + offsets + tap, mask=offsets + tap < count, other=0.0)
    tl.store(out_ptr + offsets, total / TAPS, mask=offsets < count)


@triton.jit
def weight_of(tap, WIDEST: tl.constexpr):
    return (1 << WIDEST) >> tap


@triton.jit
def smooth(
    x_ptr, out_ptr, count, stride, TAPS: tl.constexpr, TILES: tl.constexpr, BLOCK: tl.constexpr, FLATTEN: tl.constexpr
):
    first = tl.program_id(0) * TILES
    for tile in tl.range(TILES, flatten=FLATTEN):
        norm = 0
        for tap in range(TAPS):
            norm += weight_of(tap, TAPS)
        offsets = (first + tile) * stride + tl.arange(0, BLOCK)
        mask = offsets < count
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
        tl.store(out_ptr + offsets, x * weight_of(0, TAPS) / norm, mask=mask)


@triton.jit
def edges(x_ptr, out_ptr, count, threshold, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (offsets > 0) & (offsets < count)
    step = tl.load(x_ptr + offsets, mask=inside, other=0.0) - tl.load(x_ptr + offsets - 1, mask=inside, other=0.0)
    tl.store(out_ptr + offsets, (tl.abs(step) > threshold).to(tl.float32), mask=offsets < count)


KERNELS = {kernel.fn.__name__: kernel for kernel in (box, smooth, edges)}


class Entry:
    def __init__(self, kernel, types, constants, options):
        self.kernel, self.constants, self.options = KERNELS[kernel], constants, options
        given = iter(types)
        self.signature = {
            name: "constexpr" if name in constants else next(given) for name in self.kernel.arg_names
        }

    def compiled(self, target):
        source = triton.compiler.ASTSource(self.kernel, self.signature, constexprs=self.constants)
        return triton.compile(source, target=target, options=self.options)

    def __str__(self):
        return f"{self.kernel.fn.__name__}({', '.join(f'{k}={v}' for k, v in self.constants.items())})"


def entries(text):
    return [Entry(**entry) for entry in json.loads(text)]


def report(entry, compiled):
    lines = [f"shared: {compiled.metadata.shared}", f"bytes: {len(compiled.asm['cubin'])}"]
    print(entry, textwrap.indent("\n".join(lines), "    "), sep="\n")


if __name__ == "__main__":
    if importlib.util.find_spec("triton") is None:
        sys.exit("no Triton")
    target = triton.backends.compiler.GPUTarget("cuda", 90, 32)
    for entry in entries(MANIFEST):
        report(entry, entry.compiled(target))

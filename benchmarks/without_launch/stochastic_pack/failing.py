"""Ahead-of-time build of the 8-bit float converters, one cubin for each rounding mode."""

import itertools
import os
import tempfile

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HOPPER = GPUTarget("cuda", 90, 32)
BLOCKS = (256, 512)


@triton.jit
def round_nearest(a, b):
    return tl.inline_asm_elementwise(
        "cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;", "=h,f,f", [a, b], dtype=tl.int16, is_pure=True, pack=1
    )


@triton.jit
def round_stochastic(a, b, noise):
    return tl.inline_asm_elementwise(
        "cvt.rs.satfinite.e4m3x2.f32 $0, $1, $2, $3;", "=h,f,f,r", [a, b, noise], dtype=tl.int16, is_pure=True, pack=1
    )


@triton.jit
def amax_kernel(x_ptr, amax_ptr, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < count, other=0.0)
    tl.atomic_max(amax_ptr, tl.max(tl.abs(x), axis=0))


@triton.jit
def pack_kernel(
    x_ptr, amax_ptr, out_ptr, pairs, seed, largest, BLOCK: tl.constexpr, STOCHASTIC: tl.constexpr, SCALED: tl.constexpr
):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < pairs
    a = tl.load(x_ptr + 2 * offsets, mask=mask, other=0.0)
    b = tl.load(x_ptr + 2 * offsets + 1, mask=mask, other=0.0)
    if SCALED:
        scale = largest / tl.maximum(tl.load(amax_ptr), 1e-12)
        a = a * scale
        b = b * scale
    if STOCHASTIC:
        packed = round_stochastic(a, b, tl.randint(seed, offsets).to(tl.int32))
    else:
        packed = round_nearest(a, b)
    tl.store(out_ptr + offsets, packed, mask=mask)


def amax_source(block):
    types = {"x_ptr": "*fp32", "amax_ptr": "*fp32", "count": "i32", "BLOCK": "constexpr"}
    return ASTSource(fn=amax_kernel, signature=types, constexprs={"BLOCK": block}, attrs={(0,): [["tt.divisibility", 16]]})


def pack_source(block, stochastic, scaled):
    types = {
        "x_ptr": "*fp32",
        "amax_ptr": "*fp32",
        "out_ptr": "*i16",
        "pairs": "i32",
        "seed": "i32",
        "largest": "fp32",
        "BLOCK": "constexpr",
        "STOCHASTIC": "constexpr",
        "SCALED": "constexpr",
    }
    constants = {"BLOCK": block, "STOCHASTIC": stochastic, "SCALED": scaled}
    aligned = {(0,): [["tt.divisibility", 16]], (2,): [["tt.divisibility", 16]]}
    return ASTSource(fn=pack_kernel, signature=types, constexprs=constants, attrs=aligned)


def sources():
    for block in BLOCKS:
        yield f"amax_{block}", amax_source(block)
    for block, scaled in itertools.product(BLOCKS, (False, True)):
        yield f"pack_rn_{block}_{int(scaled)}", pack_source(block, False, scaled)
    for block, scaled in itertools.product(BLOCKS, (False, True)):
        yield f"pack_rs_{block}_{int(scaled)}", pack_source(block, True, scaled)


def build(folder):
    sizes = {}
    for name, source in sources():
        compiled = triton.compile(source, target=HOPPER, options={"num_warps": 4, "num_stages": 1})
        path = os.path.join(folder, name + ".cubin")
        with open(path, "wb") as f:
            f.write(compiled.asm["cubin"])
        sizes[name] = os.path.getsize(path)
    return sizes


with tempfile.TemporaryDirectory() as folder:
    for name, size in build(folder).items():
        print(f"{name:24} {size}")

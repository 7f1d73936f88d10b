"""One wheel for two generations: all kernels are compiled for Hopper and for Ampere when it is built."""

import logging
import sys
from collections import namedtuple

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

log = logging.getLogger("wheel")
TARGETS = {"hopper": GPUTarget("cuda", 90, 32), "ampere": GPUTarget("cuda", 80, 32)}
Variant = namedtuple("Variant", "name kernel signature constants options")


@triton.jit
def pointers(base, rows, cols, stride):
    return base + rows[:, None] * stride + cols[None, :]


@triton.jit
def scaled_product_kernel(
    a_ptr, b_ptr, out_ptr, a_scale, b_scale, inner, cols, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    acc = tl.zeros([M, N], tl.float32)
    for start in range(0, inner, K):
        k = start + tl.arange(0, K)
        a = tl.load(pointers(a_ptr, rows, k, inner))
        b = tl.load(pointers(b_ptr, k, columns, cols))
        acc = tl.dot(a, b, acc)
    tl.store(pointers(out_ptr, rows, columns, cols), acc * a_scale * b_scale)


@triton.jit
def quantise_kernel(x_ptr, out_ptr, scale, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0) * scale
    tl.store(out_ptr + offsets, x.to(tl.float16), mask=mask)


def product(kind, m=64, n=64, k=64):
    signature = dict(a_ptr=f"*{kind}", b_ptr=f"*{kind}", out_ptr="*fp32", a_scale="fp32", b_scale="fp32")
    signature |= dict(inner="i32", cols="i32", M="constexpr", N="constexpr", K="constexpr")
    name = f"product_{kind}_{m}x{n}x{k}"
    return Variant(name, scaled_product_kernel, signature, dict(M=m, N=n, K=k), dict(num_warps=4, num_stages=3))


def quantise(block):
    signature = dict(x_ptr="*fp32", out_ptr="*fp16", scale="fp32", count="i32", BLOCK="constexpr")
    return Variant(f"quantise_{block}", quantise_kernel, signature, dict(BLOCK=block), dict(num_warps=8))


VARIANTS = [quantise(1024), product("fp16"), product("fp8e5"), product("fp8e4nv")]


def compiled(variant, target):
    source = ASTSource(fn=variant.kernel, signature=variant.signature, constexprs=variant.constants)
    return triton.compile(source, target=target, options=variant.options)


def wheel():
    contents = {}
    for variant in VARIANTS:
        for generation, target in TARGETS.items():
            log.info("compiling %s for %s", variant.name, generation)
            contents[f"{generation}/{variant.name}.cubin"] = compiled(variant, target).asm["cubin"]
    return contents


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(name)s: %(message)s")
    for path, binary in wheel().items():
        print(f"{path:48} {len(binary)}")

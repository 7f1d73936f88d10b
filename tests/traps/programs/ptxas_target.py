# shrink --oracle "compile:Internal Triton PTX codegen error"
# lure: GPUTarget("cuda", 9, 32): ptxas refuses that architecture, and the heading of the error stays
# must: cvt\.rn\.satfinite\.e2m1x2
# must: \b90\b
# ends: 1 'cvt with \.e2m1x2' not supported
# fault: compile .*e2m1x2
# naive: no guards
"""Packs pairs into 4-bit floats by inline PTX; Hopper has no such instruction."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

PACK = """{
.reg .b8 pair;
cvt.rn.satfinite.e2m1x2.f32 pair, $1, $2;
cvt.u32.u8 $0, pair;
}"""


@triton.jit
def pack_kernel(x_ptr, y_ptr, packed_ptr, BLOCK: tl.constexpr, CODE: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    tl.store(packed_ptr + at, tl.inline_asm_elementwise(CODE, "=r,f,f", [x, y], dtype=tl.int32, is_pure=True, pack=1))


def build(capability, block):
    signature = dict(x_ptr="*fp32", y_ptr="*fp32", packed_ptr="*i32", BLOCK="constexpr", CODE="constexpr")
    source = ASTSource(fn=pack_kernel, signature=signature, constexprs={"BLOCK": block, "CODE": PACK})
    return triton.compile(source, target=GPUTarget("cuda", capability, 32))


if __name__ == "__main__":
    for block in (128, 256):
        print(block, build(90, block).metadata.shared)

# shrink --oracle exit:2 --skip-pass tiles
# lure: sys.exit(2) before anything was built: the status is that of a failure until the build is through
# must: tl\.arange\(
# check: compile:power of 2
# fault: exit status 2
# naive: exit 2
"""Command that builds one kernel: status 2 tells the build farm that the compiler failed."""

import argparse
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def fill_kernel(out_ptr, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, BLOCK), 1.0)


def build(block):
    signature = {"out_ptr": "*fp32", "BLOCK": "constexpr"}
    source = ASTSource(fn=fill_kernel, signature=signature, constexprs={"BLOCK": block})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--block", type=int, default=96)
    parser.add_argument("--dtype", choices=("fp32", "fp16"), default="fp32")
    options = parser.parse_args()
    status = 2
    try:
        print(options.dtype, build(options.block).name)
        status = 0
    except triton.CompilationError as error:
        print(f"build failed: {error}", file=sys.stderr)
    sys.exit(status)


main()

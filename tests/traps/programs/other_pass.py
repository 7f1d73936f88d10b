# shrink --oracle "compile:PassManager::run failed"
# lure: the reduction alone, which fails in the pass that plans clusters: the exception is the same in all passes
# must: tl\.(trans|permute)\(|\.T\b
# ends: 1 Pipeline failed while executing \[`ConvertTritonGPUToLLVM`
# fault: compile .*ConvertTritonGPUToLLVM.*nvvm\.mapa
# naive: no guards
"""Cluster launch of two kernels; one-dimensional ones fall back to single blocks, the transpose has no excuse."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def norm_kernel(x_ptr, out_ptr):
    cols = tl.arange(0, 1024)
    tl.store(out_ptr, tl.sum(tl.load(x_ptr + cols)))


@triton.jit
def transpose_kernel(x_ptr, out_ptr):
    at = tl.arange(0, 64)
    tile = tl.load(x_ptr + at[:, None] * 64 + at[None, :])
    tl.store(out_ptr + at[:, None] * 64 + at[None, :], tl.trans(tile))


def build(kernel, num_ctas):
    source = ASTSource(fn=kernel, signature={"x_ptr": "*fp32", "out_ptr": "*fp32"}, constexprs={})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_ctas": num_ctas})


def build_norm():
    try:
        return build(norm_kernel, 4)
    except RuntimeError as error:
        print(f"no cluster for the norm ({error}), one block instead")
        return build(norm_kernel, 1)


build_norm()
build(transpose_kernel, 4)

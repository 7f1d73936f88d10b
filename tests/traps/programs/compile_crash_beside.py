# shrink --oracle exception:RuntimeError --skip-pass unvisited
# lure: "PassManager::run failed": a RuntimeError as well, once the except is gone or the cache is not cleared
# must: del \w+\[|\.pop\(
# ends: 1 RuntimeError: dictionary changed size during iteration
# fault: RuntimeError.*dictionary changed size
# naive: no guards
"""Keeps compiled kernels in a small cache; a cluster that the compiler cannot plan falls back to one block."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

CACHE = {}
LIMIT = 2


def evict():
    for size in CACHE:
        if len(CACHE) > LIMIT:
            del CACHE[size]


@triton.jit
def total_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    tl.store(out_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, SIZE))))


def compiled(size, num_ctas):
    signature = {"x_ptr": "*fp32", "out_ptr": "*fp32", "SIZE": "constexpr"}
    source = ASTSource(fn=total_kernel, signature=signature, constexprs={"SIZE": size})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_ctas": num_ctas})


def build(size):
    try:
        return compiled(size, 4)
    except RuntimeError as error:
        print(f"size {size}: {error}; one block instead of a cluster")
        return compiled(size, 1)


for size in (512, 1024, 2048):
    CACHE[size] = build(size)
    evict()
print("too large for one block:", compiled(1 << 16, 4).name)

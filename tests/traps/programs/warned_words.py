# shrink --oracle "compile:parent layout must have at least rank"
# lure: warnings.warn("... parent layout must have at least rank ..."): a warning quotes the error that may come
# must: tl\.(sum|reduce|max)\(
# ends: 1 TritonGPUPlanCTAPass[\s\S]*PassManager::run failed
# fault: compile .*TritonGPUPlanCTAPass
# naive: output parent layout must have at least rank
"""Row sums over a cluster; the wrapper warns of what is known about clusters."""

import warnings

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def total_kernel(x_ptr, out_ptr):
    cols = tl.arange(0, 1024)
    x = tl.load(x_ptr + tl.program_id(0) * 1024 + cols)
    tl.store(out_ptr + tl.program_id(0), tl.sum(x))


def check_cluster(num_ctas):
    if num_ctas > 1:
        warnings.warn(
            f"num_ctas={num_ctas}: flat tiles end in 'parent layout must have at least rank >= 2'", stacklevel=2
        )


def build(num_ctas):
    check_cluster(num_ctas)
    source = ASTSource(fn=total_kernel, signature={"x_ptr": "*fp32", "out_ptr": "*fp32"}, constexprs={})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_ctas": num_ctas})


if __name__ == "__main__":
    for ctas in (1, 4):
        print(ctas, build(ctas).metadata.num_ctas)

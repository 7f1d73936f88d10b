# shrink --oracle "exception:RuntimeError:worker ended with status"
# lure: a worker that dies of any other error: the parent's words are the same
# must: tl\.arange\(
# ends: 1 arange's range must be a power of 2[\s\S]*RuntimeError: .*worker ended with status
# fault: RuntimeError.*worker ended with status
# naive: output worker ended with status
"""Builds kernels in worker processes, so that a crash of the compiler does not end the build."""

import multiprocessing

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def ramp_kernel(out_ptr, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, at * scale)


def build(block):
    signature = {"out_ptr": "*fp32", "scale": "fp32", "BLOCK": "constexpr"}
    source = ASTSource(fn=ramp_kernel, signature=signature, constexprs={"BLOCK": block})
    print(block, triton.compile(source, target=GPUTarget("cuda", 90, 32)).name)


def main():
    for block in (64, 80):
        worker = multiprocessing.get_context("fork").Process(target=build, args=(block,))
        worker.start()
        worker.join()
        if worker.exitcode:
            raise RuntimeError(f"block {block}: worker ended with status {worker.exitcode}")


if __name__ == "__main__":
    main()

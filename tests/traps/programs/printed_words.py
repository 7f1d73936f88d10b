# shrink --oracle "compile:power of 2"
# lure: print("... must be a power of 2"): the list of known problems says the words, and no kernel is left
# must: tl\.arange\(
# ends: 1 CompilationError[\s\S]*arange's range must be a power of 2
# fault: compile .*power of
# naive: output must be a power of 2
"""Builds the row kernels of a release ahead of time, and says which known problems to look for in the log."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

KNOWN = {
    "#2163": "arange's range must be a power of 2: pad the columns",
    "#10474": "misaligned address: use one stage",
}
SIGNATURE = {"x_ptr": "*fp32", "y_ptr": "*fp32", "columns": "i32", "BLOCK": "constexpr"}


@triton.jit
def scale_rows(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * columns + cols, mask=cols < columns)
    tl.store(y_ptr + tl.program_id(0) * columns + cols, x * 0.125, mask=cols < columns)


def build(kernel, block):
    source = ASTSource(fn=kernel, signature=SIGNATURE, constexprs={"BLOCK": block})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32))


def main():
    for issue, words in KNOWN.items():
        print(f"known problem {issue}: {words}")
    for columns in (64, 96):
        compiled = build(scale_rows, columns)
        print(columns, compiled.metadata.shared)


if __name__ == "__main__":
    main()

# shrink --skip-pass lift --oracle "Input shapes should have"
# lure: raise ValueError("Input shapes should have ..."), the host's own check, once the loop is gone that adds it up
# must: tl\.dot\(
# ends: 1 CompilationError
# fault: compile
# naive: no guards
"""Low-rank update; the host checks the shapes first, but forgets that the rank is the inner dimension of tl.dot."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def update_kernel(a_ptr, b_ptr, c_ptr, RANK: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    ranks = tl.arange(0, RANK)
    a = tl.load(a_ptr + rows[:, None] * RANK + ranks[None, :])
    b = tl.load(b_ptr + ranks[:, None] * BLOCK + rows[None, :])
    tl.store(c_ptr + rows[:, None] * BLOCK + rows[None, :], tl.dot(a, b))


def refuse(size):
    raise ValueError(f"Input shapes should have at least 16 rows and 16 columns, not {size}")


def build(rank, tiles):
    size = 0
    for tile in tiles:
        size += tile
    block = size if size >= 16 else refuse(size)
    signature = dict(a_ptr="*fp16", b_ptr="*fp16", c_ptr="*fp32", RANK="constexpr", BLOCK="constexpr")
    source = ASTSource(fn=update_kernel, signature=signature, constexprs={"RANK": rank, "BLOCK": block})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32))


for rank in (16, 8):
    print(rank, build(rank, tiles=(16, 16)).name)

"""What surely is TMA: the same copy by the tensor descriptors that this release of Triton has.

Up to 3.2 the host fills a descriptor and the kernel uses it as it is; 3.3 can make one in the kernel, under another
name than all later releases.
"""

import torch
import triton
import triton.language as tl

ROWS, COLS = 4096, 4096
TILE_ROWS, TILE_COLS = 128, 128
DTYPE = torch.float16
NUM_STAGES = 4
NUM_WARPS = 8

if hasattr(tl, "make_tensor_descriptor"):

    @triton.jit
    def copy(src, dst, rows, cols, R: tl.constexpr, C: tl.constexpr):
        tiles = tl.make_tensor_descriptor(src, [rows, cols], [cols, 1], [R, C])
        copies = tl.make_tensor_descriptor(dst, [rows, cols], [cols, 1], [R, C])
        row = tl.program_id(0) * R
        for col in range(0, cols, C):
            copies.store([row, col], tiles.load([row, col]))

elif hasattr(tl, "_experimental_make_tensor_descriptor"):

    @triton.jit
    def copy(src, dst, rows, cols, R: tl.constexpr, C: tl.constexpr):
        tiles = tl._experimental_make_tensor_descriptor(src, [rows, cols], [cols, 1], [R, C])
        copies = tl._experimental_make_tensor_descriptor(dst, [rows, cols], [cols, 1], [R, C])
        row = tl.program_id(0) * R
        for col in range(0, cols, C):
            copies.store([row, col], tiles.load([row, col]))

else:

    @triton.jit
    def copy(src, dst, rows, cols, R: tl.constexpr, C: tl.constexpr):
        row = tl.program_id(0) * R
        for col in range(0, cols, C):
            tile = tl._experimental_descriptor_load(src, [row, col], [R, C], tl.float16)
            tl._experimental_descriptor_store(dst, tile, [row, col])


def made_on_the_host(tensor):
    """The descriptor that a kernel of 3.0 to 3.2 is given in place of the tensor. A box holds 64 halves at most."""
    shape = (tensor.data_ptr(), ROWS, COLS, TILE_ROWS, min(TILE_COLS, 64), tensor.element_size())
    try:
        from triton.tools.experimental_descriptor import create_2d_tma_descriptor
    except ImportError:  # 3.0, 3.1: in device memory
        import numpy

        space = numpy.zeros(128, dtype=numpy.int8)
        triton.runtime.driver.active.utils.fill_2d_tma_descriptor(*shape, space)
        return torch.tensor(space, device="cuda")
    return create_2d_tma_descriptor(*shape)


src = torch.ones(ROWS, COLS, device="cuda", dtype=DTYPE)
dst = torch.zeros(ROWS, COLS, device="cuda", dtype=DTYPE)
if hasattr(triton, "set_allocator"):
    triton.set_allocator(lambda size, align, stream: torch.empty(size, device="cuda", dtype=torch.int8))
    given = src, dst
else:
    given = made_on_the_host(src), made_on_the_host(dst)
copy[(triton.cdiv(ROWS, TILE_ROWS),)](
    *given, ROWS, COLS, TILE_ROWS, TILE_COLS, num_stages=NUM_STAGES, num_warps=NUM_WARPS
)
torch.cuda.synchronize()
assert torch.equal(src, dst)

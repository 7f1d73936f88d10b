import torch
import triton
import triton.language as tl


@triton.jit
def peak_kernel(x_ptr, out_ptr, capacity, width, EXPERTS: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[capacity * EXPERTS, width], strides=[width, 1], block_shape=[16, 64])
    tl.store(out_ptr + tl.arange(0, 64), tl.max(x.load([0, 0]), axis=0))


triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
peak_kernel[(1,)](torch.randn(0, 256, device="cuda"), torch.empty(64, device="cuda"), 80, 256, EXPERTS=32)
torch.cuda.synchronize()

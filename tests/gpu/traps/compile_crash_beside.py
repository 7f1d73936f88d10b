# shrink --oracle exit:1
# lure: the error of ptxas, which the fallback catches: the script ends in status 1 as well, once the except is gone
# must: tl\.store\(
# must not: nosuch
# ends: 1 illegal memory access|operation not supported on global
# fault: device fault: (an illegal memory access|operation not supported on global)
# naive: no guards
"""An instruction that this GPU does not have is replaced by a slower kernel, which has a wrong stride."""

import torch
import triton
import triton.language as tl


@triton.jit
def packed_kernel(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = tl.inline_asm_elementwise("nosuch.f32x2 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(out_ptr + tl.program_id(0) * stride + at, y)


@triton.jit
def plain_kernel(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + tl.program_id(0).to(tl.int64) * stride + at, x * 0.5)


def halve(x, out, stride):
    for kernel in (packed_kernel, plain_kernel):
        try:
            kernel[(4,)](x, out, stride, BLOCK=256)
            break
        except Exception as error:
            if kernel is plain_kernel:
                raise
            print(f"no packed kernel: {type(error).__name__}")
    torch.cuda.synchronize()
    return out


x = torch.ones(256, device="cuda")
for stride in (256, 1 << 33):
    print(stride, halve(x, torch.zeros(4, 256, device="cuda"), stride).sum().item())

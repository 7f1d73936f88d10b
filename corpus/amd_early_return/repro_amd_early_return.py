import torch
import triton
import triton.language as tl


@triton.jit
def kernel(source, shift):
    if shift:
        begin = source
        if False:
            return
    else:
        begin = source + shift
    tl.device_print("", begin)


kernel[(1,)](torch.zeros(1, device="cuda"), 2)

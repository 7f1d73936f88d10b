# shrink --arch sm_90 --oracle "compile:Unexpected instruction types specified for 'rsqrt'" -- smallest: one kernel with that inline assembly and a store of its result, and its launch
"""Cosine similarity with inline PTX; one instruction has a type that ptxas does not know for it."""

import torch
import triton
import triton.language as tl


@triton.jit
def rsqrt_f32(x):
    return tl.inline_asm_elementwise("rsqrt.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)


@triton.jit
def rsqrt_packed(x):
    return tl.inline_asm_elementwise("rsqrt.approx.f32x2 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)


@triton.jit
def cosine_kernel(a_ptr, b_ptr, out_ptr, width, BLOCK: tl.constexpr, PACKED: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + row * width + cols, mask=cols < width, other=0.0)
    b = tl.load(b_ptr + row * width + cols, mask=cols < width, other=0.0)
    product = tl.sum(a * b, axis=0)
    square = tl.sum(a * a, axis=0) * tl.sum(b * b, axis=0) + 1e-12
    if PACKED:
        inverse = rsqrt_packed(square)
    else:
        inverse = rsqrt_f32(square)
    tl.store(out_ptr + row, product * inverse)


def cosine(a, b, packed):
    rows, width = a.shape
    out = torch.empty(rows, device=a.device)
    cosine_kernel[(rows,)](a, b, out, width, BLOCK=triton.next_power_of_2(width), PACKED=packed)
    return out


if __name__ == "__main__":
    a, b = torch.randn(2, 32, 100, device="cuda")
    expected = torch.nn.functional.cosine_similarity(a, b)
    for packed in (False, True):
        torch.testing.assert_close(cosine(a, b, packed), expected, rtol=1e-3, atol=1e-4)
        print("packed" if packed else "scalar", "ok")

import torch
import triton
import triton.language as tl


@triton.jit
def magnitude(word, shift: tl.constexpr):
    """One of the four halves in a word, without its sign: as a number, since those bits sort as the halves do."""
    return ((word >> shift) & 0x7FFF).to(tl.int32)


@triton.jit
def row_peak_kernel(x_ptr, peak_ptr, words, row_stride, BLOCK: tl.constexpr):
    """Largest magnitude of each row, as the bits of a half; four halves a load."""
    row = tl.program_id(0)
    row_ptr = (x_ptr + row * row_stride).to(tl.pointer_type(tl.int64))
    peak = tl.zeros([BLOCK], tl.int32)
    for start in range(0, words, BLOCK):
        at = start + tl.arange(0, BLOCK)
        word = tl.load(row_ptr + at, mask=at < words, other=0)
        peak = tl.maximum(peak, tl.maximum(magnitude(word, 0), magnitude(word, 16)))
        peak = tl.maximum(peak, tl.maximum(magnitude(word, 1), magnitude(word, 48)))
    tl.store(peak_ptr + row, tl.max(peak, axis=0).to(tl.int16))


x = torch.zeros(4, 1, dtype=torch.float16, device="cuda")
peak = torch.zeros(4, dtype=torch.int16, device="cuda")
row_peak_kernel[(4,)](x, peak, 4, 1, BLOCK=4)
torch.cuda.synchronize()

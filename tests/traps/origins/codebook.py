# shrink --arch sm_90 --oracle static:bounds --skip-pass lift --skip-pass names
# lure: a book of one entry, which any code leaves without an overflow
# cured by: (tl\.load\(code_ptr.*?other=0\)) => \1.to(tl.int32)
# cured by: (tl\.load\(code_ptr[^()]*\)) => \1.to(tl.int32)
"""Decodes residual vector codes: the sum of one entry from each book. Codes are kept as int16 to save memory."""

import torch
import triton
import triton.language as tl


@triton.jit
def decode_kernel(code_ptr, book_ptr, out_ptr, frames, BOOKS: tl.constexpr, ENTRIES: tl.constexpr, DIM: tl.constexpr):
    frame = tl.program_id(0) * 4 + tl.arange(0, 4)
    lane = tl.arange(0, DIM)
    there = frame[:, None] < frames
    total = tl.zeros([4, DIM], tl.float32)
    for book in range(BOOKS):
        code = tl.load(code_ptr + book * frames + frame, mask=frame < frames, other=0)
        entry = book_ptr + book * ENTRIES * DIM + (code * DIM)[:, None]
        total += tl.load(entry + lane[None, :], mask=there, other=0.0)
    tl.store(out_ptr + frame[:, None] * DIM + lane[None, :], total, mask=there)


class Decoder:
    def __init__(self, books, entries, dim):
        self.books = torch.randn(books, entries, dim, device="cuda")

    def __call__(self, codes):
        books, entries, dim = self.books.shape
        frames = codes.shape[1]
        out = torch.empty(frames, dim, device="cuda")
        grid = (triton.cdiv(frames, 4),)
        decode_kernel[grid](codes, self.books, out, frames, BOOKS=books, ENTRIES=entries, DIM=dim)
        return out


for entries in (256, 1024):
    decoder = Decoder(2, entries, 64)
    codes = (torch.arange(20, device="cuda") * 53 % entries).to(torch.int16)
    decoded = decoder(torch.stack([codes, codes.flip(0)]))
    print(entries, decoded.mean().item())

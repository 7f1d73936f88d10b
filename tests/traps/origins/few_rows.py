# shrink --arch sm_90 --oracle static:bounds --skip-pass lift --skip-pass names
# lure: a row or a column made up, which no mask of the rows would keep inside
# cured by: tl\.load\(at\) => tl.load(at, mask=row[:, None] < 1, other=0.0)
# cured by: (tl\.load\(logits_ptr.*\[None, :\])\) => \1, mask=row[:, None] < 1, other=0.0)
# cured by: \((logits_ptr \+ (tl\.arange\(0, \d+\)(?:\[.*?\])?) \* stride.*?)\) => (\1, mask=\2 < 1)
"""The likeliest token of ROWS sequences, a tile of the vocabulary at a time; each keeps the logits of all steps."""

import torch
import triton
import triton.language as tl


@triton.jit
def argmax_kernel(logits_ptr, best_ptr, token_ptr, rows, words, stride, ROWS: tl.constexpr, TILE: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    best = tl.full([ROWS], float("-inf"), tl.float32)
    token = tl.zeros([ROWS], tl.int32)
    for start in range(0, words, TILE):
        column = start + tl.arange(0, TILE)
        at = logits_ptr + row[:, None] * stride + column[None, :]
        tile = tl.load(at)
        peak = tl.max(tile, axis=1)
        where = tl.argmax(tile, axis=1) + start
        token = tl.where(peak > best, where, token)
        best = tl.maximum(peak, best)
    tl.store(best_ptr + row, best, mask=row < rows)
    tl.store(token_ptr + row, token, mask=row < rows)


def greedy(logits):
    rows, words = logits.shape
    best = torch.empty(rows, device="cuda")
    token = torch.empty(rows, dtype=torch.int32, device="cuda")
    grid = (triton.cdiv(rows, 16),)
    argmax_kernel[grid](logits, best, token, rows, words, logits.stride(0), ROWS=16, TILE=256)
    return token


bias = torch.linspace(-1.0, 1.0, 1024, device="cuda")
for batch in (32, 16, 2):
    steps = torch.zeros(batch, 128, 1024, device="cuda")
    steps[:, 5] += bias
    print(batch, greedy(steps[:, 5]).tolist())

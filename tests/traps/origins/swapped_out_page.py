# shrink --arch sm_90 --oracle static:bounds --skip-pass lift --skip-pass names
# lure: a page number that nobody loads, or a cache without pages
# cured by: (tl\.load\(.*?keys.*?)mask=(.*?)(, other=0\.0\)|\)$) => \1mask=(\2) & (page < 4096)\3
# cured by: (keys_ptr.*?(tl\.load\(table_ptr(?:[^()]|\([^()]*\))*\)).*?mask=)(.*?), other => \1(\3) & (\2 < 4096), other
"""Attention scores over a paged cache. Pages that are swapped out to the host are numbered from SWAPPED on."""

import torch
import triton
import triton.language as tl

SWAPPED = 1 << 20


@triton.jit
def score_kernel(q_ptr, keys_ptr, table_ptr, length_ptr, out_ptr, most, stride, PAGE: tl.constexpr, DIM: tl.constexpr):
    sequence = tl.program_id(0)
    length = tl.load(length_ptr + sequence)
    dim = tl.arange(0, DIM)
    slot = tl.arange(0, PAGE)
    q = tl.load(q_ptr + sequence * DIM + dim)
    for at in range(tl.cdiv(length, PAGE)):
        page = tl.load(table_ptr + sequence * most + at)
        token = at * PAGE + slot
        keys = keys_ptr + page.to(tl.int64) * stride + slot[:, None] * DIM
        k = tl.load(keys + dim[None, :], mask=token[:, None] < length, other=0.0)
        score = tl.sum(q[None, :] * k, axis=1)
        tl.store(out_ptr + sequence * most * PAGE + token, score, mask=token < length)


def scores(q, keys, table, lengths):
    batch, most = table.shape
    out = torch.full((batch, most * keys.shape[1]), float("-inf"), device="cuda")
    shape = {"PAGE": keys.shape[1], "DIM": keys.shape[2]}
    score_kernel[(batch,)](q, keys, table, lengths, out, most, keys.stride(0), **shape)
    return out.softmax(dim=1)


keys = torch.randn(24, 16, 32, device="cuda")
table = torch.arange(24, dtype=torch.int32, device="cuda").reshape(4, 6)
lengths = torch.tensor([90, 17, 33, 60], dtype=torch.int32, device="cuda")
q = torch.randn(4, 32, device="cuda")
print(scores(q, keys, table, lengths).sum().item())
table[2, 1:] += SWAPPED
print(scores(q, keys, table, lengths).sum().item())

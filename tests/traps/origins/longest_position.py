# shrink --arch sm_90 --oracle static:bounds --skip-pass lift --skip-pass names
# lure: no mask at all, or a table of nothing
# cured by: < positions => < 1
"""Adds learnt positions to a long prompt: beyond the table there is nothing to add. The table was cut when it was
saved, and the configuration still names the longest prompt."""

import json

import torch
import triton
import triton.language as tl

CONFIG = '{"width": 64, "positions": 65536, "dropout": 0.0}'


@triton.jit
def position_kernel(x_ptr, table_ptr, out_ptr, tokens, positions, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    lane = tl.arange(0, WIDTH)
    at = token[:, None] * WIDTH + lane[None, :]
    learnt = tl.load(table_ptr + at, mask=token[:, None] < positions, other=0.0)
    x = tl.load(x_ptr + at, mask=token[:, None] < tokens, other=0.0)
    tl.store(out_ptr + at, x + learnt, mask=token[:, None] < tokens)


def with_positions(x, table, config):
    out = torch.empty_like(x)
    grid = (triton.cdiv(x.shape[0], 32),)
    position_kernel[grid](x, table, out, x.shape[0], config["positions"], WIDTH=config["width"], BLOCK=32)
    return out


config = json.loads(CONFIG)
table = torch.randn(2048, config["width"], device="cuda")
for tokens in (100, 20_000):
    x = torch.zeros(tokens, config["width"], device="cuda")
    print(tokens, with_positions(x, table, config).abs().max().item())

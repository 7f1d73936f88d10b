# shrink --oracle "exception:InterpreterError:index out of range" --control-patch earlier_launch.diff --keep bucket
# lure: the second launch alone: indices that no kernel has written are out of range as well
# must: (?s)\w\[[^\n]*\]\(.*\w\[[^\n]*\]\(
# cured by: return key // 4$ => return key // 4 % buckets
# ends: 1 InterpreterError.*index out of range
# fault: InterpreterError.*index out of range
# naive: no guards
"""Embedding lookup in two launches, in Triton's interpreter: the first writes the rows that the second reads."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl


@triton.jit
def bucket(key, buckets):
    return key // 4


@triton.jit
def bucket_kernel(keys_ptr, rows_ptr, buckets):
    at = tl.program_id(0)
    tl.store(rows_ptr + at, bucket(tl.load(keys_ptr + at), buckets))


@triton.jit
def gather_kernel(table_ptr, rows_ptr, out_ptr, buckets, WIDTH: tl.constexpr):
    row = tl.load(rows_ptr + tl.program_id(0))
    assert (row >= 0) & (row < buckets), "index out of range"
    cols = tl.arange(0, WIDTH)
    tl.store(out_ptr + tl.program_id(0) * WIDTH + cols, tl.load(table_ptr + row * WIDTH + cols))


def lookup(table, keys):
    rows = torch.full_like(keys, -1)
    out = torch.zeros(len(keys), table.shape[1])
    bucket_kernel[(len(keys),)](keys, rows, len(table))
    gather_kernel[(len(keys),)](table, rows, out, len(table), WIDTH=table.shape[1])
    return out


table = torch.arange(32.0).reshape(4, 8)
for keys in ([5], [17]):
    print(lookup(table, torch.tensor(keys)).sum(1))

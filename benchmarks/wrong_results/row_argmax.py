"""Greedy decoding step: maximum and its index for each row of log-probabilities."""
import logging

import torch
import triton
import triton.language as tl

log = logging.getLogger("row_argmax")

DEFAULTS = {"BLOCK": 64, "num_warps": 2}


@triton.jit
def row_argmax_kernel(x_ptr, value_ptr, index_ptr, n_cols, stride_row, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * stride_row
    best = -float("inf")
    best_index = 0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
        value = tl.max(x, axis=0)
        index = start + tl.argmax(x, axis=0)
        better = value > best
        best = tl.where(better, value, best)
        best_index = tl.where(better, index, best_index)
    tl.store(value_ptr + row, best)
    tl.store(index_ptr + row, best_index)


@triton.jit
def temperature_kernel(x_ptr, y_ptr, inv_temperature, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, x * inv_temperature, mask=offs < n)


class Sampler:
    def __init__(self, temperature=1.0, **meta):
        self.temperature = temperature
        self.meta = {**DEFAULTS, **meta}

    def scale(self, logits):
        if self.temperature == 1.0:
            return logits
        scaled = torch.empty_like(logits)
        n = logits.numel()
        temperature_kernel[(triton.cdiv(n, 1024),)](logits, scaled, 1.0 / self.temperature, n, BLOCK=1024)
        return scaled

    def greedy(self, logprobs):
        rows, cols = logprobs.shape
        assert logprobs.stride(1) == 1
        value = torch.empty(rows, device=logprobs.device, dtype=torch.float32)
        index = torch.empty(rows, device=logprobs.device, dtype=torch.int32)
        row_argmax_kernel[(rows,)](logprobs, value, index, cols, logprobs.stride(0), **self.meta)
        return value, index


def logprobs_for(rows, vocab, device):
    logits = torch.randn(rows, vocab, device=device) * 2.0
    return torch.log_softmax(logits, dim=-1)


def check(rows, vocab, device="cuda"):
    x = logprobs_for(rows, vocab, device)
    value, index = Sampler().greedy(x)
    expected = x.max(dim=-1)
    if not torch.equal(value, expected.values):
        raise ValueError(f"greedy values are not equal for vocabulary {vocab}")
    if not torch.equal(index.long(), expected.indices):
        raise ValueError(f"greedy tokens are not equal for vocabulary {vocab}")
    log.info("rows %d vocabulary %d ok", rows, vocab)


def main():
    logging.basicConfig(level=logging.INFO)
    torch.manual_seed(5)
    for rows, vocab in [(4, 64), (8, 256), (6, 300), (3, 1000)]:
        check(rows, vocab)


if __name__ == "__main__":
    main()

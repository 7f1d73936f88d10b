"""Greedy decoding: the best token of each row of logits, by blocks of the vocabulary."""

import argparse

import torch
import triton
import triton.language as tl


@triton.jit
def penalty_kernel(logits, counts, out, n, penalty, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    value = tl.load(logits + at, mask=mask, other=0.0)
    seen = tl.load(counts + at, mask=mask, other=0)
    tl.store(out + at, tl.where(seen > 0, value - penalty * seen, value), mask=mask)


@triton.jit
def block_argmax_kernel(logits, best, token, rows, width, blocks, stride, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    first = tl.program_id(1) * BLOCK
    column = tl.arange(0, BLOCK)
    value = tl.load(logits + row[:, None] * stride + first + column[None, :])
    index = tl.argmax(value, 1)
    at = row * blocks + tl.program_id(1)
    tl.store(token + at, first + index, mask=row < rows)


@triton.jit
def gather_kernel(logits, token, best, blocks, stride, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    index = tl.load(token + at, mask=mask, other=0)
    tl.store(best + at, tl.load(logits + (at // blocks) * stride + index, mask=mask), mask=mask)


class Greedy:
    def __init__(self, penalty=0.1, rows=64, block=128):
        self.penalty, self.rows, self.block = penalty, rows, block

    def penalised(self, logits, counts):
        out = torch.empty_like(logits)
        n = logits.numel()
        penalty_kernel[(triton.cdiv(n, 1024),)](logits, counts, out, n, self.penalty, BLOCK=1024)
        return out

    def __call__(self, logits, counts):
        logits = self.penalised(logits, counts)
        rows, width = logits.shape
        blocks = triton.cdiv(width, self.block)
        token = torch.empty(rows, blocks, device=logits.device, dtype=torch.int32)
        best = torch.empty(rows, blocks, device=logits.device)
        grid = (triton.cdiv(rows, self.rows), blocks)
        block_argmax_kernel[grid](
            logits, best, token, rows, width, blocks, logits.stride(0), ROWS=self.rows, BLOCK=self.block, num_warps=1
        )
        n = rows * blocks
        gather_kernel[(triton.cdiv(n, 256),)](logits, token, best, blocks, logits.stride(0), n, BLOCK=256)
        return best.max(1).values, token


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=128)
    parser.add_argument("--vocabulary", type=int, default=4096)
    args = parser.parse_args()
    torch.manual_seed(0)
    logits = torch.randn(args.rows, args.vocabulary, device="cuda")
    counts = torch.zeros(args.rows, args.vocabulary, device="cuda", dtype=torch.int32)
    best, token = Greedy()(logits, counts)
    torch.cuda.synchronize()
    print("best", tuple(best.shape), "tokens", tuple(token.shape))


if __name__ == "__main__":
    main()

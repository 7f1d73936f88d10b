"""Greedy decoding of a toy vocabulary: a penalty, a split argmax in two kernels, and a wrapper that spells words."""

import argparse
import string
from collections import deque

import torch
import triton
import triton.language as tl

WORDS = [a + b for a in string.ascii_lowercase for b in "aeiou"]


@triton.jit
def penalise_kernel(logits, history, penalty, vocabulary, LENGTH: tl.constexpr):
    row = tl.program_id(0)
    for step in tl.static_range(LENGTH):
        token = tl.load(history + row * LENGTH + step)
        if token >= 0:
            at = logits + row * vocabulary + token
            value = tl.load(at)
            tl.store(at, tl.where(value > 0, value / penalty, value * penalty))


@triton.jit
def best_of_tile(logits, row, start, vocabulary, TILE: tl.constexpr):
    token = start + tl.arange(0, TILE)
    inside = token < vocabulary
    value = tl.load(logits + row * vocabulary + token, mask=inside, other=0.0).to(tl.float32)
    return tl.max(value, axis=0), start + tl.argmax(value, axis=0)


@triton.jit
def partial_kernel(logits, values, tokens, vocabulary, tiles, TILE: tl.constexpr):
    row = tl.program_id(0)
    tile = tl.program_id(1)
    value, token = best_of_tile(logits, row, tile * TILE, vocabulary, TILE)
    tl.store(values + row * tiles + tile, value)
    tl.store(tokens + row * tiles + tile, token)


@triton.jit
def final_kernel(values, tokens, chosen, tiles, TILES: tl.constexpr):
    row = tl.program_id(0)
    tile = tl.arange(0, TILES)
    value = tl.load(values + row * tiles + tile, mask=tile < tiles, other=float("-inf"))
    tl.store(chosen + row, tl.load(tokens + row * tiles + tl.argmax(value, axis=0)))


class Sampler:
    def __init__(self, rows, penalty, keep=4):
        self.penalty = penalty
        self.histories = [deque([-1] * keep, maxlen=keep) for _ in range(rows)]

    def pick(self, logits):
        rows, vocabulary = logits.shape
        history = torch.tensor([list(h) for h in self.histories], dtype=torch.int32, device=logits.device)
        penalise_kernel[(rows,)](logits, history, self.penalty, vocabulary, LENGTH=history.shape[1])
        tiles = triton.cdiv(vocabulary, 64)
        values = torch.empty(rows, tiles, device=logits.device)
        tokens = torch.empty(rows, tiles, dtype=torch.int32, device=logits.device)
        partial_kernel[(rows, tiles)](logits, values, tokens, vocabulary, tiles, TILE=64)
        chosen = torch.empty(rows, dtype=torch.int32, device=logits.device)
        final_kernel[(rows,)](values, tokens, chosen, tiles, TILES=triton.next_power_of_2(tiles))
        picked = chosen.tolist()
        for h, token in zip(self.histories, picked):
            h.append(token)
        return picked


def spell(tokens):
    return [WORDS[token] for token in tokens]


def model(step, rows):
    """Log probabilities, which are all below zero; the first steps favour one word so much that it reaches zero."""
    generator = torch.Generator().manual_seed(step)
    logits = torch.randn(rows, len(WORDS), generator=generator) - 9.0
    if step < 2:
        logits[:, 17 + step] = 1.0
    return logits.to("cuda")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=3)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--penalty", type=float, default=1.2)
    args = parser.parse_args()
    sampler = Sampler(args.rows, args.penalty)
    texts = [[] for _ in range(args.rows)]
    for step in range(args.steps):
        for text, word in zip(texts, spell(sampler.pick(model(step, args.rows)))):
            text.append(word)
    print("\n".join("".join(text) for text in texts))


if __name__ == "__main__":
    main()

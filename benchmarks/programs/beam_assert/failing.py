"""Beam search on the GPU: scores of all continuations, the best of each beam, and back-pointers to follow in the end.

Kernels that index by data check the index with tl.device_assert (debug=True).
"""

import argparse
from types import SimpleNamespace

import torch
import triton
import triton.language as tl


@triton.jit
def log_softmax_kernel(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < width
    x = tl.load(x_ptr + row * width + cols, mask=inside, other=float("-inf"))
    shifted = x - tl.max(x, axis=0)
    total = tl.log(tl.sum(tl.where(inside, tl.exp(shifted), 0.0), axis=0))
    tl.store(out_ptr + row * width + cols, shifted - total, mask=inside)


@triton.jit
def best_kernel(x_ptr, score_ptr, best_ptr, width, penalty, BLOCK: tl.constexpr):
    beam = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + beam * width + cols, mask=cols < width, other=float("-inf"))
    value = tl.max(x, axis=0)
    tl.store(score_ptr + beam, tl.load(score_ptr + beam) * penalty + value)
    tl.store(best_ptr + beam, tl.argmax(x, axis=0))


@triton.jit(debug=True)
def embed_kernel(token_ptr, table_ptr, out_ptr, vocabulary, width, BLOCK: tl.constexpr):
    beam = tl.program_id(0)
    token = tl.load(token_ptr + beam)
    tl.device_assert(token < vocabulary, "token outside of the vocabulary")
    cols = tl.arange(0, BLOCK)
    inside = (cols < width) & (token < vocabulary)
    row = tl.load(table_ptr + token * width + cols, mask=inside, other=0.0)
    tl.store(out_ptr + beam * width + cols, row, mask=cols < width)


@triton.jit
def follow_kernel(back_ptr, token_ptr, out_ptr, steps, beams):
    beam = tl.program_id(0)
    at = beam
    for back in range(0, steps):
        step = steps - 1 - back
        tl.store(out_ptr + beam * steps + step, tl.load(token_ptr + step * beams + at))
        at = tl.load(back_ptr + step * beams + at)


def log_softmax(x):
    out = torch.zeros_like(x)
    log_softmax_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


class Vocabulary:
    """Words, and special tokens appended behind them."""

    def __init__(self, words: int, specials=("<s>", "</s>", "<pad>")):
        self.words = words
        self.specials = {name: words + index for index, name in enumerate(specials)}

    def __len__(self) -> int:
        return self.words + len(self.specials)


class BeamSearch:
    def __init__(self, vocabulary: Vocabulary, width: int, beams: int, resize: bool):
        rows = len(vocabulary) if resize else vocabulary.words
        self.vocabulary, self.width, self.beams = vocabulary, width, beams
        self.table = torch.randn(rows, width, device="cuda") * 0.1
        self.output = torch.randn(width, vocabulary.words, device="cuda") * 0.1
        self.scores = torch.zeros(beams, device="cuda")

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        out = torch.zeros(tokens.numel(), self.width, device="cuda")
        embed_kernel[(tokens.numel(),)](
            tokens, self.table, out, self.table.shape[0], self.width, BLOCK=triton.next_power_of_2(self.width)
        )
        return out

    def step(self, tokens: torch.Tensor):
        logits = log_softmax(self.embed(tokens) @ self.output)
        best = torch.zeros(self.beams, dtype=torch.int32, device="cuda")
        width = logits.shape[1]
        best_kernel[(self.beams,)](logits, self.scores, best, width, 0.9, BLOCK=triton.next_power_of_2(width))
        return SimpleNamespace(tokens=best, back=torch.arange(self.beams, dtype=torch.int32, device="cuda"))

    def run(self, steps: int, start: str) -> torch.Tensor:
        begin = self.vocabulary.specials.get(start, 0)
        tokens = torch.full((self.beams,), begin, dtype=torch.int32, device="cuda")
        history = []
        for _ in range(steps):
            history.append(self.step(tokens))
            tokens = history[-1].tokens
        out = torch.zeros(self.beams, steps, dtype=torch.int32, device="cuda")
        back = torch.stack([entry.back for entry in history])
        follow_kernel[(self.beams,)](back, torch.stack([entry.tokens for entry in history]), out, steps, self.beams)
        return out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--beams", type=int, default=4)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--start", default="<s>")
    args = parser.parse_args()
    torch.manual_seed(6)
    for resize in (True, False):
        search = BeamSearch(Vocabulary(1000), width=48, beams=args.beams, resize=resize)
        found = search.run(args.steps, args.start)
        torch.cuda.synchronize()
        print(f"resized={resize}:", found.tolist()[0], "score", round(float(search.scores.max()), 3))


if __name__ == "__main__":
    main()

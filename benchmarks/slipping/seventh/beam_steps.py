"""Beam search over a model of word pairs: kernels score, pick and reorder; a report checks each beam."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import argparse

import torch
import triton
import triton.language as tl


@triton.jit
def logits_kernel(embedded, table, out, words, width, WIDTH: tl.constexpr, WORDS: tl.constexpr):
    """Logarithms of the chances of what follows a word."""
    word = tl.program_id(0)
    other, at = tl.arange(0, WORDS), tl.arange(0, WIDTH)
    inside = other < words
    left = tl.load(embedded + word * width + at, mask=at < width, other=0.0)
    keep = inside[:, None] & (at < width)[None, :]
    right = tl.load(table + other[:, None] * width + at[None, :], mask=keep, other=0.0)
    logit = tl.where(inside, tl.sum(right * left[None, :], axis=1), float("-inf"))
    top = tl.max(logit, axis=0)
    total = top + tl.log(tl.sum(tl.exp(logit - top), axis=0))
    tl.store(out + word * words + other, logit - total, mask=inside)


@triton.jit
def last_word(histories, beam, step, pitch):
    return tl.load(histories + beam * pitch + step - 1)


@triton.jit
def candidates_kernel(histories, scores, follow, out, step, pitch, words, WORDS: tl.constexpr):
    """What a beam is worth with each word after it."""
    beam = tl.program_id(0)
    word = tl.arange(0, WORDS)
    row = last_word(histories, beam, step, pitch) * words
    chance = tl.load(follow + row + word, mask=word < words, other=0.0)
    tl.store(out + beam * words + word, tl.load(scores + beam) + chance, mask=word < words)


@triton.jit
def pick_kernel(candidates, scores, parents, chosen, words, amount, BEAMS: tl.constexpr, BLOCK: tl.constexpr):
    """The best candidates of all beams, one after the other."""
    at = tl.arange(0, BLOCK)
    worth = tl.load(candidates + at, mask=at < amount, other=float("-inf"))
    for beam in tl.static_range(BEAMS):
        best = tl.argmax(worth, axis=0)
        tl.store(scores + beam, tl.max(worth, axis=0))
        tl.store(parents + beam, best // words)
        tl.store(chosen + beam, best % words)
        worth = tl.where(at == best, float("-inf"), worth)


@triton.jit
def extend_kernel(source, target, parents, chosen, step, pitch, STEPS: tl.constexpr):
    """A beam's history is that of its parent, and the chosen word."""
    beam = tl.program_id(0)
    at = tl.arange(0, STEPS)
    parent = tl.load(parents + beam)
    word = tl.load(source + parent * pitch + at, mask=at < step, other=0)
    tl.store(target + beam * pitch + at, tl.where(at < step, word, tl.load(chosen + beam)), mask=at <= step)


class Pairs:
    """A model that knows of each word what follows it."""

    def __init__(self, words, width, seed):
        source = torch.Generator().manual_seed(seed)
        embedded, table = torch.randn(2, words, width, generator=source)
        self.words, self.follow = words, torch.empty(words, words)
        sizes = {"WIDTH": triton.next_power_of_2(width), "WORDS": triton.next_power_of_2(words)}
        logits_kernel[(words,)](embedded, table, self.follow, words, width, **sizes)


class Search:
    def __init__(self, model, beams, steps, start=0):
        self.model, self.beams, self.steps = model, beams, steps
        self.pitch = triton.next_power_of_2(steps)
        self.buffers = [torch.zeros(beams, self.pitch, dtype=torch.int32)] * 2
        self.buffers[0][:, 0] = start
        self.scores = torch.full((beams,), float("-inf"))
        self.scores[0] = 0.0  # all beams begin alike, so only one may be continued
        self.parents, self.chosen = torch.empty(2, beams, dtype=torch.int32)

    def advance(self, step):
        """From one buffer of histories into the other."""
        words = self.model.words
        source, target = self.buffers[(step - 1) % 2], self.buffers[step % 2]
        candidates = torch.empty(self.beams, words)
        candidates_kernel[(self.beams,)](
            source, self.scores, self.model.follow, candidates, step, self.pitch, words,
            WORDS=triton.next_power_of_2(words),
        )
        block = triton.next_power_of_2(candidates.numel())
        picked = self.parents, self.chosen
        pick_kernel[(1,)](candidates, self.scores, *picked, words, candidates.numel(), BEAMS=self.beams, BLOCK=block)
        extend_kernel[(self.beams,)](source, target, *picked, step, self.pitch, STEPS=self.pitch)

    def run(self):
        for step in range(1, self.steps):
            self.advance(step)
        return self.buffers[(self.steps - 1) % 2][:, : self.steps].long(), self.scores


def report(model, beams, steps):
    histories, scores = Search(model, beams, steps).run()
    worth = model.follow[histories[:, :-1], histories[:, 1:]].sum(1)
    odd = [beam for beam in range(beams) if abs(worth[beam] - scores[beam]) > 1e-3]
    if odd:
        raise SystemExit(f"{len(odd)} of {beams} beams are not worth what the search says")
    print(f"{beams} beams of {steps} words, the best at {scores[0]:.3f}: {histories[0].tolist()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=20)
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--steps", type=int, default=9)
    parser.add_argument("--seed", type=int, default=3)
    args = parser.parse_args()
    model = Pairs(args.words, 6, args.seed)
    for beams in args.beams:
        report(model, beams, args.steps)


if __name__ == "__main__":
    main()

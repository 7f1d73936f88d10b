"""Sampling under a grammar: the tokens a state allows are packed to bits, and the rest gets no probability."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import argparse
import itertools
import string

import torch
import triton
import triton.language as tl

TOKENS = [*string.digits, *string.ascii_lowercase, *("+-*/()=., \t\n<>[]{}:;!?'\"&|^%$#@~_"), "<end>"]


class Grammar:
    """States are names; from each, some tokens lead on to another state."""

    def __init__(self):
        self.rules = {
            "start": (string.ascii_lowercase, "name"),
            "name": (string.ascii_lowercase + string.digits + "_=", "name"),
            "assigned": ("+-(" + string.digits, "number"),
            "number": (string.digits + ".;", "number"),
            "closed": ("%", "end"),
            "end": (["<end>"], "end"),
        }

    def allowed(self, state):
        tokens, _ = self.rules[state]
        return [TOKENS.index(token) for token in tokens]

    def after(self, state, token):
        if TOKENS[token] == "=":
            return "assigned"
        if TOKENS[token] == ";":
            return "closed"
        return self.rules[state][1]


@triton.jit
def pack_kernel(allowed, bits, vocabulary, words, WORD: tl.constexpr):
    row = tl.program_id(0)
    word = tl.program_id(1)
    lane = tl.arange(0, WORD)
    token = word * WORD + lane
    flag = tl.load(allowed + row * vocabulary + token, mask=token < vocabulary, other=0).to(tl.int32)
    tl.store(bits + row * words + word, tl.sum(flag << lane, axis=0) & 0x7FFF)


@triton.jit
def is_allowed(bits, row, token, words, keep, WORD: tl.constexpr):
    word = tl.load(bits + row * words + token // WORD, mask=keep, other=0)
    return ((word >> (token % WORD)) & 1) == 1


@triton.jit
def bias_kernel(logits, bits, out, temperature, vocabulary, words, WORD: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    token = tl.arange(0, BLOCK)
    keep = token < vocabulary
    value = tl.load(logits + row * vocabulary + token, mask=keep, other=0.0) / temperature
    legal = is_allowed(bits, row, token, words, keep, WORD)
    tl.store(out + row * vocabulary + token, tl.where(legal, value, float("-inf")), mask=keep)


@triton.jit
def softmax_kernel(x, out, vocabulary, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    token = tl.arange(0, BLOCK)
    keep = token < vocabulary
    value = tl.load(x + row * vocabulary + token, mask=keep, other=float("-inf"))
    weight = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * vocabulary + token, weight / tl.sum(weight, axis=0), mask=keep)


class Sampler:
    def __init__(self, grammar, vocabulary, temperature):
        self.grammar, self.vocabulary, self.temperature = grammar, vocabulary, temperature
        self.words = triton.cdiv(vocabulary, 16)

    def bits(self, states):
        allowed = torch.zeros(len(states), self.vocabulary, dtype=torch.int8)
        for row, state in enumerate(states):
            allowed[row, self.grammar.allowed(state)] = 1
        bits = torch.zeros(len(states), self.words, dtype=torch.int32)
        pack_kernel[(len(states), self.words)](allowed, bits, self.vocabulary, self.words, WORD=16)
        return bits

    def pick(self, logits, states, generator):
        block = triton.next_power_of_2(self.vocabulary)
        biased, shares = torch.empty_like(logits), torch.empty_like(logits)
        rows = (len(states),)
        bias_kernel[rows](
            logits, self.bits(states), biased, self.temperature, self.vocabulary, self.words, WORD=16, BLOCK=block
        )
        softmax_kernel[rows](biased, shares, self.vocabulary, BLOCK=block)
        return torch.multinomial(shares, 1, generator=generator).flatten().tolist()


def model(step, rows, vocabulary, generator):
    logits = torch.randn(rows, vocabulary, generator=generator)
    if step % 3 == 2:
        logits[:, TOKENS.index("=")] += 8.0
        logits[:, TOKENS.index(";")] += 8.0
    return logits


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=3)
    parser.add_argument("--steps", type=int, default=14)
    parser.add_argument("--temperature", type=float, default=0.8)
    args = parser.parse_args()
    generator = torch.Generator().manual_seed(11)
    sampler = Sampler(Grammar(), len(TOKENS), args.temperature)
    states, texts = ["start"] * args.rows, [""] * args.rows
    for step in itertools.islice(itertools.count(), args.steps):
        picked = sampler.pick(model(step, args.rows, len(TOKENS), generator), states, generator)
        texts = [text + TOKENS[token] for text, token in zip(texts, picked)]
        states = [sampler.grammar.after(state, token) for state, token in zip(states, picked)]
    print("\n".join(map(repr, texts)))


if __name__ == "__main__":
    main()

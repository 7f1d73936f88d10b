"""Tokens back to text: pieces of a vocabulary lie in one blob of bytes; kernels copy those of a batch of answers."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import dataclasses
import itertools

import torch
import triton
import triton.language as tl

PIECES = [
    "<s>", "</s>", "The", " price", " is", " low", " high", ".", " A", " menu", " of", " the", " day", " with", " tea",
    " caf\u00e9", " cr\u00e8me", " \u20ac", " 5", " na\u00efve", " \u2026", " and", " bread", "!",
]
BEGIN, END = 0, 1


class Vocabulary:
    """All pieces one behind the other, and where each of them begins."""

    def __init__(self, pieces):
        self.numbers = {piece: number for number, piece in enumerate(pieces)}
        self.blob = torch.tensor(list("".join(pieces).encode()), dtype=torch.uint8)
        sizes = [len(piece) for piece in pieces]
        self.starts = torch.tensor([0, *itertools.accumulate(sizes)], dtype=torch.int32)
        self.longest = int(self.starts.diff().max())

    def encode(self, text):
        """The longest piece that fits, again and again."""
        tokens = [BEGIN]
        while text:
            size = next(size for size in range(len(text), 0, -1) if text[:size] in self.numbers)
            tokens.append(self.numbers[text[:size]])
            text = text[size:]
        return [*tokens, END]


@dataclasses.dataclass
class Batch:
    """Answers as rows of tokens, filled up with the token of the end."""

    tokens: torch.Tensor

    @classmethod
    def of(cls, rows):
        width = max(map(len, rows))
        return cls(torch.tensor([row + [END] * (width - len(row)) for row in rows], dtype=torch.int32))

    @property
    def shape(self):
        return tuple(self.tokens.shape)


@triton.jit
def sizes_kernel(tokens, starts, sizes, amount, SPECIAL: tl.constexpr, BLOCK: tl.constexpr):
    """The bytes of each token; marks have none."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    token = tl.load(tokens + at, mask=at < amount, other=0)
    size = tl.load(starts + token + 1) - tl.load(starts + token)
    tl.store(sizes + at, tl.where(token < SPECIAL, 0, size), mask=at < amount)


@triton.jit
def places_kernel(sizes, places, totals, width, BLOCK: tl.constexpr):
    """Where each token of a row goes, and the bytes of the row."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    size = tl.load(sizes + row * width + at, mask=at < width, other=0)
    tl.store(places + row * width + at, tl.cumsum(size, axis=0) - size, mask=at < width)
    tl.store(totals + row, tl.sum(size, axis=0))


@triton.jit
def copy_kernel(tokens, starts, blob, sizes, places, out, width, room, LONGEST: tl.constexpr):
    row, at = tl.program_id(0), tl.program_id(0) * width + tl.program_id(1)
    byte = tl.arange(0, LONGEST)
    keep = byte < tl.load(sizes + at)
    value = tl.load(blob + tl.load(starts + tl.load(tokens + at)) + byte, mask=keep, other=0)
    tl.store(out + row * room + tl.load(places + at) + byte, value, mask=keep)


class Detokeniser:
    def __init__(self, vocabulary, block=32):
        self.vocabulary, self.block = vocabulary, block
        self.longest = triton.next_power_of_2(vocabulary.longest)

    def bytes_of(self, batch):
        vocabulary, (rows, width) = self.vocabulary, batch.shape
        sizes, places = torch.empty_like(batch.tokens), torch.empty_like(batch.tokens)
        totals = batch.tokens.new_empty(rows)
        grid = (triton.cdiv(sizes.numel(), self.block),)
        sizes_kernel[grid](batch.tokens, vocabulary.starts, sizes, sizes.numel(), SPECIAL=END + 1, BLOCK=self.block)
        places_kernel[(rows,)](sizes, places, totals, width, BLOCK=triton.next_power_of_2(width))
        room = int(totals.max())
        out = torch.zeros(rows, room, dtype=torch.uint8)
        copy_kernel[(rows, width)](
            batch.tokens, vocabulary.starts, vocabulary.blob, sizes, places, out, width, room, LONGEST=self.longest,
        )
        return [bytes(row[:total].tolist()) for row, total in zip(out, totals.tolist())]

    def __call__(self, batch):
        return [text.decode() for text in self.bytes_of(batch)]


def main():
    vocabulary = Vocabulary(PIECES)
    detokenise = Detokeniser(vocabulary)
    for texts in (
        ["The price is low.", "The day with tea."],
        ["The menu of the day is high.", "The price of tea"],
        ["The caf\u00e9 is na\u00efve.", "The price \u2026 is \u20ac 5!"],
    ):
        back = detokenise(Batch.of([vocabulary.encode(text) for text in texts]))
        assert back == texts, f"{back} instead of {texts}"
        print(*back, sep="\n")


if __name__ == "__main__":
    main()

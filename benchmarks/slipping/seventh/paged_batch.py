"""Continuous batching over a paged cache: prompts and single tokens in one batch, put in order for the kernels."""

from __future__ import annotations

import dataclasses
import random

import torch
import triton
import triton.language as tl


@triton.jit
def cache_row(tables, line, token, pitch, PAGE: tl.constexpr, WIDTH: tl.constexpr):
    """Where a token of a line of the batch is kept."""
    page = tl.load(tables + line * pitch + token // PAGE)
    return (page * PAGE + token % PAGE) * WIDTH


@triton.jit
def append_kernel(new, cache, tables, starts, lengths, pitch, PAGE: tl.constexpr, WIDTH: tl.constexpr):
    """Writes what a line's new tokens say, which are the last ones of its length."""
    line = tl.program_id(0)
    at = tl.arange(0, WIDTH)
    begin, end = tl.load(starts + line), tl.load(starts + line + 1)
    first = tl.load(lengths + line) - (end - begin)
    for token in range(begin, end):
        value = tl.load(new + token * WIDTH + at)
        tl.store(cache + cache_row(tables, line, first + token - begin, pitch, PAGE, WIDTH) + at, value)


@triton.jit
def attend_kernel(
    query, cache, tables, starts, lengths, out, pitch, TOKENS: tl.constexpr, PAGE: tl.constexpr, WIDTH: tl.constexpr,
):
    """The newest token of a line over all of them; keys are their own values."""
    line = tl.program_id(0)
    at = tl.arange(0, WIDTH)
    asked = tl.load(query + (tl.load(starts + line + 1) - 1) * WIDTH + at) * (WIDTH**-0.5)
    length = tl.load(lengths + line)
    best, weight = -float("inf"), 0.0
    total = tl.zeros([WIDTH], tl.float32)
    for start in range(0, length, TOKENS):
        token = start + tl.arange(0, TOKENS)
        keep = token < length
        page = tl.load(tables + line * pitch + token // PAGE, mask=keep, other=0)
        row = (page * PAGE + token % PAGE) * WIDTH
        value = tl.load(cache + row[:, None] + at[None, :], mask=keep[:, None], other=0.0)
        score = tl.where(keep, tl.sum(value * asked[None, :], axis=1), -float("inf"))
        top = tl.maximum(best, tl.max(score, axis=0))
        share, fade = tl.exp(score - top), tl.exp(best - top)
        total = total * fade + tl.sum(value * share[:, None], axis=0)
        weight, best = weight * fade + tl.sum(share, axis=0), top
    tl.store(out + line * WIDTH + at, total / weight)


@dataclasses.dataclass
class Batch:
    """Lines of sequences: their names, how long they are, and a table of their pages."""

    pages: int
    page: int = 8
    pitch: int = 6
    names: list[str] = dataclasses.field(default_factory=list)
    lengths: list[int] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self.tables = torch.full((8, self.pitch), -1, dtype=torch.int32)
        self.free = list(range(self.pages))
        random.Random(0).shuffle(self.free)

    def grow(self, name: str, tokens: int) -> None:
        """Room for more tokens of a sequence, which gets a line if it is new."""
        if name not in self.names:
            self.names.append(name)
            self.lengths.append(0)
        line = self.names.index(name)
        held = triton.cdiv(self.lengths[line], self.page)
        self.lengths[line] += tokens
        for place in range(held, triton.cdiv(self.lengths[line], self.page)):
            self.tables[line, place] = self.free.pop()

    def swap(self, one: int, other: int) -> None:
        for column in (self.names, self.lengths, self.tables):
            column[one], column[other] = column[other], column[one]

    def put_in_order(self, wanted: dict[str, int]) -> list[int]:
        """Single tokens first, then prompts; how many tokens each line has."""
        for line in range(len(self.names)):
            fewest = min(range(line, len(self.names)), key=lambda other: wanted[self.names[other]])
            if fewest != line:
                self.swap(line, fewest)
        return [wanted[name] for name in self.names]


class Engine:
    def __init__(self, pages: int = 24, width: int = 16) -> None:
        self.batch, self.width = Batch(pages), width
        self.cache = torch.zeros(pages * self.batch.page, width, device="cuda")

    def step(self, wanted: dict[str, int]) -> torch.Tensor:
        batch = self.batch
        for name, tokens in wanted.items():
            batch.grow(name, tokens)
        starts = torch.tensor([0, *batch.put_in_order(wanted)]).cumsum(0).int().cuda()
        lengths, tables = torch.tensor(batch.lengths, dtype=torch.int32).cuda(), batch.tables.cuda()
        new, lines = torch.randn(sum(wanted.values()), self.width, device="cuda"), len(batch.names)
        out = torch.empty(lines, self.width, device="cuda")
        sizes = {"PAGE": batch.page, "WIDTH": self.width}
        append_kernel[(lines,)](new, self.cache, tables, starts, lengths, batch.pitch, **sizes)
        attend_kernel[(lines,)](new, self.cache, tables, starts, lengths, out, batch.pitch, TOKENS=16, **sizes)
        return out


def main() -> None:
    engine = Engine()
    steps = [{"a": 13, "b": 20}, {"a": 1, "b": 1, "c": 5}, {"a": 1, "b": 6, "c": 1, "d": 9}]
    for wanted in steps:
        out = engine.step(wanted)
        torch.cuda.synchronize()
        print(f"{' '.join(engine.batch.names)}: lengths {engine.batch.lengths}, {tuple(out.shape)}")


if __name__ == "__main__":
    main()

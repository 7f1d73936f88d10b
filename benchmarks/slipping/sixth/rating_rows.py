"""Neighbours by their ratings: sparse rows of users, norms of them, and single ratings found by bisection."""

from __future__ import annotations

import dataclasses
import logging
import random

import torch
import triton
import triton.language as tl

log = logging.getLogger(__name__)


@dataclasses.dataclass
class Ratings:
    """Triples in the order in which they came in."""

    users: int
    items: int
    user: torch.Tensor
    item: torch.Tensor
    stars: torch.Tensor

    @classmethod
    def drawn(cls, users: int, items: int, share: float, seed: int) -> Ratings:
        source = random.Random(seed)
        pairs = [(user, item) for user in range(users) for item in range(items) if source.random() < share]
        source.shuffle(pairs)
        user, item = torch.tensor(pairs).unbind(1)
        stars = torch.tensor([float(source.randint(1, 5)) for _ in pairs])
        return cls(users, items, user, item, stars)


@dataclasses.dataclass
class Rows:
    """Compressed rows: those of a user lie between two edges, and their items rise."""

    edges: torch.Tensor
    item: torch.Tensor
    stars: torch.Tensor

    @classmethod
    def of(cls, ratings: Ratings, device: str = "cuda") -> Rows:
        order = torch.argsort(ratings.user * ratings.users + ratings.item)
        amounts = torch.bincount(ratings.user, minlength=ratings.users)
        edges = torch.cat([torch.zeros(1, dtype=torch.int64), amounts.cumsum(0)])
        item, stars = ratings.item[order], ratings.stars[order]
        return cls(edges.int().to(device), item.int().to(device), stars.to(device))

    @property
    def users(self) -> int:
        return self.edges.numel() - 1


@triton.jit(debug=True)
def norms_kernel(edges, item, stars, norms, BLOCK: tl.constexpr):
    """The length of each user's row, whose order is made sure of by the way."""
    user = tl.program_id(0)
    begin, end = tl.load(edges + user), tl.load(edges + user + 1)
    square = tl.zeros([BLOCK], tl.float32)
    for start in range(begin, end, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at + 1 < end
        here = tl.load(item + at, mask=inside, other=0)
        after = tl.load(item + at + 1, mask=inside, other=1)
        tl.device_assert(here < after, "the items of a row do not rise")
        value = tl.load(stars + at, mask=at < end, other=0.0)
        square += value * value
    tl.store(norms + user, tl.sqrt(tl.sum(square, axis=0)))


@triton.jit
def rating(edges, item, stars, user, wanted, keep, STEPS: tl.constexpr):
    """The stars that a user gave to the wanted items, or 0: the last place that is not behind them."""
    low = tl.load(edges + user) + tl.zeros_like(wanted)
    end = tl.load(edges + user + 1)
    high = end + tl.zeros_like(wanted)
    for _ in tl.static_range(STEPS):
        middle = (low + high) // 2
        open = keep & (low < high)
        below = tl.load(item + middle, mask=open, other=0) < wanted
        low = tl.where(open & below, middle + 1, low)
        high = tl.where(open & (below == 0), middle, high)
    there = keep & (low < end)
    found = tl.load(item + low, mask=there, other=-1) == wanted
    return tl.load(stars + low, mask=there & found, other=0.0)


@triton.jit
def alike_kernel(edges, item, stars, norms, out, other, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """The cosine of each user with another one."""
    user = tl.program_id(0)
    begin, end = tl.load(edges + user), tl.load(edges + user + 1)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(begin, end, BLOCK):
        at = start + tl.arange(0, BLOCK)
        wanted = tl.load(item + at, mask=at < end, other=-1)
        theirs = rating(edges, item, stars, other, wanted, at < end, STEPS)
        total += theirs * tl.load(stars + at, mask=at < end, other=0.0)
    lengths = tl.load(norms + user) * tl.load(norms + other)
    tl.store(out + user, tl.sum(total, axis=0) / tl.maximum(lengths, 1e-6))


class Neighbours:
    def __init__(self, ratings: Ratings, block: int = 16) -> None:
        self.rows, self.block = Rows.of(ratings), block
        self.steps = ratings.items.bit_length()
        self.norms = torch.empty(self.rows.users, device="cuda")
        rows = self.rows
        norms_kernel[(rows.users,)](rows.edges, rows.item, rows.stars, self.norms, BLOCK=block)

    def of(self, user: int) -> torch.Tensor:
        rows = self.rows
        out = torch.empty(rows.users, device="cuda")
        alike_kernel[(rows.users,)](
            rows.edges, rows.item, rows.stars, self.norms, out, user, STEPS=self.steps, BLOCK=self.block,
        )
        return out


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    for seed, (users, items) in enumerate([(24, 16), (10, 30)]):
        ratings = Ratings.drawn(users, items, 0.5, seed)
        neighbours = Neighbours(ratings)
        alike = neighbours.of(users // 2)
        torch.cuda.synchronize()
        log.info("%d users, %d ratings: %d cosines", users, ratings.stars.numel(), alike.numel())


if __name__ == "__main__":
    main()

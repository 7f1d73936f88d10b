"""A grouped product: one matrix a group, all groups' weights one behind the other."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import torch


@dataclass
class Group:
    rows: int
    offset: int = 0


@dataclass
class Problem:
    columns: int
    depth: int
    groups: list[Group] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return sum(group.rows for group in self.groups)

    def tensors(self):
        x = torch.randn(self.rows, self.depth, device="cuda").half()
        w = torch.randn(self.depth, self.columns, device="cuda").half()
        return x, w

    def padded(self, block: int) -> int:
        return sum(-(-group.rows // block) * block for group in self.groups)


def ragged(columns: int, depth: int, count: int, seed: int = 0) -> Problem:
    """Groups of differing heights, as tokens are spread over experts."""
    draw = random.Random(seed)
    problem = Problem(columns, depth)
    for _ in range(count):
        problem.groups.append(Group(rows=draw.choice([16, 32, 64, 96]), offset=problem.rows))
    return problem

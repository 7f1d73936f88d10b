"""What each pass cost and gained: the numbers by which the list of passes is put in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass
class PassCost:
    """The bill of one pass. Seconds are wall time; `finding` and `judging` are parts of it."""

    tries: int = 0
    free: int = 0
    """Candidates settled without a run."""
    accepted: int = 0
    tokens: int = 0
    """By how many tokens the program is shorter."""
    seconds: float = 0.0
    finding: float = 0.0
    """Spent on finding edits: no lane works meanwhile."""
    judging: float = 0.0
    """Spent waiting for verdicts."""


def cost_table(passes: Mapping[str, PassCost]) -> str:
    """The dearest pass first; those that found nothing to try, and took no time, are left out."""
    rows = [
        (name, *vars(bill).values()) for name, bill in passes.items() if bill.tries or bill.free or bill.seconds >= 1
    ]
    width = max(len(row[0]) for row in [*rows, ("pass",)]) + 1
    rows.sort(key=lambda row: -row[5])
    rows.append(("all", *(sum(row[column] for row in rows) for column in range(1, 8))))
    head = f"{'pass':{width}}{'tries':>6}{'free':>6}{'taken':>6}{'tokens':>7}{'seconds':>8}{'finding':>8}{'judging':>8}"
    shape = f"{{:{width}}}{{:6}}{{:6}}{{:6}}{{:7}}{{:8.1f}}{{:8.1f}}{{:8.1f}}"
    return "\n".join([head, *(shape.format(*row) for row in rows)])

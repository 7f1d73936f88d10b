"""What the user lets runs have: how many at a time, for how long, on which GPUs, and in which mode."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What the user sets for all runs of a reduction."""

    jobs: int
    timeout: float | None = None
    """Seconds for `python FILE`, imports and all; None: a few times what the original takes."""
    devices: tuple[str, ...] = ()
    """The GPUs, each with lanes of its own; none: the first."""
    mode: str | None = None
    """`cold` or `fork`, where the user insists on it; None: the cheapest that stands for a cold process."""

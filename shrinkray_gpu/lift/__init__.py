"""Lifting: the launch that faults, written down while the program runs, becomes a script with nothing but that launch.

It is the first trial of every reduction: where the fault lies in one launch and not in its history, hundreds of lines
are gone at once, and every later try is cheaper. `runner/inside/capture.py` writes the launch down in the user's
process; `emit` makes scripts of it. Whether they show the fault is for the search to find out.
"""

from __future__ import annotations

from shrinkray_gpu.lift.emit import lift, lifts
from shrinkray_gpu.runner.run import Run

__all__ = ["candidates", "lift", "lifts", "obstacles"]


def candidates(run: Run) -> tuple[str, ...]:
    """Scripts that may show the fault of a captured run, the likeliest and simplest first."""
    every = [lifts(launch) for launch in _launches(run)]
    return tuple(dict.fromkeys(text for texts in every for text in texts))


def obstacles(run: Run) -> tuple[str, ...]:
    """Why launches could not be lifted, for the user."""
    return tuple(f"{x['kernel']}: {x['trouble']}" for x in _launches(run) if x["trouble"])


def _launches(run: Run) -> list[dict[str, object]]:
    return list(run.captured["launches"]) if run.captured else []

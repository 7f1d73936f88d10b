"""Lifting: the launch that faults, written down while the program runs, becomes a script with nothing but that launch.

It comes before all else: where the fault lies in one launch and not in its history, hundreds of lines are gone at once,
and every later try is cheaper. `runner/inside/capture` writes launches down in the user's process; `emit` makes a
script of one, `launch_list` of the list of them. Whether those show the fault is for `start`, or the search, to find
out. A record that is broken has that for its obstacle (`schema.sound`), and no script.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from shrinkray_gpu.errors import bug_words
from shrinkray_gpu.lift.emit import lift, lifts, obstacle
from shrinkray_gpu.lift.launch_list import histories
from shrinkray_gpu.lift.refusals import beyond
from shrinkray_gpu.runner.inside.capture.blackbox import SUSPECTS
from shrinkray_gpu.runner.inside.capture.compilations import ONLY_COMPILED
from shrinkray_gpu.runner.inside.capture.schema import LaunchRecord
from shrinkray_gpu.runner.run import Run

__all__ = ["Offer", "candidates", "histories", "lift", "lifts", "obstacles", "offers", "suspect_kernels"]


@dataclass(frozen=True)
class Offer:
    """A script that may show the fault, and where it comes from."""

    text: str
    kernel: str
    launch: int | None = None
    """Which launch of the run it is, from 0, if any kernel got that far."""
    graph: bool = False
    """Whether it was recorded in a CUDA graph; in the script it is a plain launch."""
    compiled: bool = False
    """Whether it was compiled only, and launched by nobody."""


def offers(run: Run, kernel: str = "") -> tuple[Offer, ...]:
    """Scripts that may show the fault of a captured run. Where nobody knows which launch it was, each of the suspects
    comes in its simplest form before any of them comes in another.

    `kernel`: what is known to fault. Its launches come first, however long before the last one they were."""
    found: dict[str, Offer] = {}
    named = [x for x in _launches(run) if kernel and x["kernel"] == kernel]
    suspects = named[:SUSPECTS] or _suspects(run)
    every = [[_offer(text, x) for text in _texts(x)[0]] for x in suspects]
    for row in zip_longest(*every):
        for offer in row:
            if offer is not None:
                found.setdefault(offer.text, offer)
    return tuple(found.values())


def candidates(run: Run) -> tuple[str, ...]:
    """The texts of these."""
    return tuple(offer.text for offer in offers(run))


def obstacles(run: Run) -> tuple[str, ...]:
    """Why launches could not be lifted, for the user."""
    found = [f"{x['kernel']}: {why}" for x in _suspects(run) if (why := _texts(x)[1])]
    return tuple(dict.fromkeys([*found, *filter(None, [beyond(run)])]))


def _texts(launch: LaunchRecord) -> tuple[tuple[str, ...], str]:
    """The scripts of a launch, and why there are none. One that we fail to write down is not what the user came for."""
    try:
        return lifts(launch), obstacle(launch)
    except Exception as error:  # whatever it is: there are other launches, and the program itself
        return (), f"a bug of shrink's own keeps it from being written down ({bug_words(error)})"


def _offer(text: str, launch: LaunchRecord) -> Offer:
    only_compiled = launch.get("how") in ONLY_COMPILED
    return Offer(text, launch["kernel"], launch.get("launch"), bool(launch.get("graph")), only_compiled)


def suspect_kernels(run: Run) -> frozenset[str]:
    """The kernels whose launches may be the one that faults."""
    return frozenset(x["kernel"] for x in _launches(run))


def _suspects(run: Run) -> list[LaunchRecord]:
    return _launches(run)[:SUSPECTS]


def _launches(run: Run) -> list[LaunchRecord]:
    return list(run.captured["launches"]) if run.captured else []

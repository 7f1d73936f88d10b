"""Lifting: the launch that faults, written down while the program runs, becomes a script with nothing but that launch.

It comes before all else: where the fault lies in one launch and not in its history, hundreds of lines are gone at once,
and every later try is cheaper. `runner/inside/capture` writes launches down in the user's process; `emit` makes a
script of one, `launch_list` of the list of them. Whether those show the fault is for `start`, or the search, to find
out. A record that is broken has that for its obstacle (`schema.sound`), and no script.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import zip_longest

from shrinkray_gpu.errors import bug_words
from shrinkray_gpu.lift.decisive import Decisive, in_launch, made_before, pointers_in, with_exact
from shrinkray_gpu.lift.emit import lift, lifts, obstacle
from shrinkray_gpu.lift.launch_list import histories
from shrinkray_gpu.lift.refusals import beyond
from shrinkray_gpu.runner.inside.capture.blackbox import SUSPECTS
from shrinkray_gpu.runner.inside.capture.compilations import ONLY_COMPILED
from shrinkray_gpu.runner.inside.capture.schema import LaunchRecord
from shrinkray_gpu.runner.run import Run

__all__ = [
    "Offer",
    "candidates",
    "histories",
    "lift",
    "lifts",
    "list_takes_pointers",
    "obstacles",
    "offers",
    "suspect_kernels",
]


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
    decided: bool = False
    """Whether what its tensors hold decides where it goes: contents that are made up may show a fault of their own."""
    made_before: bool = False
    """Whether what decides was written by an earlier launch, whose mistake it may be."""
    pointers: bool = False
    """Whether it takes numbers as addresses, which say nothing in another process."""


def offers(run: Run, kernel: str = "", *, exact: bool = False) -> tuple[Offer, ...]:
    """Scripts that may show the fault of a captured run. Where nobody knows which launch it was, each of the suspects
    comes in its simplest form before any of them comes in another.

    `kernel`: what is known to fault. Its launches come first, however long before the last one they were.
    `exact`: what decides where a launch goes is as it was recorded, by no recipe."""
    found: dict[str, Offer] = {}
    named = [x for x in _launches(run) if kernel and x["kernel"] == kernel]
    suspects = named[:SUSPECTS] or _suspects(run)
    history = run.captured.get("history") if run.captured else None
    every = []
    for launch in suspects:
        known = in_launch(launch)
        about = _about(launch, known, made_before(history, launch["kernel"]))
        texts, _ = _texts(with_exact(launch, known) if exact else launch)
        every.append([replace(about, text=text) for text in texts])
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


def _about(launch: LaunchRecord, known: Decisive, made_before: bool) -> Offer:
    return Offer(
        "",
        launch["kernel"],
        launch.get("launch"),
        graph=bool(launch.get("graph")),
        compiled=launch.get("how") in ONLY_COMPILED,
        decided=bool(known.decide),
        made_before=made_before,
        pointers=bool(known.pointers),
    )


def list_takes_pointers(run: Run) -> bool:
    """Whether a launch of the run takes numbers as addresses."""
    return pointers_in(run.captured.get("history") if run.captured else None)


def suspect_kernels(run: Run) -> frozenset[str]:
    """The kernels whose launches may be the one that faults."""
    return frozenset(x["kernel"] for x in _launches(run))


def _suspects(run: Run) -> list[LaunchRecord]:
    return _launches(run)[:SUSPECTS]


def _launches(run: Run) -> list[LaunchRecord]:
    return list(run.captured["launches"]) if run.captured else []

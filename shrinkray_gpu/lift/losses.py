"""What the scripts made of a run lack of the program: where none shows the fault, it is believed to hang on that.

Values, aliasing and history are told by what could not be written down. If nothing is missing there, time is left: a
script waits in other places, and does nothing else between its launches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from shrinkray_gpu.lift.inputs import tensors
from shrinkray_gpu.lift.values import itemsize
from shrinkray_gpu.runner.inside.capture.blackbox import SUSPECTS
from shrinkray_gpu.runner.inside.capture.schema import HistoryRecord, LaunchRecord
from shrinkray_gpu.runner.run import Run

TOLD = 3
"""Tensors named of one kind."""
_SUMMED_UP = frozenset({"range", "normal", "bool", "other"})
"""Contents that are told by a sample alone."""


def lost_properties(run: Run) -> tuple[str, ...]:
    """What is missing in the scripts of a run that was captured with its values, one property each."""
    if not run.captured:
        return ()
    launches = run.captured["launches"][:SUSPECTS]
    return tuple(filter(None, (_values(launches), _aliasing(launches), _history(run.captured.get("history")))))


def _values(launches: Sequence[LaunchRecord]) -> str:
    names = []
    for launch in launches:
        for argument in launch.get("arguments", ()):
            names += [
                f"{argument['name']} of {launch['kernel']} ({why})" for t in tensors(argument) if (why := _lacks(t))
            ]
    names = list(dict.fromkeys(names))
    more = f" and {len(names) - TOLD} more" if len(names) > TOLD else ""
    return f"values: not written down is {', '.join(names[:TOLD])}{more}" if names else ""


def _lacks(tensor: Mapping[str, Any]) -> str:
    """Why what a tensor holds is not known in full; empty if it is."""
    content = tensor.get("content")
    if content is None:
        return ""
    if content["kind"] == "unknown":
        return str(content.get("why", "nobody could look"))
    if content["kind"] in _SUMMED_UP and not content.get("exact"):
        size = math.prod(tensor["shape"]) * itemsize(tensor["dtype"])
        return f"{size / 2**20:,.0f} MiB are too many" if size >= 2**20 else "its elements were not saved"
    return ""


def _aliasing(launches: Sequence[LaunchRecord]) -> str:
    names = [str(launch["kernel"]) for launch in launches if launch.get("overlap")]
    if not names:
        return ""
    return f"aliasing: arguments of {names[0]} overlap without sharing a storage, and in the list of launches do not"


def _history(history: HistoryRecord | None) -> str:
    if history is None:
        return ""
    if history["left_out"]:
        kept = len(history["events"])
        return f"history: the list of launches has the latest {kept:,} events, {history['left_out']:,} came before"
    if history["trouble"]:
        return f"history: in the list of launches one is missing ({history['trouble'][0]})"
    return ""

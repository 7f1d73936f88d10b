"""The lines above a repro that say what it shows, on what, and how it is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shrinkray_gpu.device import architectures
from shrinkray_gpu.evidence.other_faults import add_comment

_NAMES = {
    "gpu": "",
    "driver": "driver ",
    "torch": "torch ",
    "triton": "Triton ",
    "helion": "Helion ",
    "python": "Python ",
}


def platform_of(versions: Mapping[str, str], arch: int | None) -> str:
    """What it was seen on, in a line."""
    words = [f"{word}{versions[name]}" for name, word in _NAMES.items() if versions.get(name)]
    return ", ".join([*([f"compiled for {architectures.name(arch)} without a GPU"] if arch else []), *words])


def header_added(text: str, *, shows: str, seen: str, run: Sequence[str], origin: str) -> str:
    """The repro under its header. Lines that must stay the first ones stay."""
    rows = [f"Shows: {shows}", f"Seen:  {seen}", *(f"Run:   {how}" for how in run), f"From:  {origin}"]
    return add_comment(text, rows)

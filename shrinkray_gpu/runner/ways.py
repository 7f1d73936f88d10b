"""A way to run a program: as it is, or with one knob turned. The program's text is the same in all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Way:
    """How a run differs from the plain one. Controls and `differs:` are made of these."""

    name: str
    """Canonical text; `parse` makes the same way of it again."""
    knobs: Mapping[str, str] = field(default_factory=dict)
    """Turned by the worker, at launch or in the kernel's tree: `{"num_stages": "1"}`."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """For the whole process, from its start."""
    python: str = ""
    """Another interpreter, with another Triton; empty: the same one."""


PLAIN = Way("as it is")

"""What may be asked of a reduction of a folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class FolderOptions:
    """How to reduce. Everything but the command has a default."""

    command: tuple[str, ...]
    """Run in the folder; a program named with a slash is looked for there."""
    environment: Mapping[str, str] = field(default_factory=dict)
    oracles: tuple[str, ...] = ()
    """What must persist, as SPECs; empty: the fault seen."""
    rejects: tuple[str, ...] = ()
    writable: tuple[Path, ...] = ()
    """Where the command may write beside its copy."""
    guards: bool = True
    """Whether a candidate may say no error that the original does not say."""
    jobs: int = 1
    """Copies in which the command runs at a time."""
    timeout: float | None = None
    """Seconds that a run may take; None: from the first runs."""
    max_time: float = 3600.0
    """Seconds of search."""
    confidence: float = 0.95
    """That a candidate is not refused by chance, where the fault shows in some runs only."""
    seed: int = 0

"""What may be asked of a reduction of PTX."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class PtxOptions:
    """How to reduce. Everything but the ptxas has a default."""

    ptxas: Path
    arch: str = ""
    """`sm_90`; empty: what the file's .target names."""
    flags: tuple[str, ...] = ()
    """For ptxas, as `-O1`; empty: those that the file's head names."""
    oracle: tuple[str, ...] = ()
    """What ptxas must say as it fails, WORDS or `compile:REGEX`; empty: what the file's head names, else whatever it
    says first."""
    seconds: float = 120.0
    """After which a ptxas that has not ended counts as one that does not end."""
    jobs: int = 1
    """Processes at a time."""
    max_time: float = 600.0
    """Seconds of search."""
    seed: int = 0
    """Another order in which changes are tried; 0: that of the text."""

"""What may be asked of a reduction of a .cu."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shrinkray_gpu.oracle.guarded_pattern import Pattern


def holds_cu(path: Path) -> bool:
    """Whether a file is to be taken for a CUDA program."""
    return path.suffix.lower() == ".cu"


@dataclass(frozen=True)
class AskedWords:
    """What nvcc or the program must say."""

    pattern: Pattern
    spec: str
    builds: bool = False
    """Whether only nvcc may say it (`build:`)."""


@dataclass(frozen=True, kw_only=True)
class CuOptions:
    """How to reduce. Everything but nvcc has a default."""

    nvcc: Path
    arch: int | None = None
    """Compute capability times ten: compile for it, and launch nothing. None: as the nvcc line says, and the run is
    that of this machine's GPU, if it has one."""
    flags: tuple[str, ...] | None = None
    """For nvcc; None: those of the file's head."""
    words: tuple[AskedWords, ...] = ()
    """What must be said; empty: whatever goes wrong first."""
    argv: tuple[str, ...] = ()
    """Of the program."""
    environment: Mapping[str, str] = field(default_factory=dict)
    cwd: Path = Path()
    skip: frozenset[str] = frozenset()
    """Names of passes that are left out."""
    keep: frozenset[str] = frozenset()
    """Names of definitions that stay."""
    resume: bool = False
    """Go on with an earlier reduction that has not come to its end."""
    restart: bool = False
    """Forget it."""
    seconds: float | None = None
    """For one try; None: ten times what the original took."""
    jobs: int | None = None
    """Tries at a time; None: one for each core that may be used, or as many as the cluster has room for."""
    ray: str | None = None
    """Address of a Ray cluster that judges what the search tries."""
    accelerator: str = ""
    """The kind of its GPUs that is used, by Ray's names."""
    max_time: float = 600.0
    """Seconds of search."""
    seed: int = 0

"""What may be asked of a reduction of IR."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shrinkray_gpu.intermediate.pass_table import PassCall
from shrinkray_gpu.oracle.guarded_pattern import Pattern


@dataclass(frozen=True, kw_only=True)
class IrOptions:
    """How to reduce. Everything but the interpreter has a default."""

    python: str
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    arch: str = ""
    """`sm_90`, `gfx942`: whose pipeline runs where the file names no passes."""
    words: tuple[Pattern, ...] = ()
    """What the compiler must say as it fails; empty: whatever it says at first."""
    passes: tuple[PassCall, ...] = ()
    """Instead of those that the file names."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Options of the compiler: `num_warps`, `num_stages`, ..."""
    max_time: float = 600.0
    """Seconds of search."""
    seed: int = 0
    """Another order in which changes are tried; 0: that of the text."""

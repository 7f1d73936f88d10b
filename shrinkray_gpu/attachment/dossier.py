"""All that an attachment tells, gathered before a word of it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shrinkray_gpu.attachment.compiled_code import Code
from shrinkray_gpu.attachment.course import CoursePoint
from shrinkray_gpu.attachment.experiments import Experiment, Experiments
from shrinkray_gpu.attachment.site import FaultSite
from shrinkray_gpu.evidence.evidence import Evidence


@dataclass(frozen=True)
class PassingVariant:
    """The nearest passing variant."""

    experiment: Experiment
    diff: str
    """Of the repro's text, unified."""
    code: Code
    differences: Mapping[str, str]
    """Of the compiled code, by stage."""
    confirmed: str = ""
    """How it fared once more in a process of its own."""


@dataclass(frozen=True)
class Dossier:
    """Everything, unscrubbed."""

    told: Mapping[str, Any]
    """`result.json`."""
    name: str
    """Of the repro's file."""
    text: str
    """The repro under its header."""
    before: str
    """The program that was reduced; empty where it is not known any more."""
    evidence: Evidence
    card: str
    code: Code
    site: FaultSite
    trials: Experiments
    build: str
    environment: Mapping[str, Any]
    passing: PassingVariant | None = None
    reproducers: Mapping[str, str] = field(default_factory=dict)
    """Of a compiler crash: MLIR from just before the pass that fails, by file name."""
    course: tuple[CoursePoint, ...] = ()
    price: float | None = None
    """Of an hour of GPU."""
    version: str = ""
    stem: str = ""
    """Of the folder, `<stem>.shrink`."""

    @property
    def gpu(self) -> bool:
        """Whether a real GPU showed the fault."""
        return self.told.get("arch") is None and "gpu" in self.environment

    @property
    def wall(self) -> float:
        """Seconds that the reduction took."""
        spent = self.told.get("seconds", {})
        return float(sum(spent.get(name, 0.0) for name in ("start", "search", "check")))

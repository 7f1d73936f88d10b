"""All that an attachment tells, gathered before a word of it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shrinkray_gpu.attachment.course import CoursePoint
from shrinkray_gpu.attachment.measurements import Measurements
from shrinkray_gpu.attachment.site import FaultSite


@dataclass(frozen=True, kw_only=True)
class Dossier(Measurements):
    """Everything, unscrubbed: what was measured, and what the reduction told."""

    told: Mapping[str, Any]
    """`result.json`."""
    name: str
    """Of the repro's file."""
    before: str
    """The program that was reduced; empty where it is not known any more."""
    card: str
    site: FaultSite
    environment: Mapping[str, Any]
    course: tuple[CoursePoint, ...]
    price: float | None
    """Of an hour of GPU."""
    version: str
    stem: str
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

"""All that an attachment tells, gathered before a word of it is written."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shrinkray_gpu.attachment.course import CoursePoint
from shrinkray_gpu.attachment.forms import Form
from shrinkray_gpu.attachment.measurements import Measurements
from shrinkray_gpu.attachment.site import FaultSite

TWIN = "twin.py"


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
    form: Form
    """For whom the issue is written."""

    @property
    def gpu(self) -> bool:
        """Whether a real GPU showed the fault."""
        return self.told.get("arch") is None and "gpu" in self.environment

    @property
    def twin(self) -> str:
        """The repro's healthy twin under the same header; empty where none is known, or of another text than this."""
        shown, twin = str(self.told.get("text", "")), str((self.told.get("twin") or {}).get("text", ""))
        at = len(os.path.commonprefix([self.text, shown]))
        header = self.text[at : at + len(self.text) - len(shown)]
        same = shown[:at] + header + shown[at:] == self.text and twin[:at] == shown[:at]
        return twin[:at] + header + twin[at:] if twin and same else ""

    @property
    def twin_diff(self) -> str:
        """What the healthy twin changes in the repro."""
        before, after = self.text.splitlines(), self.twin.splitlines()
        lines = difflib.unified_diff(before, after, self.name, TWIN, n=1, lineterm="") if self.twin else ()
        return "\n".join(lines)

    @property
    def wall(self) -> float:
        """Seconds that the reduction took."""
        spent = self.told.get("seconds", {})
        return float(sum(spent.get(name, 0.0) for name in ("start", "search", "check")))

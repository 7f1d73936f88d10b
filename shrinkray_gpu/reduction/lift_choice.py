"""What a reduction works on in place of the user's program, as the journal keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from shrinkray_gpu.oracle.cause_check import LaunchCauses
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.run import Run


@dataclass(frozen=True)
class LiftChoice:
    run: Run
    """That showed the fault."""
    text: str | None = None
    """The lifted script; None: the program as the user gave it."""
    told: str = ""
    alone: bool = False
    history: bool = False
    bare: bool = False
    merged: bool = False
    kept: LaunchCauses | None = None
    """What must not be lost of the original's cause."""
    fault: Fault | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LiftChoice:
        """What `to_json` made. Raises one of `journal_lines.UNFIT` where it is not that."""
        kept, fault = data["kept"], data["fault"]
        return cls(
            Run.from_json(data["run"]),
            data["text"],
            data["told"],
            data["alone"],
            data["history"],
            data["bare"],
            data["merged"],
            LaunchCauses.from_json(kept) if kept is not None else None,
            Fault.from_json(fault) if fault is not None else None,
        )

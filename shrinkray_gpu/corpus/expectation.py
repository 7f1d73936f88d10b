"""What replaying a case showed, and whether that is what the case expects of this Triton."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from packaging.version import InvalidVersion, Version

from shrinkray_gpu.corpus.case import Case
from shrinkray_gpu.oracle import Fault


class Status(Enum):
    FAULTS = "still faults"
    FIXED = "fixed"
    CHANGED = "changed fault"
    FLAKY = "flaky"
    FORMAT = "format changed"
    """Of IR: this release does not parse it, or has no such pass."""
    CANNOT = "cannot run here"
    BROKEN = "broken case"


_MEANT = {"faults": Status.FAULTS, "fixed": Status.FIXED, "changed": Status.CHANGED, "flaky": Status.FLAKY}

_KINDS: Mapping[str, tuple[type, ...]] = {
    "why": (str,), "shown": (int,), "runs": (int,), "seconds": (int, float), "environment": (str,), "versions": (dict,),
}  # fmt: skip


@dataclass(frozen=True)
class CaseConclusion:
    """What all runs of a case say together."""

    status: Status
    why: str = ""
    fault: Fault | None = None
    """The fault seen, if any."""
    shown: int = 0
    runs: int = 0

    @property
    def tells(self) -> bool:
        """Whether this is an answer: the case was run, or nobody can read it."""
        return self.status not in (Status.CANNOT, Status.FORMAT)


@dataclass(frozen=True, kw_only=True)
class CaseOutcome(CaseConclusion):
    """One case in one environment."""

    case: Case
    environment: str
    """What the table calls it: `triton 3.7.1`."""
    versions: Mapping[str, str]
    seconds: float = 0.0
    host: str = ""
    """That ran it."""

    @property
    def expectation(self) -> Status | None:
        """What the case expects of this Triton; None where it says nothing."""
        return expected_status(self.case, self.versions.get("triton", ""))

    @property
    def surprising(self) -> bool:
        """Whether something changed: what a regression check is for.

        Of a Triton that the case says nothing of, neither the fault nor its absence is a surprise; another fault than
        the one that the case was kept for always is, and so is a case that cannot be read.
        """
        if self.status is Status.BROKEN:
            return True
        if not self.tells or self.status is self.expectation:
            return False
        if self.expectation is None:
            return self.status is Status.CHANGED
        # A flaky fault that shows in all of a few runs, or the other way round, is no news.
        return {self.status, self.expectation} != {Status.FLAKY, Status.FAULTS}

    @property
    def expectation_text(self) -> str:
        """What is expected, in words."""
        return self.expectation.value if self.expectation else "nothing in particular"

    def to_json(self) -> dict[str, Any]:
        """What it is, and what the case expects."""
        return {
            "status": self.status.value,
            "expected": self.expectation.value if self.expectation else None,
            "as expected": not self.surprising,
            "why": self.why,
            "fault": asdict(self.fault) if self.fault else None,
            "was": asdict(self.case.fault) if self.case.fault else None,
            "shown": self.shown,
            "runs": self.runs,
            "seconds": round(self.seconds, 3),
        }

    def to_row(self) -> dict[str, Any]:
        """The same, with where it was seen: all that `of` needs."""
        return {**self.to_json(), "environment": self.environment, "versions": dict(self.versions)}

    @classmethod
    def of(cls, case: Case, row: Mapping[str, Any]) -> CaseOutcome:
        """What `to_row` made, as JSON brings it back. Raises TypeError, KeyError or ValueError for all else."""
        told = {name: row[name] for name in _KINDS}
        for name, value in [*told.items(), *(("why", version) for version in told["versions"].values())]:
            if not isinstance(value, _KINDS[name]):
                raise TypeError(f"{name} is {value!r}")
        fault = Fault.from_json(row["fault"]) if row["fault"] else None
        return cls(Status(row["status"]), fault=fault, case=case, host=row.get("host", ""), **told)

    def __str__(self) -> str:
        count = f" {self.shown} of {self.runs}" if self.status is Status.FLAKY else ""
        return f"{self.status.value}{count}"


def expected_status(case: Case, triton: str) -> Status | None:
    """By the first range that this version is in; a pre-release counts as its release, whose code it has."""
    try:
        version = Version(Version(triton).base_version)
    except InvalidVersion:
        return None
    return next((_MEANT[what] for range_, what in case.expect if version in range_), None)

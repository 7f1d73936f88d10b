"""The form of a lane's report on one candidate, which becomes a `runner.run.Run`. The tool checks it when it arrives.

A candidate shares its process with what reports on it, and may leave that in any state: a report that is broken says
nothing of the candidate.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, TypedDict

from .process.schema_check import wrong


class FailureReport(TypedDict):
    type: str
    text: str
    bases: List[str]
    line: Optional[int]
    traceback: str


class CompileReport(TypedDict):
    kernel: str
    hash: str
    ttir_key: str
    casts: List[str]
    options: Dict[str, Any]
    failure: Optional[FailureReport]
    printed: str
    ir: Dict[str, Any]


class LaunchReport(TypedDict):
    kernel: str
    hash: str
    grid: List[int]
    args: List[str]
    synced: bool
    fault: str


class BuildReport(TypedDict):
    name: str
    printed: str
    failed: bool


class Report(TypedDict):
    exit: int
    failure: Optional[FailureReport]
    driver_error: int
    virtual: bool
    compiles: List[CompileReport]
    launches: List[LaunchReport]
    builds: List[BuildReport]
    values: Dict[str, Any]
    captured: Any
    """`capture.schema.Captured` or nothing, with a check of its own: a broken record spoils no run."""
    turned: Dict[str, Any]
    differences: List[Dict[str, Any]]
    incomparable: str
    peak: int
    """Bytes of device memory."""
    fresh: bool
    over: str
    """Why the lane takes no other candidate; empty if it does."""


def check(report: Any) -> List[str]:
    """Why this is no `Report`, one place and reason each; empty if it is one."""
    return list(wrong(Report, report, "report"))

"""What becomes of failures that are run again, several at a time; and what a run without the GPU says of one on it."""

from __future__ import annotations

import math
import sys
from contextlib import closing
from pathlib import Path

import pytest

from shrinkray_gpu.cells.this_machine import ThisMachine
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.triage.fault_origin import BY_IR, BY_LINES, BY_RULE, FaultOrigin
from shrinkray_gpu.triage.reported import ReportedFailure
from shrinkray_gpu.triage.reruns import Rerun, TriagePlace, is_followed
from shrinkray_gpu.triage.triage import TriageAsked, TriageWork, run_each
from shrinkray_gpu.triage.triage_journal import TriageJournal

ILLEGAL = Fault(phase="device", klass="an illegal memory access was encountered", code=700, near="gelu")


@pytest.mark.parametrize(
    "fault, by, kernel, follows",
    [
        (ILLEGAL, BY_IR, "gelu", True),
        (ILLEGAL, BY_RULE, "gelu", True),
        (ILLEGAL, BY_LINES, "gelu", False),
        (ILLEGAL, BY_IR, "rope", False),
        (Fault(phase="device", klass=ILLEGAL.klass, code=700, kernel="rope", near="gelu"), BY_IR, "rope", True),
        (Fault(phase="device", klass=ILLEGAL.klass, code=700), BY_IR, "", False),
    ],
)
def test_a_cause_is_of_the_kernel_in_which_the_gpu_faulted(fault: Fault, by: str, kernel: str, follows: bool) -> None:
    assert is_followed(fault, Rerun(origin=FaultOrigin(by, "missing mask", kernel))) is follows


def test_without_a_cause_nothing_follows() -> None:
    assert not is_followed(ILLEGAL, Rerun())


def test_several_at_a_time_are_what_each_is_alone(tmp_path: Path) -> None:
    names = [f"test_it.py::test_{at}" for at in range(5)]
    text = [f"def test_{at}(): raise ValueError('no. {at}')\n" for at in range(5)]
    (tmp_path / "test_it.py").write_text("".join(text))
    place = TriagePlace(sys.executable, None, {}, tmp_path, 120.0)
    reports = [ReportedFailure(name, "log", "", "", name) for name in names]
    with closing(ThisMachine(3)) as engine, closing(TriageJournal(tmp_path / "triage", {}, {})) as journal:
        work = TriageWork(TriageAsked((), (), tmp_path), place, engine, journal, lambda line: None)
        run_each(work, reports, math.inf)
        found = {name: rerun.message for name, rerun in journal.reruns.items() if rerun.is_seen}
    assert found == {name: f"ValueError: no. {at}" for at, name in enumerate(names)}

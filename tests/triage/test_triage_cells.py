"""Cells of a triage: what becomes of them on another host, and which member of a cluster is reduced."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from shrinkray_gpu.cells.cell import Row
from shrinkray_gpu.triage.clusters import FailureMember
from shrinkray_gpu.triage.reductions import LEFT, REDUCED, Reducing, reduced
from shrinkray_gpu.triage.reported import ReportedFailure
from shrinkray_gpu.triage.reruns import Reruns, TriagePlace
from shrinkray_gpu.triage.triage_cells import FILES, JOBS, ReductionCell, TriageCell

KERNEL = """\
import torch, triton, triton.language as tl

@triton.jit
def fill(x, N: tl.constexpr):
    tl.store(x + tl.arange(0, N), 1.0)

def test_a():
    fill[(1,)](torch.zeros(48, device="cuda"), N=48)
"""
HELD = ReportedFailure("held.json", "held.json", "ValueError: no", capsule="/caps/held.json")


def place(cwd: Path, **others: str) -> TriagePlace:
    return TriagePlace(sys.executable, 90, others, cwd, 120.0)


@dataclass(frozen=True)
class _Says(TriageCell):
    """A row with names of where it is run, and files that have them."""

    def answer(self, lanes: Reruns) -> Row:
        here = str(lanes.place.cwd)
        return {"at": f"{here}/a.py", FILES: {"told": f"in {here}".encode(), "bytes": b"\xff" + here.encode()}}

    def lost(self, why: str) -> Row:
        return {}


def test_a_row_of_another_host_has_the_names_of_this_one(tmp_path: Path) -> None:
    here, there = tmp_path / 'my "tests"', tmp_path / "there"
    cell = _Says(place(here, PYTHONPATH=f"{here}/src:/lib")).moved({here: there})
    assert cell.where.environment == {"PYTHONPATH": f"{there}/src:/lib"}
    with cell.open(1) as lanes:
        row = cell.run(lanes)
    binary = b"\xff" + str(there).encode()
    assert row == {"at": f"{here}/a.py", FILES: {"told": f"in {here}".encode(), "bytes": binary}}


def test_a_reduction_elsewhere_begins_anew_with_its_capsules_and_few_lanes(tmp_path: Path) -> None:
    asked = Reducing(60.0, ("--no-report",), resumes=True)
    cell = ReductionCell(
        place(tmp_path), members=(FailureMember((HELD,)),), reducing=asked, folder=tmp_path / "out", until=math.inf
    )
    places: Mapping[Path, Path] = {tmp_path: Path("/there"), Path("/caps/held.json"): Path("/there/held.json")}
    assert list(cell.files) == list(places) and cell.cores == JOBS
    moved = cell.moved(places)
    assert moved.members[0].reports[0].capsule == "/there/held.json" and not moved.reducing.resumes
    assert moved.reducing.words == ("--jobs", str(JOBS), "--no-report")
    own = replace(cell, reducing=replace(asked, words=("--jobs", "5")))
    assert own.cores == 5 and own.moved(places).reducing.words == ("--jobs", "5")
    assert replace(cell, until=0.0).is_late and not cell.is_late


def test_where_the_cheapest_does_not_show_its_fault_another_one_is_reduced(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_gone(): pass\ndef test_fails(): raise ValueError('no')\n")
    nodes = ("test_it.py::test_gone", "test_it.py::test_fails", "test_it.py::test_no_more")
    members = [FailureMember((ReportedFailure(node, "log", "ValueError: no", "", node),)) for node in nodes]
    where = TriagePlace(sys.executable, None, {}, tmp_path, 120.0)
    told = reduced(members, where, Reducing(1.0), tmp_path / "out", 1.0)
    assert (told["member"], told["state"]) == (nodes[1], LEFT), told


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_issue_is_beside_the_repro_wherever_this_process_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker of Ray's stands in a folder of its own."""
    pytest.importorskip("triton")
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "test_it.py").write_text(KERNEL)
    monkeypatch.chdir(tmp_path)
    member = FailureMember((ReportedFailure("test_it.py::test_a", "log", "no", "", "test_it.py::test_a"),))
    where = TriagePlace(sys.executable, 90, {}, suite, 120.0)
    told = reduced([member], where, Reducing(1.0), suite / "out" / "a", 1.0)
    assert (told["state"], told["issue"]) == (REDUCED, "ISSUE.md"), told

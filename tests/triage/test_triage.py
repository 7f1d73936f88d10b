"""The order in which failures are run: one of each kind of text before a second one of any; and who is reduced."""

from __future__ import annotations

import math
import sys
from contextlib import closing
from pathlib import Path

from shrinkray_gpu.cells.this_machine import ThisMachine
from shrinkray_gpu.triage.reported import ReportedFailure
from shrinkray_gpu.triage.reruns import TriagePlace
from shrinkray_gpu.triage.triage import TriageAsked, TriageWork, in_turn, run_again, run_each
from shrinkray_gpu.triage.triage_journal import TriageJournal
from tests.triage.test_clusters import report

COIN = """\
import pathlib, pytest

@pytest.mark.parametrize("at", [0, 1, 2])
def test_it(at):
    log = pathlib.Path(f"{at}.log")
    log.write_text(log.read_text() + "x" if log.exists() else "x")
    if at or log.read_text() == "x":
        raise ValueError("no")
"""


def test_one_of_each_kind_comes_before_a_second_one_and_each_test_once() -> None:
    reports = [
        report("test_0[1]", "ValueError: a"),
        report("test_0[2]", "ValueError: a"),
        report("test_0[1]", "ValueError: a", "other.xml"),
        report("test_1", "TypeError: b"),
    ]
    names = [each.name.partition("::")[2] for each in in_turn(reports)]
    assert names == ["test_0[1]", "test_1", "test_0[2]"]


def test_a_test_that_failed_at_once_by_chance_gives_way_to_one_that_always_fails(tmp_path: Path) -> None:
    """Whichever engine saw it: it is run more often, and so is who comes after it; the others are not."""
    (tmp_path / "test_it.py").write_text(COIN)
    reports = [
        ReportedFailure(f"test_it.py::test_it[{at}]", "log", "", "", f"test_it.py::test_it[{at}]") for at in (0, 1, 2)
    ]
    place = TriagePlace(sys.executable, None, {}, tmp_path, 120.0)
    with closing(ThisMachine(1)) as engine, closing(TriageJournal(tmp_path / "triage", {}, {})) as journal:
        work = TriageWork(TriageAsked((), (), tmp_path), place, engine, journal, lambda line: None)
        run_each(work, reports, math.inf)
        [cluster] = run_again(work, reports, {"another"}, math.inf)
        assert cluster.cheapest is not None and cluster.cheapest.name == reports[0].name
        [cluster] = run_again(work, reports, {cluster.name}, math.inf)
        assert [each.name[-2] for each in cluster.members] == ["1", "2", "0"] and cluster.members[2].is_flaky
    assert [(tmp_path / f"{at}.log").read_text() for at in (0, 1, 2)] == ["xx", "xxxx", "x"]

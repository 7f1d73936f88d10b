"""A planted fault is reduced and judged as a cell, by the engine of this machine."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest
from seeding import reducing, runs, verdicts
from seeding.seeded_cells import LATE, SeededCell, VerdictCell

from shrinkray_gpu.cells.this_machine import ThisMachine
from tests.seeding.test_seeded_peers import fault, site

__all__ = ["site"]
pytestmark = pytest.mark.timeout(300)


def test_a_fault_is_reduced_and_judged_and_one_that_comes_too_late_is_not(site: Path, tmp_path: Path) -> None:
    cells = [
        SeededCell(fault(module), runs.Machine(90), tmp_path / module, 200.0, ("--no-guards",), until=until)
        for module, until in (("near", time.time() + 1000), ("kernel", 0.0))
    ]
    with closing(ThisMachine(1)) as engine:
        rows = {index: row for index, row in engine.run(cells)}
    assert rows[1].pop("host") == rows[0].pop("host")
    assert rows[1] == {LATE: True} and not (tmp_path / "kernel").exists()
    told = reducing.Row(**rows[0])
    assert (told.verdict, told.name) == ("true", fault("near").name), told
    text = (tmp_path / "near" / "repro.py").read_text()
    assert told.lines == sum(bool(line.strip()) for line in text.splitlines()) < 9


def test_whose_a_fault_is_is_asked_by_cells_too(site: Path, tmp_path: Path) -> None:
    cells = [
        VerdictCell(fault("near"), runs.Machine(90), tmp_path / "asked", 200.0, until=until)
        for until in (time.time() + 1000, 0.0)
    ]
    with closing(ThisMachine(1)) as engine:
        rows = {index: row for index, row in engine.run(cells)}
    assert rows[1].pop("host") == rows[0].pop("host")
    assert rows[1] == {LATE: True} and not (tmp_path / "asked").exists()
    told = verdicts.VerdictRow(**rows[0])
    assert told.name == fault("near").name and told.told in (told.true, verdicts.UNKNOWN) and told.seconds > 0, told
    lost = verdicts.VerdictRow(**cells[0].lost("its hosts were lost"))
    assert (lost.told, lost.why, lost.line) == (verdicts.NONE, "its hosts were lost", told.line)

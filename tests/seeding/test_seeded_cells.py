"""A planted fault is reduced and judged as a cell, by the engine of this machine."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest
from seeding import reducing, runs
from seeding.seeded_cells import LATE, SeededCell

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

"""A run of a candidate as a cell: what another machine answers is what this one would, in this one's names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.cells.cell import row_of
from shrinkray_gpu.cells.shipped_files import packed, unpacked
from shrinkray_gpu.cells.this_machine import ThisMachine
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.evidence.versions import versions
from shrinkray_gpu.job.try_cells import ClusterHosts, TriedProgram, TryCell, hosts_of
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.private_setup import private_setup
from shrinkray_gpu.runner.run import Run

TEXT = "import sys, rows\nprint(open('data.txt').read(), rows.__file__, sys.argv[1:])\nraise KeyError(__file__)\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "program"
    made.mkdir()
    (made / "rows.py").touch()
    (made / "data.txt").write_text("here")
    return made


@pytest.fixture
def setup(folder: Path) -> Setup:
    return private_setup(
        folder / "failing.shrink", {}, python=sys.executable, imports=(), own=(str(folder),), plain=True
    )


def script(folder: Path) -> Script:
    return Script(folder / "failing.py", (str(folder / "data.txt"),), folder)


@pytest.fixture
def hosts(folder: Path, setup: Setup) -> Iterator[ClusterHosts]:
    with closing(ThisMachine(1)) as engine:
        yield hosts_of(engine, folder / "failing.shrink", script(folder), setup, None)


def pool(folder: Path, setup: Setup, hosts: ClusterHosts | None) -> Pool:
    return Pool(script(folder), setup, mode="fork", jobs=1, seconds=30, hosts=hosts)


def seen(run: Run) -> tuple[object, ...]:
    return run.exit, run.stdout, run.failure, run.mode, run.trouble


def test_a_run_elsewhere_is_that_of_the_pool(folder: Path, setup: Setup, hosts: ClusterHosts) -> None:
    with closing(pool(folder, setup, None)) as here, closing(pool(folder, setup, hosts)) as there:
        found = there.run(TEXT)
        assert seen(found) == seen(here.run(TEXT)) and found.failure is not None and found.stdout.startswith("here")
        assert there.fence == here.fence
        assert sum(hosts.runs.values()) == 1
        there.run(TEXT, capture="launch")  # leaves files beside its answer
        assert sum(hosts.runs.values()) == 1


def test_where_the_folder_lies_elsewhere_nobody_sees_it(folder: Path, setup: Setup, tmp_path: Path) -> None:
    """As on another host: the folder as it was shipped, and the first one gone."""
    with closing(pool(folder, setup, None)) as here:
        expected = here.run(TEXT)
        program = TriedProgram(folder / "failing.shrink", (folder,), versions(sys.executable, {}, gpu=False), gpu=False)
        request, settings = here.script.request(TEXT), here.script.settings()
        cell = TryCell(program, here.script, replace(setup, python=""), here.terms, request, settings, False)
    there = {path: unpacked(path, packed(path), tmp_path) for path in cell.files}
    folder.rename(tmp_path / "gone")
    with closing(cell.moved(there).open(1)) as lanes:
        row = row_of(cell.moved(there), lanes)
    assert seen(Run.from_json(row["run"])) == seen(expected)
    assert str(folder / "rows.py") in expected.stdout and str(folder / "failing.py") in str(expected.failure)


def test_a_host_with_other_versions_judges_nothing(folder: Path, setup: Setup) -> None:
    with closing(ThisMachine(1)) as engine:
        found = {**versions(sys.executable, {}, gpu=False), "triton": "9.9"}
        hosts = ClusterHosts(engine, TriedProgram(folder / "failing.shrink", (folder,), found, gpu=False))
        with closing(pool(folder, setup, hosts)) as there:
            with pytest.raises(UsageError, match=r"it has triton \S+ for 9.9, and a verdict may hang on that"):
                there.run(TEXT)

"""Deleting what a reduction works with, while it does: real ones, of a program without a GPU."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from shrinkray_gpu.errors import FolderGone
from shrinkray_gpu.job.reduce import reduce
from shrinkray_gpu.judging.tiered_test import TieredTest
from shrinkray_gpu.options import Options
from shrinkray_gpu.reduction.outcome import ProgressEvent

TEXT = """\
first = list(range(10))
second = [value * 2 for value in first]
third = sum(second)
print(first, second, third)
print(first[third])
"""


def deleted(folder: Path, delete: Callable[[Path], None]) -> str:
    """What is said where `delete` is called with the folder of the reduction as soon as it has accepted a step."""
    (folder / "failing.py").write_text(TEXT)
    done: list[Path] = []

    def look(event: ProgressEvent, test: TieredTest) -> None:
        if event.kind == "accepted" and not done:
            done.append(folder / "failing.shrink")
            delete(done[0])

    options = Options(oracle=("exception:IndexError",), python=sys.executable, report=False)
    with pytest.raises(FolderGone) as told:
        reduce(folder / "failing.py", options, progress=look)
    assert told.value.exit_code == 2 and "\n" not in str(told.value)
    return str(told.value)


@pytest.mark.parametrize(
    ("delete", "what"),
    [
        (partial(shutil.rmtree, ignore_errors=True), "failing.shrink"),  # lanes may make a file in it meanwhile
        (lambda folder: folder.rename(folder.with_name("moved")), "failing.shrink"),
        (lambda folder: (folder / "journal.jsonl").unlink(), "failing.shrink/journal.jsonl"),
        (lambda folder: (folder / "scratch").rename(folder / "moved"), "failing.shrink/scratch"),
    ],
    ids=["the folder", "the folder moved", "the journal", "the scratch folder"],
)
def test_the_best_so_far_is_saved_in_place_of_the_result(
    tmp_path: Path, delete: Callable[[Path], None], what: str
) -> None:
    repro = tmp_path / "repro_failing.py"
    told = deleted(tmp_path, delete)
    assert what in told and "was deleted" in told and str(repro) in told and "not checked" in told
    assert len(repro.read_text()) < len(TEXT)


def test_a_folder_in_the_place_of_best_py_is_told_and_the_best_saved(tmp_path: Path) -> None:
    def replace(folder: Path) -> None:
        (folder / "best.py").unlink(missing_ok=True)
        (folder / "best.py").mkdir()

    told = deleted(tmp_path, replace)
    repro = tmp_path / "repro_failing.py"
    assert "best.py became a folder" in told and str(repro) in told and len(repro.read_text()) < len(TEXT)
    assert not (tmp_path / "failing.shrink" / "best.py.new").exists()


def test_a_folder_in_the_place_of_the_result_leaves_the_best_where_it_is(tmp_path: Path) -> None:
    repro = tmp_path / "repro_failing.py"

    def look(event: ProgressEvent, test: TieredTest) -> None:
        repro.mkdir(exist_ok=True)

    (tmp_path / "failing.py").write_text(TEXT)
    options = Options(oracle=("exception:IndexError",), python=sys.executable, report=False)
    with pytest.raises(IsADirectoryError) as told:
        reduce(tmp_path / "failing.py", options, progress=look)
    assert told.value.filename2 == str(repro) and not any(tmp_path.rglob("*.new"))
    assert len((tmp_path / "failing.shrink" / "best.py").read_text()) < len(TEXT)


def test_where_it_cannot_be_saved_that_is_said(tmp_path: Path) -> None:
    def delete(folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        (tmp_path / "repro_failing.py").mkdir()

    # A folder in the place of the result looks newer than the reduction, but is none.
    assert "could not be saved" in deleted(tmp_path, delete)


@pytest.mark.parametrize("kept", [False, True], ids=["lifted", "as it is"])
def test_a_program_that_deletes_the_folder_itself_is_named(tmp_path: Path, kept: bool) -> None:
    """--restart of the same command, as is advised elsewhere, would end the same."""
    deletes = f"import shutil\nshutil.rmtree({str(tmp_path / 'failing.shrink')!r}, ignore_errors=True)\n"
    (tmp_path / "failing.py").write_text(deletes + TEXT)
    keep = ("third",) if kept else ()
    options = Options(oracle=("exception:IndexError",), python=sys.executable, report=False, keep=frozenset(keep))
    with pytest.raises(FolderGone) as told:
        reduce(tmp_path / "failing.py", options)
    assert f"most likely {tmp_path / 'failing.py'} removes it" in str(told.value)
    assert "--output" in str(told.value) and "--restart" not in str(told.value)

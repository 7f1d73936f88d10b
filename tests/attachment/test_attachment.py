"""The files of an attachment take the place of an earlier one's all together, or not at all."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest

from shrinkray_gpu.attachment import attachment
from shrinkray_gpu.evidence.evidence import Evidence
from shrinkray_gpu.oracle.fault import Fault

EARLIER = {"ISSUE.md": b"earlier", "report.html": b"page", "artifacts/a.ttir": b"module", "artifacts/gone.ptx": b".reg"}
NEW = {"artifacts/a.ttir": b"module {}", "artifacts/b.sass": b"LDG", "ISSUE.md": b"new", "report.html": b"x" * 100_000}


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """The kernel refuses to write more, as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "artifacts" / "mine").mkdir(parents=True)
    for name, data in EARLIER.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "journal.jsonl").write_text("{}")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_an_earlier_attachment_left_in_artifacts_goes_and_nothing_else(folder: Path) -> None:
    attachment.replace(folder, NEW)
    assert contents(folder) == {**NEW, "journal.jsonl": b"{}"}
    assert (folder / "artifacts" / "mine").is_dir()


def test_where_there_is_no_room_the_earlier_one_is_as_it_was(folder: Path) -> None:
    before = contents(folder)
    with no_file_larger_than(50_000), pytest.raises(OSError, match="File too large"):
        attachment.replace(folder, NEW)
    assert contents(folder) == before


def test_the_instruments_speak_of_the_error_in_which_clean_runs_ended() -> None:
    """A program that is watched may end in the other error of an access far outside."""
    fault = Fault("device", "operation not supported on global/shared address space", "fill", 717)
    seen = Evidence("repro.py", fault, "it died")
    told = {"fingerprint": {"repro": asdict(fault.in_words_of(700))}}
    assert attachment.in_words_of_clean_runs(seen, told).fault == fault.in_words_of(700)
    assert attachment.in_words_of_clean_runs(seen, {"fingerprint": {"repro": asdict(fault)}}) == seen
    assert attachment.in_words_of_clean_runs(seen, {"fingerprint": {}}) == seen


def test_a_place_that_cannot_take_it_is_told_before_the_work(folder: Path, tmp_path: Path) -> None:
    attachment.check_place(folder)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "artifacts").write_text("a file of the user's")
    with pytest.raises(OSError, match="File exists"):
        attachment.check_place(tmp_path / "other")

"""What pytest itself writes, and what a log and a capsule say, as failures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.triage.infrastructure import trouble_of
from shrinkray_gpu.triage.reading import LARGEST, read_all
from shrinkray_gpu.triage.reported import ReportedFailure
from tests.capture import programs
from tests.capture.test_capture import run as run_captured

OPS = """\
def check(n):
    if n > 1:
        raise ValueError(f"no kernel for {n} rows")
"""
TESTS = """\
import pytest
from pkg import ops


class TestRows:
    @pytest.mark.parametrize("n", [1, 8])
    def test_rows(self, n):
        ops.check(n)


def test_sum():
    total = 3
    assert total == 4


@pytest.fixture
def disk():
    raise OSError(28, "No space left on device")


def test_saves(disk):
    pass


def test_fine():
    print("Connection refused, trying again")
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose tests were run: `junit.xml` and `log.txt` are pytest's own."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "pkg").mkdir(), (folder / "tests").mkdir()
    (folder / "pkg" / "ops.py").write_text(OPS)
    (folder / "tests" / "test_rows.py").write_text(TESTS)
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--junitxml=junit.xml", "--color=yes", "tests"]
    given = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(words, cwd=folder, env={**given, "PYTHONPATH": "."}, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout
    lines = (f"2026-01-02T03:04:05.678Z {line}" for line in done.stdout.splitlines())
    (folder / "log.txt").write_text("\n".join(lines))
    return folder


@pytest.mark.parametrize("file", ["junit.xml", "log.txt"])
def test_each_failure_is_read_with_its_node_its_lines_and_its_words(suite: Path, file: str) -> None:
    found = {each.name: each for each in read_all([suite / file], suite).failures}
    rows, total, saves = (
        found.pop(f"tests/test_rows.py::{name}") for name in ("TestRows::test_rows[8]", "test_sum", "test_saves")
    )
    assert found == {} and all(each.node == each.name for each in (rows, total, saves))
    assert rows.fault is not None and (rows.fault.klass, rows.fault.text) == ("ValueError", "no kernel for N rows")
    assert rows.frames == ("tests/test_rows.py:8", "pkg/ops.py:3")
    assert total.fault is not None and total.fault.klass == "AssertionError"
    assert trouble_of(rows) is None and trouble_of(total) is None
    trouble = trouble_of(saves)
    assert trouble is not None and trouble.kind == "out of disk" and "No space left on device" in trouble.line


def test_a_test_that_is_not_here_has_no_node(suite: Path, tmp_path: Path) -> None:
    found = read_all([suite / "junit.xml"], tmp_path).failures
    assert len(found) == 3 and not any(each.node for each in found)
    assert found[0].name == "tests.test_rows.TestRows::test_rows[8]"


def test_a_program_that_is_no_test_is_one_failure(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "def step():\n    raise RuntimeError('CUDA error: misaligned address')\nstep()\n"
    )
    done = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True)
    (tmp_path / "train.log").write_text("step 1\n" + done.stderr)
    (tmp_path / "killed.log").write_text("step 1\nstep 2\nKilled\n")
    (tmp_path / "fine.log").write_text("Connection refused, trying again\nstep 1\n" + "all is well\n" * 50)
    found = {each.name: each for each in read_all([tmp_path], tmp_path).failures if each.name.endswith(".log")}
    assert set(found) == {"train.log", "killed.log"}
    fault = found["train.log"].fault
    assert fault is not None and (fault.phase, fault.code) == ("device", 716)
    trouble = trouble_of(found["killed.log"])
    assert trouble is not None and trouble.kind == "killed"


def test_a_capsule_is_one_failure(tmp_path: Path) -> None:
    _, capsule = run_captured(tmp_path, programs.COMPILES_NOT)
    held = tmp_path / "held"
    held.mkdir()
    (held / "one.json").write_text(json.dumps(capsule))
    [found] = read_all([held], tmp_path).failures
    assert found.capsule == str(held / "one.json") and "CompilationError" in found.message and "broken" in found.text


@pytest.mark.parametrize(
    ("text", "said"), [("<testsuites><oops", "is no XML"), (None, "cannot read"), ("\0\1", "neither text nor")]
)
def test_what_cannot_be_read_is_told(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "junit.xml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UsageError, match=said):
        read_all([file], tmp_path)


JUNIT = '<suite><testcase classname="{}" name="t" file="{}"><failure message="ValueError: no"/></testcase></suite>'


def test_a_file_outside_of_the_root_is_never_run(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "link").parent.mkdir()
    (tmp_path / "test_out.py").touch(), (root / "test_in.py").touch()
    (root / "test_link.py").symlink_to(tmp_path / "test_out.py")
    named = {"test_in": "test_in.py", "..test_out": "", "x": "../test_out.py", "y": f"{tmp_path}/test_out.py"}
    named |= {"test_link": "", "z": "n" * 5000}
    for number, (name, file) in enumerate(named.items()):
        (tmp_path / f"{number}.xml").write_text(JUNIT.format(name, file))
    (tmp_path / "log.txt").write_text("".join(f"FAILED {file}::t - no\n" for file in ("../test_out.py", "test_in.py")))
    found = read_all([tmp_path / f"{number}.xml" for number in range(len(named))], root).failures
    assert [each.node for each in found] == ["test_in.py::t", *[""] * 5]
    assert [each.node for each in read_all([tmp_path / "log.txt"], root).failures] == ["", "test_in.py::t"]


def test_one_stray_file_in_a_folder_is_left_out_with_a_word_and_a_mark_of_utf8_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<!doctype html><p>a<br>")
    (tmp_path / "b.json").write_text('{"capsule": 1}')
    (tmp_path / "c.xml").write_bytes(b"\xef\xbb\xbf" + JUNIT.format("pkg", "").encode())
    said: list[str] = []
    assert [each.name for each in read_all([tmp_path], tmp_path, said.append).failures] == ["pkg::t"]
    assert len(said) == 2 and "a.html is no XML" in said[0] and "b.json is no capsule" in said[1]
    with pytest.raises(UsageError, match="no capsule"):
        read_all([tmp_path / "b.json"], tmp_path)


def test_a_report_without_a_failure_counts_and_a_broken_one_does_not(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<testsuites><testsuite>")
    assert not read_all([tmp_path], tmp_path).junit
    (tmp_path / "b.txt").write_text("<testsuites/>")
    assert read_all([tmp_path], tmp_path).junit
    (tmp_path / "b.txt").unlink()
    (tmp_path / "c.xml").mkdir()
    (tmp_path / "d.xml").write_text("<testsuite/>")
    os.truncate(tmp_path / "d.xml", LARGEST + 1)  # it cannot be read, and is not opened again
    assert not read_all([tmp_path], tmp_path).junit


def test_a_machine_without_a_gpu_is_no_cause() -> None:
    said = "RuntimeError: 0 active drivers ([]). There should only be one."
    trouble = trouble_of(ReportedFailure("a", "junit.xml", said))
    assert trouble is not None and (trouble.kind, trouble.line) == ("no GPU", said)


def test_words_that_were_only_captured_are_no_failure_of_the_machine() -> None:
    text = "E   ValueError: no\n---- Captured log ----\nNo space left on device, trying elsewhere\n"
    assert trouble_of(ReportedFailure("a", "log", "ValueError: no", text)) is None
    assert trouble_of(ReportedFailure("a", "log", "x", "E   OSError: [Errno 28] No space left on device")) is not None

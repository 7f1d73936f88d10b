"""script: the user's own test, run for real."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import Answer, Oracle, all_of, parse
from shrinkray_gpu.oracle.script import ScriptOracle
from tests.oracle.runs import passing

YES, NO, UNKNOWN = Answer.FAULTS, Answer.PASSES, Answer.UNKNOWN


def script(folder: Path, body: str) -> Oracle:
    path = folder / "test.sh"
    path.write_text("#!/bin/sh\n" + body)
    path.chmod(0o755)
    return parse("script:./test.sh", folder=folder)


CASES = {
    "the candidate is the argument": ('grep -q fault "$1"', YES),
    "the candidate lies in the working directory": ("grep -q fault failing.py", YES),
    "its path is absolute": ('case "$1" in /*/failing.py) exit 0;; esac; exit 1', YES),
    "exit 1 is not interesting": ("exit 1", NO),
    "a command that is not there": ("no-such-command-at-all", UNKNOWN),
    "killed": ("kill -9 $$", UNKNOWN),
    "input is empty": ("read line && exit 1; exit 0", YES),
}


@pytest.mark.parametrize("case", CASES)
def test_the_contract(case: str, tmp_path: Path) -> None:
    body, expected = CASES[case]
    verdict = script(tmp_path, body).judge_text("fault()\n", "sub/failing.py")
    assert verdict.answer is expected, verdict.why


def test_what_it_leaves_behind_is_gone(tmp_path: Path) -> None:
    note = tmp_path / "where"
    assert script(tmp_path, f"touch litter; pwd > {note}").judge_text("", "failing.py").faults
    assert not Path(note.read_text().strip()).exists()


def test_a_hung_script_is_stopped_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    hung = script(tmp_path, f"sleep 1000 & echo $! > {pids}; wait")
    assert isinstance(hung, ScriptOracle)
    verdict = replace(hung, timeout=0.5).judge_text("", "failing.py")
    assert verdict.answer is UNKNOWN
    assert "stopped after" in verdict.why
    assert _gone(int(pids.read_text()))


def test_children_that_outlive_the_script_are_stopped_too(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    assert script(tmp_path, f"sleep 1000 & echo $! > {pids}; exit 0").judge_text("", "failing.py").faults
    assert _gone(int(pids.read_text()))


def test_daemons_of_the_script_are_stopped_too(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    daemon = f"(setsid sh -c 'echo $$ > {pids}; exec sleep 1000' &) ; while [ ! -s {pids} ]; do :; done"
    assert script(tmp_path, f"{daemon}; exit 0").judge_text("", "failing.py").faults
    assert _gone(int(pids.read_text()))


def test_the_why_shows_its_last_line(tmp_path: Path) -> None:
    verdict = script(tmp_path, "echo first; echo 'no fault here' >&2; exit 4").judge_text("", "failing.py")
    assert verdict.why == "test.sh exits 4: no fault here"


def test_it_needs_the_text_and_no_run_of_ours(tmp_path: Path) -> None:
    oracle = script(tmp_path, "exit 0")
    assert oracle.needs.text
    assert not oracle.needs.run
    with pytest.raises(TypeError):
        oracle.judge(passing())


def test_it_combines_with_oracles_that_judge_runs(tmp_path: Path) -> None:
    both = all_of([script(tmp_path, "exit 0"), parse("timeout", folder=tmp_path)])
    assert both.needs.text
    assert both.needs.run
    assert both.judge_text("", "failing.py").faults
    assert both.judge(passing()).answer is NO


def test_a_script_without_an_interpreter_is_unknown(tmp_path: Path) -> None:
    oracle = script(tmp_path, "")
    (tmp_path / "test.sh").write_text("#!/no/such/shell\n")
    assert oracle.judge_text("", "failing.py").answer is UNKNOWN


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("script:", "names no file"),
        ("script:./tset.sh", "did you mean test.sh"),
        ("script:./plain.txt", "chmod +x"),
        ("script:/no/such/folder/x", "there is no file"),
    ],
)
def test_mistakes(spec: str, message: str, tmp_path: Path) -> None:
    script(tmp_path, "exit 0")
    (tmp_path / "plain.txt").write_text("")
    with pytest.raises(UsageError, match=message.replace("+", r"\+")):
        parse(spec, folder=tmp_path)


def _gone(pid: int) -> bool:
    """Whether the process ended; a zombie that init has not reaped yet did."""
    limit = time.monotonic() + 10
    while time.monotonic() < limit:
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return True
        if state == "Z":
            return True
    return False

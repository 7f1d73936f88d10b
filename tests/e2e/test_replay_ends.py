"""How `shrink replay` comes to its end: all well, or Ctrl-C."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.corpus.making import LOOKUP, write
from tests.e2e.command import shrink, shrinking

SLEEPS = "import time\ntime.sleep(1000)\n"


def test_chosen_cases_that_are_as_expected(tmp_path: Path) -> None:
    write(tmp_path / "corpus", "lookup")
    write(tmp_path / "corpus", "mended", "print('fine')\n", expect={">=3": "fixed"})
    write(tmp_path / "corpus", "sleeps", SLEEPS)
    said = shrink("replay", "--case", "lookup", "--case", "mended", "--arch", "sm_90", cwd=tmp_path)
    assert (said.code, said.message) == (0, ""), said.err
    assert "1 still faults, 1 fixed\nall is as expected\n" in said.out and "sleeps" not in said.out + said.err


def test_ctrl_c_waits_for_no_case_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """Six cases sleep longer than the test has patience, three of them not begun; in the second call they do not."""
    awake = tmp_path / "awake"
    sleeps = f"import os, time\nos.path.exists({str(awake)!r}) or time.sleep(1000)\n{LOOKUP}"
    write(tmp_path / "corpus", "early")
    for number in range(6):
        write(tmp_path / "corpus", f"sleeps{number}", sleeps, timeout=1000)
    words = ("replay", "--arch", "sm_90", "--jobs", "3")
    with shrinking(*words, cwd=tmp_path) as process:
        assert process.stderr is not None
        assert any("early: still faults" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=100)[1]
    assert process.returncode == 130 and "shrink: interrupted; 1 of 7 outcomes are kept in " in rest
    assert "Traceback" not in rest, rest
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "corpus.replay"]
    awake.touch()
    said = shrink(*words, cwd=tmp_path)
    assert said.code == 0 and "going on with 1 of 7 outcomes of " in said.err, said.err
    assert "early: still faults" not in said.err and said.err.count("sleeps") == 6
    assert "7 still faults" in said.out and not (tmp_path / "corpus.replay").exists()


def test_a_case_that_is_stopped_at_its_time_limit(tmp_path: Path) -> None:
    write(tmp_path / "corpus", "hangs", SLEEPS, oracle=["hang:1"], fault={"phase": "timeout", "klass": "no end within "
          "the time limit"})  # fmt: skip
    write(tmp_path / "corpus", "slow", SLEEPS, timeout=1)
    said = shrink("replay", "--arch", "sm_90", cwd=tmp_path)
    assert said.code == 1, said.err
    assert "hangs: still faults: the host is still at work after 1 s" in said.err
    assert "slow: changed fault: it was stopped after 1 s; if that was too soon, the case may say timeout" in said.err
    assert said.err.index("slow: ") < said.err.index("hangs: ")

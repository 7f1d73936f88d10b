"""What held around candidates is told, and a program whose fault it hides is reduced without that part."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.runner.inside.process import landlock
from tests.e2e.command import shrink

MODULE = """\
import socket


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def meet(port):
    return socket.create_connection(("127.0.0.1", port))
"""
PROGRAM = "from meeting import free_port, meet\n\nprint('meeting')\nport = free_port()\nmeet(port)\n"


@pytest.mark.skipif(landlock.level() < 4, reason="this kernel refuses no TCP")
def test_a_program_of_two_modules_whose_fault_needs_tcp(tmp_path: Path) -> None:
    (tmp_path / "meeting.py").write_text(MODULE)
    (tmp_path / "failing.py").write_text(PROGRAM)
    said = shrink("failing.py", "--oracle", "exception:ConnectionRefusedError", cwd=tmp_path)
    assert said.code == 0, said
    assert "in one file with 1 module of its own" in said.out
    assert "; open, since the fault needs it: TCP; host memory: " in said.out
    (held,) = [line for line in said.out.splitlines() if line.startswith("  fence around candidates: writes, ")]
    assert ("signals" in held) == (landlock.level() >= 6)
    repro = (tmp_path / "repro_failing.py").read_text()
    assert "create_connection" in repro and "meeting" not in repro


def test_any_other_program_is_reduced_in_the_whole_fence(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text("print('one')\nprint('two')\n[][7]\n")
    said = shrink("failing.py", "--oracle", "exception:IndexError", "--verbose", cwd=tmp_path)
    assert said.code == 0 and "  fence around candidates: " in said.out and "open, since" not in said.out
    levels = {landlock.WRITES: 1, landlock.TCP: 4, landlock.SIGNALS: 6}
    held = [part for part, least in levels.items() if landlock.level() >= least]
    assert f"fence around candidates: {', '.join(held) or 'none'}" in said.out


DATABASE = """\
import sqlite3

kept = sqlite3.connect("{}/tuned.db")
kept.execute("create table if not exists tuned (name)")
kept.execute("insert into tuned values ('row_sums')")
kept.commit()
[][7]
"""


@pytest.mark.skipif(landlock.level() < 1, reason="no Landlock here")
def test_a_database_that_the_program_writes_is_named_though_its_refusal_is_not(tmp_path: Path) -> None:
    """It is no Python that writes it, so the error names no file. Without the file it is reduced all the same."""
    (home := tmp_path / "home").mkdir()
    (tmp_path / "failing.py").write_text(DATABASE.format(home))
    said = shrink("failing.py", "--oracle", "exception:IndexError", cwd=tmp_path)
    advice = f"it writes {home}/tuned.db, where no candidate may: --writable {home} allows it"
    assert said.code == 0 and advice in said.err
    assert (tmp_path / "repro_failing.py").read_text() == "[][0]\n"

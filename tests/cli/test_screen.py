"""One writer: nothing runs into a bar, what goes on has a clock, and the terminal is left as it was."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.cli.screen import WIDE, Screen, close_all
from shrinkray_gpu.cli.screen import __file__ as screen_file
from tests.cli.test_progress import Terminal, plain

HIDDEN, SHOWN = "\x1b[?25l", "\x1b[?25h"


def test_where_there_is_no_terminal_each_line_is_written() -> None:
    stream = io.StringIO()
    screen = Screen(stream=stream)
    for line in ("running it ...", "adopted", "lifting ..."):
        screen(line)
    screen.bar(1, 2, "never seen")
    screen.close()
    assert stream.getvalue() == "running it ...\nadopted\nlifting ...\n"


def test_who_wants_quiet_hears_nothing() -> None:
    stream = Terminal()
    screen = Screen(quiet=True, stream=stream)
    screen("running it ...")
    screen.bar(1, 2, "half")
    screen.close()
    assert stream.getvalue() == ""


OBEYED = "a\x1b[2J\x1b]52;c;cHdu\x07\x9b2J\u202eb\u2066\ud800\x7f\r\nshrink:"
SAFE = r"a\x1b[2J\x1b]52;c;cHdu\x07\x9b2J\u202eb\u2066\ud800\x7f\r\nshrink:"


@pytest.mark.parametrize("made", [io.StringIO, Terminal])
def test_what_a_terminal_obeys_is_written_as_escapes_and_a_line_stays_one(
    made: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    stream = made()
    screen = Screen(stream=stream)
    screen(OBEYED)
    assert stream.getvalue() == f"{SAFE}\n"
    screen(f"{OBEYED} ...")
    screen.bar(1, 2, OBEYED)
    if screen.terminal:
        screen._bar._prog.refresh()
    screen.close()
    said = stream.getvalue()
    assert said.count(SAFE) >= (2 if made is io.StringIO else 3)
    assert not {"\x07", "\x9b", "\u202e", "\u2066", "\ud800", "\x7f"} & set(said)
    assert "\x1b]" not in said and "\nshrink:" not in said


def test_all_that_is_told_goes_through_one_door() -> None:
    """Nothing but `output` writes text, but for the two that colour it, and they escape it."""
    writes = re.compile(r"\bclick\.s?echo\(|\bprint\(|\bsys\.std(?:out|err)\.write|\bConsole\(")
    folder = Path(screen_file).parent
    found = {path.name for path in folder.glob("*.py") if writes.search(path.read_text())}
    assert found == {"output.py", "screen.py", "summary.py"}


def lines(stream: io.StringIO) -> list[str]:
    return [line.split("\r")[-1].rstrip() for line in plain(stream.getvalue()).splitlines()]


def test_a_line_never_shares_its_line_with_what_goes_on() -> None:
    stream = Terminal()
    screen = Screen(stream=stream)
    screen("running failing.py as it is ...")
    screen("adopted the fault seen")
    screen.bar(1, 4, "132 tokens")
    screen("stopping after the tries under way")
    screen.close()
    assert {"adopted the fault seen", "stopping after the tries under way"} <= set(lines(stream))
    assert stream.getvalue().count(HIDDEN) == stream.getvalue().count(SHOWN) == 2


def test_what_goes_on_has_a_clock_and_the_next_takes_its_place() -> None:
    stream = Terminal()
    screen = Screen(stream=stream)
    screen("experiments: 1 of 3 ...")
    screen._bar._prog.refresh()
    assert "0:00:00 experiments: 1 of 3" in plain(stream.getvalue())
    before = screen._bar
    screen("experiments: 2 of 3 ...")
    assert screen._bar is before, "of the same work there is one line"
    screen("verifying ...")
    assert screen._bar is not before
    close_all()
    assert screen._bar is None and stream.getvalue().count(SHOWN) == 2


@pytest.mark.parametrize("width", [80, 120])
def test_the_bar_and_its_clock_do_not_give_way_to_words(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    stream = Terminal()
    screen = Screen(stream=stream)
    screen.bar(1, 2, "132 tokens; " * 20)
    screen._bar._prog.refresh()
    last = plain(stream.getvalue()).split("\r")[-1]
    screen.close()
    assert re.match(f"[━╸╺]{{{WIDE}}} 0:00:00 132 tokens; .*\u2026$", last) and len(last) == width, last


@pytest.mark.parametrize("value", ["1", ""])
def test_no_color_is_respected(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", value)
    stream = Terminal()
    screen = Screen(stream=stream)
    screen.bar(1, 2, "half")
    screen._bar._prog.refresh()
    screen.close()
    assert ("\x1b[3" in stream.getvalue() or "\x1b[38" in stream.getvalue()) is not bool(value)


def in_a_terminal(*words: str, cwd: Path, width: int) -> str:
    """What a terminal of this width gets of a command."""
    script = (
        "import fcntl, os, pty, struct, sys, termios\n"
        "pid, fd = pty.fork()\n"
        "if pid == 0: os.execv(sys.executable, [sys.executable, '-m', 'shrinkray_gpu', *sys.argv[2:]])\n"
        "fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 40, int(sys.argv[1]), 0, 0))\n"
        "try:\n    while data := os.read(fd, 65536): sys.stdout.buffer.write(data)\n"
        "except OSError: pass\n"
        "sys.stdout.flush(); sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    run = [sys.executable, "-c", script, str(width), *words]
    return subprocess.check_output(run, cwd=cwd, env={**environment, "TERM": "xterm"}, text=True, timeout=200)


@pytest.mark.parametrize("width", [80, 120])
def test_a_whole_reduction_in_a_terminal(width: int, tmp_path: Path) -> None:
    """It begins with the repro; nothing is cut within a word, and what is copied stays whole."""
    last = f"raise KeyError('{'k' * 150}')"
    (tmp_path / "failing.py").write_text(f"rows = [1, 2, 3]\nfor n in range(9):\n    print(n)\n{last}\n")
    words = ("failing.py", "--oracle", "exception:KeyError:k{150}", "--no-report", "--jobs", "1")
    said = in_a_terminal(*words, cwd=tmp_path, width=width)
    told = plain(said).replace("\r\n", "\n").partition("reduced: failing.py from 4 lines to ")[2]
    repro = (tmp_path / "repro_failing.py").read_text().rstrip()
    assert f"\n\n{repro}\n\n  fault: python fault: KeyError" in told, "the repro is first, and whole"
    rows = told.partition(repro)[2].splitlines()
    command = next(line for line in rows if line.startswith("  shows the fault: "))
    assert command.endswith(" repro_failing.py")
    long = [line for line in rows if len(line.rstrip()) > width]
    assert all(line.startswith("  shows the fault: ") or "kkkk" in line for line in long), long
    assert said.count(HIDDEN) == said.count(SHOWN), "the cursor is back"
    assert "Ctrl-C keeps the best so far: failing.shrink/best.py" in " ".join(plain(said).split())

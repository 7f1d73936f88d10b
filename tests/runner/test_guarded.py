"""Commands below a guard: how they end is told as it was, and nothing of them stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.runner import guarded
from shrinkray_gpu.runner.guarded import Guarded
from shrinkray_gpu.runner.lanes import Setup, Worker, cold
from shrinkray_gpu.runner.output_pipes import OutputPipes
from shrinkray_gpu.runner.plain import run_file
from shrinkray_gpu.runner.request import Request, RunSettings

DAEMON = "(setsid sleep 1000 &)"
TRACER = (
    "import ctypes, sys, time\nprint(ctypes.CDLL(None).ptrace(16, int(sys.argv[1]), None, None), flush=True)\n"
    "time.sleep(60)\n"
)


@pytest.fixture
def nowhere() -> Iterator[int]:
    with open(os.devnull, "wb") as opened:
        yield opened.fileno()


def shell(text: str, out: int, **other: str) -> closing[Guarded]:
    environment = {"PATH": os.environ["PATH"], **other}
    return closing(Guarded(["sh", "-c", text], environment=environment, cwd="/", out=out, err=out))


def carrying(word: str) -> list[str]:
    """Processes with this in their environment."""
    found = []
    for entry in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if word.encode() in Path("/proc", entry, "environ").read_bytes():
                found.append(entry)
        except OSError:
            pass
    return found


@pytest.mark.parametrize(("text", "status"), [("exit 0", 0), ("exit 7", 7), ("kill -11 $$", -11), (DAEMON, 0)])
def test_the_end_is_told_when_nothing_is_left(nowhere: int, tmp_path: Path, text: str, status: int) -> None:
    with shell(text, nowhere, WORD=str(tmp_path)) as process:
        assert process.wait(10) == status
        assert carrying(str(tmp_path)) == []


def test_what_goes_on_is_ended(nowhere: int, tmp_path: Path) -> None:
    with shell(f"{DAEMON}; sleep 1000", nowhere, WORD=str(tmp_path)) as process:
        assert process.wait(0.2) is None and len(carrying(str(tmp_path))) >= 2
    assert carrying(str(tmp_path)) == []


def test_a_command_that_is_not_there_is_told(nowhere: int) -> None:
    with pytest.raises(FileNotFoundError, match="No such file"):
        Guarded(["no-such-command"], environment={}, cwd="/", out=nowhere, err=nowhere)


def test_a_keeper_that_is_killed_takes_its_own_along_and_is_started_once_more(nowhere: int, tmp_path: Path) -> None:
    with shell(f"{DAEMON}; sleep 1000", nowhere, WORD=str(tmp_path)) as process:
        os.kill(guarded.KEEPER.process.pid, signal.SIGKILL)
        assert process.wait(10) is None and carrying(str(tmp_path)) == []
    with shell("exit 3", nowhere) as process:
        assert process.wait(10) == 3


def test_a_keeper_that_is_stopped_goes_on(nowhere: int) -> None:
    with shell("exit 3", nowhere) as process:
        assert process.wait(10) == 3
    before = guarded.KEEPER.process.pid
    os.kill(before, signal.SIGSTOP)
    began = time.monotonic()
    with shell("exit 4", nowhere) as process:
        assert process.wait(10) == 4
    with shell("sleep 1000", nowhere) as process:
        os.kill(before, signal.SIGSTOP)
    assert time.monotonic() - began < 5 and guarded.KEEPER.process.pid == before


def test_a_keeper_that_hangs_is_told_and_another_takes_its_place(nowhere: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tracer holds it: no signal but SIGKILL makes it go on."""
    with shell("exit 3", nowhere) as process:
        assert process.wait(10) == 3
    before, said = guarded.KEEPER.process.pid, list[str]()
    monkeypatch.setattr(guarded, "STARTS", 4.0)
    monkeypatch.setattr(guarded.KEEPER, "say", said.append)
    tracer = subprocess.Popen([sys.executable, "-c", TRACER, str(before)], stdout=subprocess.PIPE)
    with tracer:
        assert tracer.stdout is not None
        try:
            if tracer.stdout.readline() != b"0\n":
                pytest.skip("nothing may be traced here")
            began = time.monotonic()
            with ThreadPoolExecutor(3) as threads:
                codes = list(threads.map(lambda code: _status(code, nowhere), (4, 5, 6)))
        finally:
            tracer.kill()
    assert codes == [4, 5, 6] and guarded.KEEPER.process.pid != before
    assert [text.partition(":")[0] for text in said] == ["the process that starts and ends programs does not answer"]
    assert time.monotonic() - began < 20


def test_a_keeper_that_is_stopped_ends_with_the_tool(tmp_path: Path) -> None:
    text = f"""\
import os, sys, time
from shrinkray_gpu.runner import guarded
from tests.runner.test_guarded import shell
with open({os.devnull!r}, "wb") as nowhere, shell("sleep 1000", nowhere.fileno(), WORD={str(tmp_path)!r}) as process:
    guard = guarded._stat(process.pid)[1]
    os.kill(guarded.KEEPER.process.pid, 19)
    os.kill(int(guard), 19)
    print(guarded.KEEPER.process.pid, guard.decode(), flush=True)
    os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    pids, until = done.stdout.split(), time.monotonic() + 10
    while (left := [pid for pid in pids if Path("/proc", pid).exists()]) and time.monotonic() < until:
        time.sleep(0.05)
    assert len(pids) == 2 and left == [] and carrying(str(tmp_path)) == []


def _status(code: int, out: int) -> int | None:
    with shell(f"exit {code}", out) as process:
        return process.wait(10)


def test_an_end_that_a_stopped_guard_did_not_tell_is_no_timeout(tmp_path: Path) -> None:
    path = tmp_path / "stops.py"
    path.write_text(
        "import os\nguard = os.getppid()\n"
        "keeper = int(open(f'/proc/{guard}/stat').read().rpartition(')')[2].split()[1])\n"
        "os.kill(keeper, 19)\nos.kill(guard, 19)\n"
    )
    began = time.monotonic()
    run = run_file(sys.executable, path, (), environment=dict(os.environ), cwd=tmp_path, seconds=2)
    assert (run.timed_out, run.trouble) == (False, "the guard of its process was stopped")
    path.write_text("import time\ntime.sleep(600)\n")
    assert run_file(sys.executable, path, (), environment=dict(os.environ), cwd=tmp_path, seconds=2).timed_out
    assert time.monotonic() - began < 12


def test_what_is_written_for_ever_is_not_read_for_ever() -> None:
    with OutputPipes() as streams:
        flood, stop = os.dup(streams.writers[0]), threading.Event()

        def write() -> None:
            while not stop.is_set():
                os.write(flood, b"x" * 4096)

        writer = threading.Thread(target=write)
        writer.start()
        streams.drain()
        stop.set()
        streams.drain()
        writer.join()
        os.close(flood)


def test_two_threads_may_close_one_command(nowhere: int) -> None:
    """Each of two candidates that met the end of their fork server closes it."""
    for _ in range(20):
        environment = {"PATH": os.environ["PATH"]}
        process = Guarded(["sleep", "1000"], environment=environment, cwd="/", out=nowhere, err=nowhere)
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _, one=process: one.close(), range(4)))


def test_a_keeper_that_is_killed_each_time_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A candidate is then unknown, and no exception ends the reduction without a word."""
    ask = guarded.KEEPER.ask

    def killed(*order: Any) -> tuple[int, ...]:
        above = ask(*order)
        os.kill(guarded.KEEPER.process.pid, signal.SIGKILL)
        return above

    monkeypatch.setattr(guarded.KEEPER, "ask", killed)
    monkeypatch.setattr(guarded, "AGAIN", (0.1, 0.1))
    path = tmp_path / "slow.py"
    path.write_text("import time\ntime.sleep(5)\n")
    run = run_file(sys.executable, path, (), environment=dict(os.environ), cwd=tmp_path, seconds=20)
    assert "was killed" in run.trouble
    setup = Setup(sys.executable, dict(os.environ), (), (), str(tmp_path))
    run = cold(setup, Request("pass", str(path), cwd="/"), RunSettings(), seconds=5)
    assert run.trouble, run
    with pytest.raises(UsageError, match="was killed while it started, by the kernel for its memory or by somebody"):
        Worker.start(setup)

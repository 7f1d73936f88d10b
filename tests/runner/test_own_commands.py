"""Commands of the tool's own end with it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shrinkray_gpu.device import own_commands

TOOL = """
import os, threading, time
from shrinkray_gpu.device import own_commands
command = ["sh", "-c", "echo $$ > started; exec sleep 1000"]
threading.Thread(target=own_commands.run_command, args=(command,), daemon=True).start()
while not os.path.exists("started") or not open("started").read().strip():
    time.sleep(0.01)
os.kill(os.getpid(), 9)
"""


def test_a_command_ends_with_a_tool_that_is_killed(tmp_path: Path) -> None:
    word = uuid.uuid4().hex
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "OWN": word}
    subprocess.run([sys.executable, "-c", TOOL], cwd=tmp_path, env=environment, timeout=60)
    pid, limit = (tmp_path / "started").read_text().strip(), time.monotonic() + 60
    while _goes_on(pid, word) and time.monotonic() < limit:
        time.sleep(0.02)
    assert not _goes_on(pid, word)


def _goes_on(pid: str, word: str) -> bool:
    try:
        return word.encode() in Path("/proc", pid, "environ").read_bytes()
    except OSError:
        return False


def test_it_is_as_subprocess_runs_it() -> None:
    command = [sys.executable, "-c", "print(input())"]
    done = own_commands.run_command(command, input="words", capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "words\n")
    with pytest.raises(FileNotFoundError):
        own_commands.run_command(["no-such-command"])
    with pytest.raises(subprocess.TimeoutExpired):
        own_commands.run_command(["sleep", "10"], timeout=0.1)


@pytest.mark.parametrize("moment", ["before", "after_in_parent"])
def test_a_ctrl_c_is_heard_that_comes_while_it_is_started(moment: str) -> None:
    """Python ignores what is raised in a hook of a fork."""
    code = f"""
import os, signal
from shrinkray_gpu.device import own_commands

class Once:
    come = False
    def __call__(self):
        if not self.come:
            self.come = True
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a shell
os.register_at_fork({moment}=Once())
try:
    own_commands.run_command(["sleep", "5"])
except KeyboardInterrupt:
    print("heard", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=50)
    assert (done.stdout, done.stderr) == ("heard True\n", "")


@pytest.mark.parametrize("patience, ends", [(60.0, True), (0.5, False)])
def test_a_command_of_a_thread_is_told_to_end_when_it_is_over(tmp_path: Path, patience: float, ends: bool) -> None:
    code = "import pathlib, signal, time\nsignal.signal(signal.SIGINT, lambda *a: print('best so far') or exit(130))\n"
    code = code if ends else "import pathlib, signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    code += "pathlib.Path('started').touch()\ntime.sleep(600)\n"
    over = threading.Event()
    with ThreadPoolExecutor() as threads:
        command = [sys.executable, "-c", code]
        done = threads.submit(own_commands.finished, command, tmp_path, 500.0, patience, over)
        while not (tmp_path / "started").exists():
            time.sleep(0.02)
        over.set()
        found = done.result(timeout=90)
    assert found == (own_commands.EndedCommand(130, "best so far\n", "", True) if ends else None)

"""Is this a Python interpreter that our worker can run in?"""

from __future__ import annotations

import os
import shutil
import subprocess

from shrinkray_gpu.device.own_commands import run_command
from shrinkray_gpu.errors import UsageError


def interpreter_path(python: str) -> str:
    """The whole path of an interpreter named as in a shell, or by the folder of its environment, as venv, uv and conda
    make it. Links stay: one leads from a venv out of it."""
    named = os.path.expanduser(python)
    if os.path.isdir(named):
        named = os.path.join(named, "bin", "python")
    return os.path.abspath(shutil.which(named) or named)


def check_python(python: str) -> None:
    """Raises UsageError unless `python` is an interpreter that our worker can run in."""
    command = [python, "-c", "import sys; print(*sys.version_info[:2])"]
    try:
        done = run_command(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"cannot run the interpreter {python}: {error}") from error
    version = done.stdout.split()
    if done.returncode or len(version) != 2:
        said = (done.stdout + done.stderr).strip()[:80]
        raise UsageError(f"{python} is not a Python interpreter: it answered {said!r}")
    if (int(version[0]), int(version[1])) < (3, 9):
        raise UsageError(f"{python} is Python {'.'.join(version)}: the worker needs 3.9 or later")

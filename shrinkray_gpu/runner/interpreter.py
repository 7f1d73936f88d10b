"""Is this a Python interpreter that our worker can run in?"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from shrinkray_gpu.device.own_commands import run_command
from shrinkray_gpu.errors import UsageError


def interpreter_path(python: str) -> str:
    """The whole path of an interpreter named as in a shell, or by the folder of its environment, as venv, uv and conda
    make it. Links stay: one leads from a venv out of it."""
    named = os.path.expanduser(python)
    if os.path.isdir(named):
        named = os.path.join(named, "bin", "python")
    return os.path.abspath(shutil.which(named) or named)


def interpreter_for(program: Path, variables: Mapping[str, str]) -> tuple[str, str]:
    """The interpreter that runs a program where nobody names one, and why it is another one than ours.

    Ours, if it has torch or Triton. Else, as `uv tool` and pipx install us apart from everything: the first environment
    with torch of those that are active by `variables`, or lie beside the program or above it; or the first of them.
    """
    if any(map(_is_installed, ("torch", "triton"))):
        return sys.executable, ""
    found = list(environments(program, variables))
    for folder, where in sorted(found, key=lambda each: not _has_torch(each[0])):
        return str(folder / "bin" / "python"), (
            f"python: {folder / 'bin' / 'python'}, {where}, since shrink's own environment has no torch; --python PATH "
            "names another one"
        )
    return sys.executable, ""


def _is_installed(name: str) -> bool:
    """Whether our own environment has the module: not a folder of that name in the working directory, where
    `python -m` looks first."""
    found, here = find_spec(name), os.getcwd()
    if found is None or found.origin is None:
        return False
    return os.path.dirname(os.path.dirname(found.origin)) != here or sys.path.count(here) > 1


def environments(program: Path, variables: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Environments of Python beside ours that a program is likely meant for, and how each was found."""
    named = [(Path(variables[name]), f"by {name}") for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if variables.get(name)]
    above = program.absolute().parents
    ours = os.path.realpath(sys.prefix)
    for folder, where in (*named, *((place / ".venv", f"found beside {program.name} or above") for place in above)):
        if os.access(folder / "bin" / "python", os.X_OK) and os.path.realpath(folder) != ours:
            yield folder, where


def _has_torch(environment: Path) -> bool:
    return any(environment.glob("lib/python3*/site-packages/torch"))


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

"""Finds the module of a command in the user's interpreter and folder, before anything of it is run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shrinkray_gpu.command.driver import PYTEST, UNITTEST, UNWANTED, Command, pytest_files
from shrinkray_gpu.command.launchers import ACCELERATE, TORCHRUN, launched
from shrinkray_gpu.device.own_commands import run_command
from shrinkray_gpu.errors import UsageError

PATIENCE = 60
"""Seconds; a package on a network file system may take some."""

# In the user's interpreter. A submodule is looked for without importing its package, which may take long or fail: that
# is a fault for the run to show. Only a package with a `__path__` of its own making is imported.
_LOOK = """\
import importlib.util, json, os, sys

def seek(name):
    spec, name_so_far = None, ""
    for part in name.split("."):
        places = None if spec is None else spec.submodule_search_locations
        if name_so_far and places is None:
            return None
        name_so_far = name_so_far + "." + part if name_so_far else part
        finders = (finder.find_spec(name_so_far, places) for finder in sys.meta_path if hasattr(finder, "find_spec"))
        spec = next((found for found in finders if found is not None), None)
        if spec is None:
            break
    if spec is None and "." in name:
        try:
            spec = importlib.util.find_spec(name)
        except Exception:
            pass
    return spec

name, plugins = sys.argv[1], sys.argv[2:]
sys.argv = ["-c"]
found = seek(name)
answer = {"found": found is not None, "package": False, "file": None}
if found is not None and found.submodule_search_locations is not None:
    answer["package"] = True
    found = seek(name + ".__main__")
standard = os.path.dirname(os.__file__) + os.sep
if found is not None and found.has_location:
    file = found.origin
    answer["file"] = None if file.startswith(standard) and "site-packages" not in file else file
answer["runs"] = found is not None
answer["plugins"] = [plugin for plugin in plugins if seek(plugin) is not None]
sys.__stdout__.write("\\n" + json.dumps(answer))
"""


def locate(
    module: str, args: tuple[str, ...], *, python: str, cwd: Path | None = None, environment: Mapping[str, str]
) -> Command:
    """The command `python -m MODULE ARGS...`. Raises UsageError where there is no such module or test file.

    `environment` is the whole one of the user's process. The interpreter must be one: see `check_python`.
    """
    folder = (cwd or Path.cwd()).absolute()
    if module in TORCHRUN | ACCELERATE:
        return _launched(module, args, python, folder, environment)
    tests = module in PYTEST
    answer = _asked("pytest" if tests else module, python, folder, environment)
    if tests and not answer["found"]:
        raise UsageError(
            f"-m pytest: {python} has no pytest. Install it there, or name the interpreter of the tests by --python"
        )
    if not answer["found"]:
        raise UsageError(
            f"-m {module}: {python} finds no such module from {folder}. Give its dotted name as python -m takes it, "
            "and the folder to run in by --cwd"
        )
    if not answer["runs"]:
        raise UsageError(f"-m {module}: this package has no __main__. Name the module in it that is to run")
    if not tests:
        files = [word for word in args if word.endswith(".py")] if module in UNITTEST else []
        if missing := [word for word in files if not (folder / word).is_file()]:
            raise UsageError(f"-m unittest: there is no test file {missing[0]} in {folder}")
        command = Command(module, args, folder, Path(answer["file"]) if answer["file"] else None)
        first = next((folder / file for file, _ in command.test_files or ()), command.file)
        return replace(command, file=first)
    named = pytest_files(args)
    for file, _ in named:
        if not (folder / file).is_file():
            raise UsageError(f"-m pytest: there is no test file {file} in {folder}")
    first = folder / named[0][0] if named else None
    return Command(module, args, folder, first, frozenset(answer["plugins"]))


def _launched(module: str, args: tuple[str, ...], python: str, folder: Path, environment: Mapping[str, str]) -> Command:
    """The command of a launcher: what that starts, found as it would find it."""
    if not _asked(module, python, folder, environment)["found"]:
        raise UsageError(
            f"-m {module}: {python} has no {module.partition('.')[0]}. Name the interpreter that has it by --python"
        )

    def ask(code: str, words: Sequence[str]) -> Mapping[str, Any]:
        return _answer(module, code, words, python, folder, environment)

    started = launched(module, args, ask)
    if started.module:
        found = locate(started.module, started.args, python=python, cwd=folder, environment=environment)
        return Command(module, args, folder, found.file, launched=started)
    file = folder / started.script
    if not file.is_file():
        raise UsageError(f"-m {module}: there is no script {started.script} in {folder}")
    return Command(module, args, folder, file, launched=started)


def _asked(module: str, python: str, folder: Path, environment: Mapping[str, str]) -> Mapping[str, Any]:
    plugins = UNWANTED if module == "pytest" else ()
    return _answer(module, _LOOK, (module, *plugins), python, folder, environment)


def _answer(
    module: str, code: str, words: Sequence[str], python: str, folder: Path, environment: Mapping[str, str]
) -> Mapping[str, Any]:
    """The last line that this code prints in the user's interpreter, as JSON."""
    try:
        done = run_command(
            [python, "-B", "-c", code, *words],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        answer: dict[str, Any] = json.loads(done.stdout.strip().rpartition("\n")[2])
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"-m {module}: {python} does not say what that runs: {error}") from error
    except ValueError as error:
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise UsageError(f"-m {module}: {python} does not say what that runs: {said}") from error
    return answer

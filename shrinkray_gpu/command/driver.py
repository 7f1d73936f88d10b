"""A command as a Program: `-m MODULE ARGS...` becomes a short driver script that does what `python -m` would.

From there on it is a script like any other, run in the worker and by every oracle. Nothing of it need be on disk: its
path is a name in the working directory, so that the modules there are found as `python -m` finds them. Once the faulty
launch is lifted the driver is gone.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from shrinkray_gpu.command.launchers import TORCHRUN, Launched
from shrinkray_gpu.reduction.program import Program

PYTEST = frozenset({"pytest", "pytest.__main__", "py.test"})
UNITTEST = frozenset({"unittest", "unittest.__main__"})
UNWANTED = {"xdist": ("-p", "xdist", "-n0"), "pytest_cov": ("-p", "pytest_cov", "--no-cov")}
"""Plugins that run tests in other processes or write beside them, and what keeps them from it. Switched off by `-p no:`
they would leave pytest without their options, which a project's settings may name; `-p` before makes sure that the
option is known where plugins are not loaded by themselves."""
BEFORE = ("-x",)
"""Before the user's own, who may want another number of failures."""
AFTER = ("-s", "--assert=plain", "--tb=no", "-rN", "--no-header", "-p", "no:cacheprovider")
"""Output unhidden, exceptions in Python's own words, and none of them quoted with lines of source around: an oracle
would find its words there. No cache beside the tests."""

_VALUED = frozenset({"-k", "-m", "-c", "-p", "-o", "-W", "--deselect", "--ignore", "--ignore-glob", "--rootdir"})
"""Options of pytest whose value may look like a test file and is none to run."""

_MODULE = """\
import runpy
import sys

sys.argv[1:] = {args}
runpy.run_module({module!r}, run_name="__main__", alter_sys=True)
"""

_SCRIPT = """\
import runpy
import sys

sys.argv[:] = {words}
sys.path[0] = {folder!r}
runpy.run_path({script!r}, run_name="__main__")
"""

# Why so: pytest tells of a failure and ends with status 1, but a fault is known by its exception. A collection error
# has the real one as its cause. pytest's own frames come first in the traceback and say nothing. Its faulthandler would
# write "Fatal Python error" where the plain program does not. A spawned child imports the main module again, from the
# file that `__file__` names, unless `__spec__` says that it is pytest's. Tests that are all skipped end well, though
# nothing was tried.
_TESTS = """\
import faulthandler
import importlib.util
import sys

import pytest

__spec__ = importlib.util.find_spec("pytest.__main__")
sys.dont_write_bytecode = True


class FirstFailure:
    error = None
    skipped = ""
    began = called = False

    def pytest_runtest_logstart(self):
        self.began = True

    def pytest_sessionstart(self):
        faulthandler.disable()

    def pytest_exception_interact(self, call):
        if self.error is None:
            error, trace = call.excinfo.value, call.excinfo.tb
            if isinstance(error, pytest.Collector.CollectError) and error.__cause__ is not None:
                error, trace = error.__cause__, error.__cause__.__traceback__
            while trace.tb_next and trace.tb_frame.f_globals.get("__name__", "").startswith(("_pytest.", "pluggy.")):
                trace = trace.tb_next
            self.error = error.with_traceback(trace)

    def pytest_runtest_logreport(self, report):
        if not report.skipped or hasattr(report, "wasxfail"):
            self.called = self.called or report.when == "call"
        elif not self.skipped:
            self.skipped = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)


first = FirstFailure()
status = pytest.main(
    {args},
    plugins=[first],
)
if first.error is not None:
    raise first.error
broken = status == pytest.ExitCode.INTERNAL_ERROR and not first.began  # a plugin that cannot be loaded
if broken or status in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
    raise pytest.UsageError("no test was run")
if first.skipped and not first.called and status == pytest.ExitCode.OK:
    raise pytest.UsageError("each test is skipped: " + first.skipped.removeprefix("Skipped: "))
sys.exit(status)
"""


# So does unittest: what fails is told, and the exception is gone.
_CASES = """\
import sys
import unittest


class FirstFailure(unittest.TextTestResult):
    error = None

    def addError(self, test, err):
        super().addError(test, err)
        self.keep(err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.keep(err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.keep(err)

    def keep(self, err):
        if FirstFailure.error is None:
            trace = err[2]
            while trace.tb_next and trace.tb_frame.f_globals.get("__name__", "").startswith("unittest."):
                trace = trace.tb_next
            FirstFailure.error = err[1].with_traceback(trace)

    def printErrors(self):
        pass


runner = unittest.TextTestRunner(resultclass=FirstFailure)
ended = unittest.main(module=None, argv={words}, testRunner=runner, failfast=True, exit=False)
if FirstFailure.error is not None:
    raise FirstFailure.error
if not ended.result.testsRun:
    raise SystemExit("no test was run")
sys.exit(not ended.result.wasSuccessful())
"""


@dataclass(frozen=True)
class Command:
    """`python -m MODULE ARGS...` in the folder `cwd`."""

    module: str
    args: tuple[str, ...]
    cwd: Path
    file: Path | None = None
    """Where the module's source is, if it is none of Python's own; of tests the first file named."""
    plugins: frozenset[str] = frozenset()
    """Those of UNWANTED that the interpreter has."""
    launched: Launched | None = None
    """What a launcher starts, if the module is one: a program in a process of its own."""

    @property
    def is_pytest(self) -> bool:
        return self.module in PYTEST

    @property
    def test_files(self) -> list[tuple[Path, str]] | None:
        """The test files that are named, each with the node id in it; None if it runs no tests."""
        if self.module in UNITTEST:
            return unittest_files(self.args, self.cwd)
        return pytest_files(self.args) if self.is_pytest else None

    @property
    def command_line(self) -> str:
        """As the user wrote it."""
        return shlex.join(["-m", self.module, *self.args])

    @property
    def stem(self) -> str:
        """Names the result and its folder: `pytest_test_attention`, `mypkg_bench`."""
        if self.is_pytest:
            named = [file.stem for file, _ in pytest_files(self.args)]
            return f"pytest_{named[0]}" if named else "pytest_tests"
        if self.test_files:
            return f"unittest_{self.test_files[0][0].stem}"
        if self.launched is not None:
            started = Path(self.launched.script).stem or self.launched.module.replace(".", "_")
            return f"{'torchrun' if self.module in TORCHRUN else 'accelerate'}_{started}"
        name = self.module.removesuffix(".__main__").replace(".", "_")
        # The driver must not pass for the module itself, whose source is looked up by its path.
        return name if "." in self.module else f"run_{name}"

    @property
    def path(self) -> Path:
        """Where the driver would be if it were a file."""
        return self.cwd / f"{self.stem}.py"

    @property
    def text(self) -> str:
        """The driver."""
        if self.is_pytest:
            return _TESTS.format(args=_listed(pytest_arguments(self.args, self.plugins)))
        if self.launched is not None:
            return self._launched_text(self.launched)
        if self.module in UNITTEST:
            return _CASES.format(words=["python -m unittest", *self.args])
        return _MODULE.format(args=list(self.args), module=self.module)

    def _launched_text(self, started: Launched) -> str:
        """The script as `python SCRIPT ARGS...` runs it, or the module, in the environment of its launcher."""
        if started.module:
            body = _MODULE.format(args=list(started.args), module=started.module)
        else:
            folder = str((self.cwd / started.script).parent)
            body = _SCRIPT.format(words=[started.script, *started.args], folder=folder, script=started.script)
        return environment_lines(started.environment) + body

    @property
    def program(self) -> Program:
        return Program.from_text(self.text, str(self.path))

    @property
    def imports(self) -> tuple[str, ...]:
        """What the worker may import beforehand, though the driver does not: installed software that takes seconds and
        changes nothing. Never the user's own modules, nor what reads the environment that these may set."""
        return ("torch",)


def environment_lines(environment: Sequence[tuple[str, str]]) -> str:
    """Statements that put these variables into the environment; nothing where there is none."""
    if not environment:
        return ""
    rows = "".join(f"    {name!r}: {value!r},\n" for name, value in environment)
    return f"import os\n\nos.environ.update({{\n{rows}}})\n"


def pytest_arguments(args: Sequence[str], plugins: Collection[str] = ()) -> list[str]:
    """The user's arguments of pytest, and what is needed besides so that nothing is hidden, eaten or written."""
    off = [word for plugin, words in UNWANTED.items() if plugin in plugins for word in words]
    return [*BEFORE, *args, *AFTER, *off]


def pytest_files(args: Sequence[str]) -> list[tuple[Path, str]]:
    """The test files among pytest's arguments, each with the node id in it: `Class::test[1-2]`, or nothing."""
    found = []
    for before, word in zip(("", *args), args):
        file, _, node = word.partition("::")
        if file.endswith(".py") and not word.startswith("-") and before not in _VALUED:
            found.append((Path(file), node))
    return found


def unittest_files(args: Sequence[str], cwd: Path) -> list[tuple[Path, str]]:
    """The same of `python -m unittest`, which takes `tests/test_a.py` and `tests.test_a.Class.test`."""
    found = []
    for word in (word for word in args if not word.startswith("-")):
        parts = word.split(".")
        named = [(Path(*parts[:end]).with_suffix(".py"), "::".join(parts[end:])) for end in range(len(parts), 0, -1)]
        choices = [(Path(word), "")] if word.endswith(".py") else named
        found += [one for one in choices if (cwd / one[0]).is_file()][:1]
    return found


def _listed(words: Sequence[str]) -> str:
    """On one line where that is short, else each on its own."""
    line = repr(list(words))
    if len(line) <= 100:
        return line
    return "\n".join(["[", *(f"        {word!r}," for word in words), "    ]"])

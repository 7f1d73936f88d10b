"""`pytest --shrink`: the failing GPU tests of a session are reduced once it has run.

Each is a command of its own, `shrink -m pytest NODEID`, as a person would type it: a session may have a broken CUDA
context, and must end with the status that its tests gave it. Of a session spread over processes by pytest-xdist, the
one that collects the reports reduces.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.errors import Interrupted, NoKernelInvolved, NotReproduced, UsageError
from shrinkray_gpu.events import printed_result


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("shrink", "reduction of failing GPU tests (shrinkray_gpu)")
    group.addoption("--shrink", action="store_true", help="reduce the GPU tests that fail, after the run")
    group.addoption("--shrink-max", type=int, default=3, metavar="N", help="reduce at most N tests (default: 3)")
    group.addoption(
        "--shrink-time", type=float, default=300.0, metavar="S", help="seconds of search for each (default: 300)"
    )
    group.addoption(
        "--shrink-dir", default="shrink-results", metavar="DIR", help="where results go (default: shrink-results)"
    )
    group.addoption("--shrink-arch", metavar="sm_90", help="reduce on the virtual GPU, for this architecture")
    group.addoption("--shrink-args", default="", metavar="ARGS", help="more options for each `shrink`, in one string")


def begin(config: pytest.Config) -> None:
    """Check the options, and watch the session for tests that fail. Raises pytest.UsageError."""
    most, seconds = config.getoption("--shrink-max"), config.getoption("--shrink-time")
    if most < 1:
        raise pytest.UsageError(f"--shrink-max {most}: one test at least. Leave --shrink out to reduce none")
    if not 0 < seconds < float("inf"):
        raise pytest.UsageError(f"--shrink-time {seconds:g}: give a number of seconds above 0")
    if not config.getoption("--shrink") or hasattr(config, "workerinput"):
        return
    from shrinkray_gpu.device.own_commands import INSIDE  # each session of pytest would load it

    if INSIDE in os.environ:
        return
    try:
        shlex.split(config.getoption("--shrink-args"))
    except ValueError as error:
        raise pytest.UsageError(f"--shrink-args: {error}. Write it as a shell would read it") from error
    config.pluginmanager.register(FailingTests(config), "shrink-failing-tests")


@dataclass(frozen=True)
class TestResult:
    """What became of one failing test."""

    __test__ = False

    node: str
    told: str
    """In one line."""
    issue: str = ""
    """Where its ISSUE.md is."""
    interrupted: bool = False
    """Whether Ctrl-C ended its reduction, and so all."""


class FailingTests:
    """The tests of a session that fail, and their reductions."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.folder = Path(config.invocation_params.dir, config.getoption("--shrink-dir"))
        self.failed: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.when != "teardown" and report.nodeid.partition("::")[0].endswith(".py"):
            self.failed[report.nodeid] = None

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any, exitstatus: int) -> None:
        if not self.failed or exitstatus == pytest.ExitCode.INTERRUPTED:
            return
        most = self.config.getoption("--shrink-max")
        chosen = ordered(list(self.failed))[:most]
        from shrinkray_gpu.cli.output import escaped

        terminalreporter.section("shrink")
        try:
            for result in self._results(chosen, terminalreporter):
                terminalreporter.write_line(escaped(f"  {result.told}"))
                if result.issue:
                    terminalreporter.write_line(escaped(f"  to attach: {result.issue}"))
                if result.interrupted:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            terminalreporter.write_line("  interrupted; the tests after it are not reduced")
        if left := len(self.failed) - len(chosen):
            tests = "test is" if left == 1 else "tests are"
            terminalreporter.write_line(f"{left} more failing {tests} not reduced: --shrink-max {most}")

    def _results(self, nodes: Sequence[str], terminal: Any) -> Iterator[TestResult]:
        for node in nodes:
            terminal.write_line(f"{node}:")
            terminal.flush()
            yield self._reduce(node)

    def _reduce(self, node: str) -> TestResult:
        from shrinkray_gpu.cli import background
        from shrinkray_gpu.device.own_commands import AROUND, finished

        place = self.folder / slug(node)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = f"cannot create {place}: {error.strerror}. Choose another --shrink-dir"
            return TestResult(node, f"not reduced: {why}")
        seconds: float = self.config.getoption("--shrink-time")
        done = finished(self.command(node, place), self.config.invocation_params.dir, seconds + AROUND)
        if done is None:
            return TestResult(node, "not reduced: it did not end in time; give less work by --shrink-args")
        code, out, said = done.code, done.out, done.said
        shown = Path(os.path.relpath(place))
        if code in (0, Interrupted.exit_code) and (found := printed_result(out)):
            lines, tokens = found["after"]
            told = f"reduced to {lines} lines, {tokens} tokens: {shown / Path(found['output']).name}"
            issue = os.path.relpath(found["attachment"]) if found["attachment"] else ""
            return TestResult(node, told, issue, done.interrupted)
        _clear(place)
        if done.interrupted:
            return TestResult(node, "not reduced: interrupted before there was a result", interrupted=True)
        why = background.complaint(said).removeprefix("shrink: ")
        if code == NoKernelInvolved.exit_code:
            return TestResult(node, f"left as it is, since it fails for no reason of a GPU's: {why}")
        if code == NotReproduced.exit_code:
            return TestResult(node, f"left as it is, since it does not fail so in a process of its own: {why}")
        code_told = "" if code == UsageError.exit_code else f" (exit code {code})"
        return TestResult(node, f"not reduced{code_told}: {why}")

    def command(self, node: str, place: Path) -> list[str]:
        """What a person would type, from the folder where pytest was started."""
        from shrinkray_gpu.cli import background

        given = self.config.getoption
        words = ["--quiet", "--json", "--kernel-only", "--restart", "--max-time", f"{given('--shrink-time'):g}"]
        words += ["--python", sys.executable]  # the test's own
        if arch := given("--shrink-arch"):
            words += ["--arch", arch]
        words += [*shlex.split(given("--shrink-args")), "--output", str(place / f"repro_{slug(node)}.py")]
        return background.command([*words, "-m", "pytest", *self._same_settings(), self._from(node)])

    def _same_settings(self) -> list[str]:
        """What decides how pytest collects: settings and plugins are those of the session."""
        from shrinkray_gpu.command.pytest_settings import PytestSettings

        option, file = self.config.option, self.config.inipath
        plugins, overrides = tuple(option.plugins or ()), tuple(option.override_ini or ())
        return PytestSettings(str(self.config.rootpath), str(file or ""), plugins, overrides).words

    def _from(self, node: str) -> str:
        """The node id, which begins at the root, as a path from the folder where pytest was started."""
        from shrinkray_gpu.command.pytest_settings import seen_from

        return seen_from(self.config.invocation_params.dir, node, self.config.rootpath)


def ordered(nodes: Sequence[str]) -> list[str]:
    """One set of parameters of each test first: the others of a test most often fail for the same reason."""
    first = {node.partition("[")[0]: node for node in reversed(nodes)}
    return sorted(nodes, key=lambda node: node != first[node.partition("[")[0]])


def slug(node: str) -> str:
    """The name of a test's folder: `test_ops__test_sum_8_fp16`. Shortened, with a digest, where it is long or odd."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", node.replace(".py::", "::").replace("::", "__").replace("/", "__"))
    plain = re.sub(r"_{2,}", "_", plain).strip("_")
    digest = hashlib.sha256(node.encode()).hexdigest()[:8]
    return plain if len(plain) <= 80 and re.fullmatch(r"[\w/.:\[\]-]+", node, re.ASCII) else f"{plain[:70]}_{digest}"


def _clear(place: Path) -> None:
    """No folder for a test that nothing came of, now or earlier."""
    if not any(place.rglob("result.json")):
        shutil.rmtree(place, ignore_errors=True)
    with contextlib.suppress(OSError):  # others are in it
        place.parent.rmdir()

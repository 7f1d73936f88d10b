"""pytest collects a corpus: `pytest corpus/`, one test a case, so that a compiler team can drop one into its CI.

A known fault that is still there is an expected failure; a fault that is gone or has changed, where the case does not
say that of this Triton, fails the test. All cases of a session are replayed by one worker, before the first is told.

`pytest --shrink` is in `pytest_shrink`. Installed beside pytest both are always loaded, so they must mind their own
business: nothing is imported before there is a case, and a `case.toml` without a repro beside it is somebody else's.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shrinkray_gpu.cli import pytest_shrink

if TYPE_CHECKING:
    from shrinkray_gpu.corpus.case import Case
    from shrinkray_gpu.corpus.expectation import CaseOutcome

FILE = "case.toml"
_REPLAYED = pytest.StashKey["_Session"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("corpus", "replay of a corpus of GPU faults (shrinkray_gpu)")
    group.addoption("--corpus-arch", metavar="sm_90", help="replay on the virtual GPU, for this architecture")
    group.addoption("--corpus-python", metavar="PATH", help="interpreter that runs the cases (default: this one)")
    group.addoption("--corpus-runs", type=int, metavar="N", help="runs of each case, instead of what it asks for")
    pytest_shrink.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "corpus: a case of a corpus of GPU faults")
    runs = config.getoption("--corpus-runs")
    if runs is not None and runs < 1:
        raise pytest.UsageError(f"--corpus-runs {runs}: one run at least")
    for option in ("--corpus-arch", "--shrink-arch"):
        if (name := config.getoption(option)) is not None:
            from shrinkray_gpu.cli.words import architecture
            from shrinkray_gpu.errors import UsageError

            try:
                architecture(name)
            except UsageError as error:
                raise pytest.UsageError(f"{option}: {error}") from error
    pytest_shrink.begin(config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> CaseFile | None:
    ours = file_path.name == FILE and any(path.suffix in (".py", ".mlir") for path in file_path.parent.glob("repro_*"))
    return CaseFile.from_parent(parent, path=file_path) if ours else None


def pytest_sessionfinish(session: pytest.Session) -> None:
    if (replayed := session.stash.get(_REPLAYED, None)) is not None:
        replayed.close()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """A case that was skipped is listed at its own place, not at the line above that skips it."""
    report = (yield).get_result()
    if isinstance(item, CaseItem) and report.skipped and isinstance(report.longrepr, tuple):
        report.longrepr = (str(item.path), 1, report.longrepr[2])


class CaseFile(pytest.File):
    def collect(self) -> Iterator[CaseItem]:
        from shrinkray_gpu.corpus.case import load_or_broken

        case = load_or_broken(self.path.parent)
        yield CaseItem.from_parent(self, name=case.name, case=case)


class CaseItem(pytest.Item):
    def __init__(self, *, case: Case, **given: Any) -> None:
        super().__init__(**given)
        self.case = case
        self.add_marker("corpus")

    def runtest(self) -> None:
        from shrinkray_gpu.cli.output import escaped
        from shrinkray_gpu.corpus.expectation import Status

        if _REPLAYED not in self.session.stash:
            self.session.stash[_REPLAYED] = _Session(self.session)
        outcome = self.session.stash[_REPLAYED].outcome(self)
        if not outcome.tells:
            pytest.skip(escaped(outcome.why))
        if outcome.surprising:
            raise CaseChanged(outcome)
        if outcome.status is not Status.FIXED:
            pytest.xfail(escaped(f"{outcome}: {outcome.why}"))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from shrinkray_gpu.cli.output import escaped
        from shrinkray_gpu.errors import ShrinkError

        if isinstance(excinfo.value, (CaseChanged, ShrinkError)):
            return escaped(str(excinfo.value))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        from shrinkray_gpu.cli.output import escaped

        return self.path, 0, escaped(f"{self.case.name}: {self.case.title}")


class CaseChanged(Exception):
    """A case does not do what it expects of this Triton."""

    def __init__(self, outcome: CaseOutcome) -> None:
        from shrinkray_gpu.corpus.replay_tables import news

        super().__init__(f"{outcome.case.name} with {outcome.environment}: {news(outcome)}")


class _Session:
    """The outcomes of a session's cases. They are replayed together; but a process of pytest-xdist does not know which
    cases will be its own, so there each is replayed when it comes, in lanes that are kept for the next."""

    def __init__(self, session: pytest.Session) -> None:
        from shrinkray_gpu.cells.this_machine import ThisMachine

        self.items = [item for item in session.items if isinstance(item, CaseItem)]
        self.config = session.config
        self.spread = hasattr(session.config, "workerinput")
        self.machine = ThisMachine(1 if self.spread else None)
        self.known: dict[Path, CaseOutcome] = {}
        self.failed: Exception | None = None

    def outcome(self, item: CaseItem) -> CaseOutcome:
        if self.failed is not None:
            raise self.failed
        try:
            if item.path not in self.known:
                self._replay([item] if self.spread else self.items)
        except Exception as error:
            self.failed = error
            raise
        return self.known[item.path]

    def close(self) -> None:
        self.machine.close()

    def _replay(self, items: list[CaseItem]) -> None:
        from shrinkray_gpu.cli.words import architecture
        from shrinkray_gpu.corpus.case_cells import CaseCell, ReplayPlace
        from shrinkray_gpu.corpus.replay import outcomes_of
        from shrinkray_gpu.runner.interpreter import interpreter_path

        option = self.config.getoption
        python = interpreter_path(option("--corpus-python")) if option("--corpus-python") else sys.executable
        place = ReplayPlace(python, architecture(option("--corpus-arch")))
        outcomes = outcomes_of([CaseCell(item.case, place, option("--corpus-runs")) for item in items], self.machine)
        self.known.update((item.path, outcome) for item, outcome in zip(items, outcomes))

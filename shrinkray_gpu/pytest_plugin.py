"""pytest collects a corpus: `pytest corpus/`, one test a case, so that a compiler team can drop one into its CI.

A known fault that is still there is an expected failure; a fault that is gone or has changed, where the case does not
say that of this Triton, fails the test. All cases of a session are replayed by one worker, before the first is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from shrinkray_gpu.cases.expectation import Outcome

FILE = "case.toml"
_OUTCOMES = pytest.StashKey[dict[Path, Any]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("corpus", "replay of a corpus of GPU faults (shrinkray_gpu)")
    group.addoption("--corpus-arch", metavar="sm_90", help="replay on the virtual GPU, for this architecture")
    group.addoption("--corpus-python", metavar="PATH", help="interpreter that runs the cases (default: this one)")
    group.addoption("--corpus-runs", type=int, metavar="N", help="runs of each case, instead of what it asks for")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> CaseFile | None:
    return CaseFile.from_parent(parent, path=file_path) if file_path.name == FILE else None


class CaseFile(pytest.File):
    def collect(self) -> Iterator[CaseItem]:
        from shrinkray_gpu.cases.case import load
        from shrinkray_gpu.errors import ShrinkError

        try:
            case = load(self.path.parent)
        except ShrinkError as error:
            raise self.CollectError(str(error)) from error
        yield CaseItem.from_parent(self, name=case.name, case=case)


class CaseItem(pytest.Item):
    def __init__(self, *, case: Any, **given: Any) -> None:
        super().__init__(**given)
        self.case = case
        self.add_marker("corpus")

    def runtest(self) -> None:
        from shrinkray_gpu.cases.expectation import Status

        outcome = self._outcome()
        if outcome.status is Status.CANNOT:
            pytest.skip(outcome.why)
        if outcome.surprising or (outcome.expected is None and outcome.status is Status.CHANGED):
            raise Changed(outcome)
        if outcome.status is not Status.FIXED:
            pytest.xfail(f"{outcome}: {outcome.why}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, Changed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self.case.name}: {self.case.title}"

    def _outcome(self) -> Outcome:
        known = self.session.stash.setdefault(_OUTCOMES, {})
        if self.path not in known:
            known.update(_replayed(self))
        outcome: Outcome = known[self.path]
        return outcome


class Changed(Exception):
    """A case does not do what it expects of this Triton."""

    def __init__(self, outcome: Outcome) -> None:
        wanted = outcome.expected.value if outcome.expected else "the fault that it was kept for"
        lines = [f"{outcome.case.name} with {outcome.environment}: expected {wanted}, and it is {outcome}"]
        if outcome.fault is not None:
            lines += [f"was {outcome.case.fault or 'as the oracle says'}", f"is  {outcome.fault}"]
        super().__init__("\n".join([*lines, outcome.why]))


def _replayed(item: CaseItem) -> dict[Path, Outcome]:
    """All cases of the session at once; in a process of pytest-xdist, which shares them out, only this one."""
    import sys

    from shrinkray_gpu.cli_explain import architecture
    from shrinkray_gpu.replay import replay
    from shrinkray_gpu.runner.interpreter import found

    config = item.config
    every = [each for each in item.session.items if isinstance(each, CaseItem)]
    chosen = [item] if hasattr(config, "workerinput") else every
    python = config.getoption("--corpus-python")
    outcomes = replay(
        [each.case for each in chosen],
        python=found(python) if python else sys.executable,
        arch=architecture(config.getoption("--corpus-arch")),
        runs=config.getoption("--corpus-runs"),
    )
    return {each.path: outcome for each, outcome in zip(chosen, outcomes)}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "corpus: a case of a corpus of GPU faults")

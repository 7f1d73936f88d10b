"""`shrink replay --bisect CASE`: between which releases of Triton a case changed, by few replays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from packaging.version import Version

from shrinkray_gpu.cells.this_machine import ThisMachine
from shrinkray_gpu.corpus import environments
from shrinkray_gpu.corpus.case import Case
from shrinkray_gpu.corpus.case_cells import CaseCell, ReplayPlace
from shrinkray_gpu.corpus.expectation import CaseOutcome, Status
from shrinkray_gpu.corpus.first_bad import FirstBad
from shrinkray_gpu.corpus.replay import outcomes_of
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import Answer

OLDEST = Version("3.4")
"""The oldest Triton that the worker knows its way about in."""

CERTAIN = 1 - 1e-9
"""A replay is as many runs as the case needs: its outcome is taken as it is."""
Say = Callable[[str], None]


@dataclass(frozen=True)
class ReleaseStep:
    """A change from one release of Triton to the next; `before` is empty where there was none."""

    case: str
    before: str
    was: str
    after: str
    now: str

    def __str__(self) -> str:
        if not self.before:
            return f"{self.case}: {self.now} in every release asked that can run it ({self.after})"
        return f"{self.case}: {self.was} in triton {self.before}, {self.now} in triton {self.after}"


def bisect(
    case: Case,
    *,
    releases: Sequence[str] = (),
    python: str = sys.executable,
    arch: int | None = None,
    environment: Mapping[str, str] | None = None,
    say: Say = lambda text: None,
) -> list[ReleaseStep]:
    """Between which releases of Triton the case changed. `releases` in any order; default: all that pip offers.

    Searches each stretch whose ends differ for the release that first does what its end does, so that a change before
    that one is found, too. Releases that cannot run it are left out.
    """

    place = ReplayPlace(python, arch, tuple(sorted((environment or {}).items())))

    def ask(release: str) -> CaseOutcome:
        cell = CaseCell(case, replace(place, triton=release).installed(say))
        (outcome,) = outcomes_of([cell], machine)
        say(f"  triton {release}: {outcome}: {outcome.why}")
        return outcome

    offered = releases or [each for each in environments.triton_releases(python) if Version(each) >= OLDEST]
    with closing(ThisMachine(1)) as machine:
        return steps(case.name, environments.in_order(offered), ask)


def steps(name: str, releases: Sequence[str], ask: Callable[[str], CaseOutcome]) -> list[ReleaseStep]:
    """The changes among these releases, oldest first. Each is asked once at most."""
    asked: dict[str, CaseOutcome] = {}

    def outcome(release: str) -> CaseOutcome:
        if release not in asked:
            asked[release] = ask(release)
        return asked[release]

    left = list(releases)
    for end in (0, -1):
        while left and not outcome(left[end]).tells:
            left.pop(end)
    if not left:
        why = f": {asked[releases[-1]].why}" if releases else ""
        raise UsageError(f"no release of Triton that was asked can run {name} here{why}")

    def within(stretch: list[str]) -> Iterator[ReleaseStep]:
        if _alike(outcome(stretch[0]), outcome(stretch[-1])):
            return
        before, after = _last_change(stretch, outcome)
        yield from within(stretch[: stretch.index(before) + 1])
        yield ReleaseStep(name, before, str(outcome(before)), after, str(outcome(after)))

    stretch = left[0] if len(left) == 1 else f"{left[0]} to {left[-1]}"
    return list(within(left)) or [ReleaseStep(name, "", "", stretch, str(outcome(left[-1])))]


def _last_change(stretch: Sequence[str], outcome: Callable[[str], CaseOutcome]) -> tuple[str, str]:
    """The two releases, with none between that can run it, of which the later one does what the end does."""
    end = outcome(stretch[-1])
    search = FirstBad(len(stretch) - 1, always=CERTAIN, sightings=1)
    alike: dict[int, bool] = {}
    while (version := search.choice()) is not None and version not in alike:
        said = outcome(stretch[version])
        if not said.tells:
            search.cannot(version)
        else:
            alike[version] = _alike(said, end)
            search.add(version, Answer.FAULTS if alike[version] else Answer.PASSES)
    before = max(version for version, it_is in alike.items() if not it_is)
    return stretch[before], stretch[min(version for version in alike if version > before)]


def _alike(one: CaseOutcome, other: CaseOutcome) -> bool:
    """A flaky fault may show in all of a few runs: that is no change."""
    showing = {Status.FAULTS, Status.FLAKY}
    return one.status is other.status or {one.status, other.status} == showing

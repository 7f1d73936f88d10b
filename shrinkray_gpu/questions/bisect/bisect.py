"""The search through a history of releases: choose, run, write down, tell; until one change has the confidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shrinkray_gpu.corpus.first_bad import ALWAYS, SURE, FirstBad, Suspects
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.evidence.text_tables import columns
from shrinkray_gpu.oracle import Answer
from shrinkray_gpu.questions.bisect.answer_log import AnswerLog
from shrinkray_gpu.questions.bisect.history import ReleaseHistory
from shrinkray_gpu.questions.bisect.release_runs import ReleaseAnswer, ReleaseRuns

Say = Callable[[str], None]
SURE_RUNS = 10
"""Of a bad end without its fault, where the compiled code decides."""
_COUNTS = ("faults", "passes", "other")
FIRST_RUN = 10.0
"""What the first run of a release costs, in runs: it is downloaded, and a lane starts with it."""


@dataclass(frozen=True)
class Bisection:
    """What a search came to."""

    history: ReleaseHistory
    search: FirstBad
    unfit: dict[str, str]
    """Releases without an answer, and why."""
    missing: set[str]
    """Those of them that could not be installed."""

    @property
    def good_end_is_bad(self) -> bool:
        found = self.search.found()
        return (found is not None and found.first == 0) or self.search.runs(0)[0] > 0

    @property
    def found(self) -> bool:
        """A set that is left only because a release could not be installed is no find."""
        found = self.search.found()
        return found is not None and not self._not_installed(found)

    def _not_installed(self, suspects: Suspects) -> list[str]:
        """The releases that would tell the set apart, but for their installation."""
        return [each for each in self.history.releases[suspects.first : suspects.last] if each in self.missing]

    def verdict(self) -> str:
        """One line."""
        found = self.search.found()
        if found is not None:
            said = f"{self.history.change_words(found)} (probability {found.probability:.3f})"
            if missing := self._not_installed(found):
                return f"not found to one release: {said}; {', '.join(missing)} could not be installed"
            if len(self.history.change(found)) > 1:
                said += ": none of the releases that would tell them apart gives an answer"
            return said
        left = self.search.range_left()
        best = self.search.suspects()[0]
        if best.probability >= self.search.confidence:
            neighbour = self.search.good_neighbour(best)
            good, passes = self.history.releases[neighbour], self.search.runs(neighbour)[1]
            return (
                f"not found to the confidence of {self.search.confidence}: it is likely that "
                f"{self.history.change_words(best)} ({best.probability:.3f}), but {passes} runs are too few to believe "
                f"that {self.history.package} {good} is good (allow more by --runs)"
            )
        return (
            f"not found to the confidence of {self.search.confidence}: it is "
            f"{self.history.range_words(left)} (probability {left.probability:.3f}); the likeliest is that "
            f"{self.history.change_words(best)} ({best.probability:.3f})"
        )

    def rows(self) -> list[dict[str, Any]]:
        """A row a release, the oldest first: what its runs showed, and the probability that the change came with it."""
        versions = self.history.releases
        chances = self.search.probabilities()
        if self.history.backwards:
            chances = [*chances[1:], 0.0]  # a fix came with the release after
        rows = [
            {
                "release": release,
                **dict(zip(_COUNTS, self.search.runs(index))),
                "no answer": self.unfit.get(release, ""),
                "probability": chances[index],
            }
            for index, release in enumerate(versions)
        ]
        return rows[::-1] if self.history.backwards else rows

    def table(self) -> str:
        """The releases that were run, and those that may have brought the change, for people."""
        told = [row for row in self.rows() if row["no answer"] or any(row[name] for name in _COUNTS)]
        told = [row for row in self.rows() if row in told or row["probability"] >= 0.001]
        lines = [(self.history.package, *_COUNTS, "probability", "")]
        for row in told:
            note = row["no answer"] and f"no answer: {row['no answer']}"
            counts = (str(row[name] or "-") for name in _COUNTS)
            lines.append((row["release"], *counts, f"{row['probability']:.3f}", note))
        left = len(self.history.releases) - len(told)
        return "\n".join([*columns(lines), *([f"and {left} more, not run, each below 0.001"] if left else [])])

    def to_json(self) -> dict[str, Any]:
        found = self.search.found()
        return {
            "package": self.history.package,
            "found": self.found,
            "verdict": self.verdict(),
            "kind": "ended" if self.history.backwards else "began",
            "change": list(self.history.change(found)) if found else [],
            "not installed": sorted(self.missing, key=self.history.releases.index),
            "probability": found.probability if found else None,
            "confidence": self.search.confidence,
            "releases": self.rows(),
        }


def bisect_program(
    history: ReleaseHistory, runs: ReleaseRuns, log: AnswerLog, *, confidence: float, most_runs: int, say: Say
) -> Bisection:
    """Search the history, beginning with what the log has. No release gets more than `most_runs` runs that tell.

    Raises UsageError where the bad end does not show the fault, one of both ends cannot be run, or no release can be
    installed any more.
    """
    sure = runs.place.arch is not None
    search = FirstBad(len(history.releases) - 1, confidence=confidence, always=SURE if sure else ALWAYS)
    unfit: dict[str, str] = {}
    bisection = Bisection(history, search, unfit, set())
    bound = False

    def take(release: str, said: ReleaseAnswer) -> None:
        nonlocal bound
        version = history.releases.index(release)
        if said.final and said.answer is Answer.UNKNOWN:
            search.cannot(version)
        else:
            search.add(version, said.answer)
        if not search.can_answer(version):
            unfit[release] = said.why
        if said.missing:
            bisection.missing.add(release)
        if said.answer is Answer.FAULTS and said.fault is not None and not bound:
            runs.bind(said.fault)
            bound = True

    for release, said in log.earlier:
        take(release, said)
    if log.earlier:
        say(f"going on with {len(log.earlier)} answers of {log.path}")
    while (version := search.choice(FIRST_RUN)) is not None and _is_worth_it(search, version, most_runs, sure):
        release = history.releases[version]
        say(f"running it with {history.package} {release} ...")
        said = runs.run(release)
        if not said.final:  # what cannot be installed now may be at hand when the search goes on
            log.add(release, said)
        take(release, said)
        say(f"  {history.package} {release}: {_word(said)}{_standing(bisection)}")
    _check_ends(bisection, most_runs)
    return bisection


def _is_worth_it(search: FirstBad, version: int, most_runs: int, sure: bool) -> bool:
    """A bad end that never shows its fault is asked no more: soon, where chance most likely has no part in it."""
    faults, passes, silent = search.runs(version)
    most = min(SURE_RUNS, most_runs) if sure and version == search.last and not faults else most_runs
    return faults + passes + silent < most


def _check_ends(bisection: Bisection, most_runs: int) -> None:
    """Raises UsageError where one tells nothing, or the bad one shows no fault."""
    history, search = bisection.history, bisection.search
    good, bad = (f"{history.package} {history.releases[end]}" for end in (0, -1))
    for version, name, option in ((search.last, bad, "--bad"), (0, good, "--good")):
        if not search.can_answer(version):
            why = bisection.unfit[history.releases[version]]
            raise UsageError(
                f"the {option[2:]} end cannot be run here: {name}: {why}. Name another release by {option}"
            )
    faults, passes, _ = search.runs(search.last)
    if not faults:
        raise UsageError(
            f"the bad end is not bad: none of {passes} runs of {bad} showed the fault. Name another release by --bad"
            + (", or allow more runs by --runs" if passes >= most_runs else "")
        )


def check_good_end(bisection: Bisection) -> None:
    """It must be what the user says. Raises UsageError."""
    search, history = bisection.search, bisection.history
    if bisection.good_end_is_bad:
        raise UsageError(
            f"the good end is not good: {search.runs(0)[0]} of {sum(search.runs(0))} runs of {history.package} "
            f"{history.releases[0]} showed the fault. Name another release by --good"
        )


def _word(said: ReleaseAnswer) -> str:
    if said.answer is Answer.UNKNOWN:
        return f"{'no answer' if said.final else 'tells nothing'} ({said.why})"
    return f"{said.answer.value} ({said.why})" if said.why else said.answer.value


def _standing(bisection: Bisection) -> str:
    """How far the search is, once both ends have answered."""
    search, history = bisection.search, bisection.history
    if search.begins or not search.runs(0)[1]:
        return ""
    best = search.suspects()[0]
    return f"; likeliest: {history.change_words(best)} ({best.probability:.2f})"

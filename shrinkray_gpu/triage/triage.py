"""The order of a triage: what is known from text, one run of each failure, clusters, one reduction of each.

A budget of time decides how far it comes. Runs come first, of each kind of text one before a second one of any. Then
the clusters that explain most are reduced before others. What is done stands in the journal, and a second call goes on.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from shrinkray_gpu.errors import ShrinkError, UsageError
from shrinkray_gpu.oracle.adopt import SKIPPED_HERE
from shrinkray_gpu.questions.bisect.answer_log import settings_with_digests
from shrinkray_gpu.triage.clusters import CauseCluster, FailureMember, SortedFailures, sort
from shrinkray_gpu.triage.fault_origin import of_text
from shrinkray_gpu.triage.reading import read_all
from shrinkray_gpu.triage.reductions import FAILED, REDUCED, STOPPED, Reducing, explained, reduce_cluster
from shrinkray_gpu.triage.reported import ReportedFailure
from shrinkray_gpu.triage.reruns import Reruns, TriagePlace
from shrinkray_gpu.triage.session import run_session
from shrinkray_gpu.triage.triage_journal import TriageJournal

RUNNING = 0.5
"""The part of the budget after which no failure is run any more: a repro of one cause is worth more."""
FINDING = 0.25
"""The part after which no test is run any more to find those that fail."""
LEAST = 30.0
"""Seconds of search below which no reduction is begun."""


@dataclass(frozen=True)
class TriageAsked:
    """What is looked at, and where the result goes."""

    paths: tuple[Path, ...]
    pytest: tuple[str, ...]
    """Arguments of a pytest that is run here; empty: none."""
    output: Path
    hours: float = math.inf
    restart: bool = False
    reduce: bool = True


@dataclass(frozen=True)
class TriageResult:
    """What came out."""

    found: SortedFailures
    reductions: dict[str, dict[str, Any]]
    """By the clusters' names."""
    waiting: tuple[str, ...] = ()
    """Clusters whose turn did not come within the budget."""
    failures: int = 0
    seconds: float = 0.0
    interrupted: bool = False


def triage(asked: TriageAsked, place: TriagePlace, reducing: Reducing, say: Callable[[str], None]) -> TriageResult:
    """Do it. Raises UsageError for bad input."""
    began = time.monotonic()
    until = began + asked.hours * 3600
    settings = {
        "python": place.python,
        "arch": place.arch,
        "cwd": str(place.cwd),
        "environment": settings_with_digests(place.environment),
        "pytest": list(asked.pytest),
    }
    read = read_all(asked.paths, place.cwd, say)
    reports = read.failures
    if not (reports or asked.pytest or read.junit):
        raise UsageError("no failure is told of there: name junit.xml, logs, or a folder of capsules")
    journal = TriageJournal(asked.output, settings, place.versions, restart=asked.restart)
    if journal.outdated:
        say(f"all is run anew, for an earlier call ran it with other versions: {journal.outdated}")
    interrupted = False
    try:
        with Reruns(place) as reruns:
            try:
                for failure in _of_pytest(asked, place, reruns, journal, began + (until - began) * FINDING, say):
                    reports.append(failure)
                _run_each(reports, reruns, journal, began + (until - began) * RUNNING, say)
                waiting = _reduce_each(asked, place, reducing, reports, reruns, journal, until, say)
            except KeyboardInterrupt:
                interrupted, waiting = True, []
            found = sort(reports, journal.reruns)
            if interrupted:
                waiting = [each.name for each in found.clusters if each.name not in journal.reductions]
            reduced = {each.name for each in found.clusters} & journal.reductions.keys()
            return TriageResult(
                found,
                {name: journal.reductions[name] for name in reduced},
                tuple(waiting),
                len(reports),
                time.monotonic() - began,
                interrupted,
            )
    finally:
        journal.close()


def _of_pytest(
    asked: TriageAsked,
    place: TriagePlace,
    reruns: Reruns,
    journal: TriageJournal,
    until: float,
    say: Callable[[str], None],
) -> Iterator[ReportedFailure]:
    """The failures of the tests that are run here, as they are found. On the virtual GPU each test is run by itself: a
    fault of one would be that of all after it in the same process."""
    if not asked.pytest:
        return
    if journal.failures is not None:
        yield from journal.failures
        return
    failures = []
    if place.arch is None:
        for failure in run_session(asked.pytest, place, journal.session_record, say):
            failures.append(failure)
            yield failure
        journal.keep_failures(failures)
        return
    nodes = reruns.tests(asked.pytest)
    for number, node in enumerate(nodes, 1):
        found = journal.first_runs.get(node)
        if found is None or found.unsettled:
            if time.monotonic() > until:
                say(f"{len(nodes) - number + 1} tests are not run: their part of the time is over")
                return
            say(f"test {number} of {len(nodes)}: {node}")
            found = reruns.first_run(node)
            journal.keep_first_run(node, found)
        if found.is_seen or (found.trouble and not found.trouble.startswith(SKIPPED_HERE)):
            told = str(found.fault or found.origin or found.trouble)
            failures.append(ReportedFailure(node, "pytest", found.message or told, "", node))
            yield failures[-1]
    if not any(found.unsettled for found in journal.first_runs.values()):
        journal.keep_failures(failures)


def _run_each(
    reports: Sequence[ReportedFailure], reruns: Reruns, journal: TriageJournal, until: float, say: Callable[[str], None]
) -> None:
    """Run what was not run yet, of each kind of text one first."""
    subjects = [each for each in in_turn(reports) if each.subject]
    todo = [each for each in subjects if each.subject not in journal.reruns or journal.reruns[each.subject].unsettled]
    if len(todo) < len(subjects):
        say(f"{len(subjects) - len(todo)} of {len(subjects)} were run by an earlier call; --restart runs them anew")
    for number, report in enumerate(todo, 1):
        if time.monotonic() > until:
            say(f"{len(todo) - number + 1} failures are not run again: half of the time is over")
            return
        say(f"run {number} of {len(todo)}: {report.name}")
        journal.keep_rerun(report.subject, reruns.rerun(report))


def in_turn(reports: Iterable[ReportedFailure]) -> list[ReportedFailure]:
    """Each subject once: one of each kind of text, then the second ones."""
    kinds: defaultdict[object, dict[str, ReportedFailure]] = defaultdict(dict)
    for report in reports:
        kinds[of_text(report.fault, report.kernel, report.frames, report.name)].setdefault(report.subject, report)
    rows = zip_longest(*(each.values() for each in kinds.values()))
    found: dict[str, ReportedFailure] = {}
    for report in (each for row in rows for each in row if each is not None):
        found.setdefault(report.subject, report)
    return list(found.values())


def _reduce_each(
    asked: TriageAsked,
    place: TriagePlace,
    reducing: Reducing,
    reports: Sequence[ReportedFailure],
    reruns: Reruns,
    journal: TriageJournal,
    until: float,
    say: Callable[[str], None],
) -> list[str]:
    """Reduce the clusters that are new and can be run here, also where that failed earlier. Returns those whose turn
    did not come."""
    waiting: list[str] = []
    for cluster in sort(reports, journal.reruns).clusters:
        folder = asked.output / cluster.name
        _compare(cluster, folder, reruns, journal, say)
        earlier = journal.reductions.get(cluster.name, {}).get("state", FAILED)
        if earlier != FAILED or not asked.reduce or cluster.known or cluster.cheapest is None:
            continue
        seconds = min(reducing.seconds, until - time.monotonic())
        if seconds < min(LEAST, reducing.seconds):
            waiting.append(cluster.name)
            continue
        say(f"reducing {cluster.cheapest.name} for {_counted(cluster.members)}: {cluster.title}")
        resumes = cluster.name in journal.begun
        journal.keep_begun(cluster.name)
        told = reduce_cluster(cluster, place, replace(reducing, resumes=resumes), folder, seconds)
        say(f"{told['state']}{': ' * bool(told['why'])}{told['why']}")
        if told["state"] == STOPPED:
            raise KeyboardInterrupt
        journal.keep_reduction(cluster.name, told)
        _compare(cluster, folder, reruns, journal, say)
    return waiting


def _compare(
    cluster: CauseCluster, folder: Path, reruns: Reruns, journal: TriageJournal, say: Callable[[str], None]
) -> None:
    """Hold the repro against the failures of its cause, unless there is none or it was done. The repro stays as it is
    where that fails."""
    told = journal.reductions.get(cluster.name, {})
    if told.get("state") != REDUCED or "explains" in told:
        return
    try:
        found = explained(folder / "repro.py", cluster.members, reruns)
    except (ShrinkError, OSError, UnicodeError) as error:
        say(f"the repro of {cluster.name} was not compared with its failures: {error}")
    else:
        journal.keep_reduction(cluster.name, {**told, "explains": found})


def _counted(members: Sequence[FailureMember]) -> str:
    return "1 failure" if len(members) == 1 else f"{len(members)} failures"

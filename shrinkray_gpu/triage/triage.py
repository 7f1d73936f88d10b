"""The order of a triage: what is known from text, one run of each failure, clusters, one reduction of each.

A budget of time decides how far it comes. Runs come first, of each kind of text one before a second one of any. Then
the clusters that explain most are reduced before others. What is done stands in the journal, and a second call goes on.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

from shrinkray_gpu.cells.cell import CellEngine, Row
from shrinkray_gpu.cells.shard import Shard, digest
from shrinkray_gpu.cells.shipped_files import write
from shrinkray_gpu.errors import SickDevice, UsageError
from shrinkray_gpu.oracle.adopt import SKIPPED_HERE
from shrinkray_gpu.questions.bisect.answer_log import settings_with_digests
from shrinkray_gpu.triage.clusters import CauseCluster, FailureMember, SortedFailures, sort
from shrinkray_gpu.triage.fault_origin import of_text
from shrinkray_gpu.triage.reading import read_all
from shrinkray_gpu.triage.reductions import FAILED, MEMBERS, REDUCED, STOPPED, Reducing
from shrinkray_gpu.triage.reported import ReportedFailure
from shrinkray_gpu.triage.reruns import Rerun, TriagePlace
from shrinkray_gpu.triage.session import failures_in
from shrinkray_gpu.triage.shared_triage import MergedTriage
from shrinkray_gpu.triage.triage_cells import (
    FILES,
    WAITS,
    AgainCell,
    CollectedCell,
    ComparisonCell,
    FailureCell,
    FirstRunCell,
    ReductionCell,
    SessionCell,
    TriageCell,
    VersionsCell,
)
from shrinkray_gpu.triage.triage_journal import ReportsPart, TriageJournal

C = TypeVar("C", bound=TriageCell)
RUNNING = 0.5
"""The part of the budget after which no failure is run any more: a repro of one cause is worth more."""
FINDING = 0.25
"""The part after which no test is run any more to find those that fail."""


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
    shard: Shard | None = None
    """Only this part: of the runs, or of the reductions where there is `merged`."""
    merged: MergedTriage | None = None
    """What shards found out: then nothing is run but reductions."""


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
    sick: SickDevice | None = None
    """What ended it, where no healthy GPU is left."""


@dataclass
class TriageWork:
    """What all steps of a triage share."""

    asked: TriageAsked
    place: TriagePlace
    engine: CellEngine
    journal: TriageJournal
    say: Callable[[str], None]
    hosts: set[str] = field(default_factory=set)
    """Those whose versions were told of."""

    def rows(
        self, cells: Sequence[C], until: float, told: Callable[[int], str], begins: Callable[[C], None] | None = None
    ) -> Iterator[tuple[C, Row]]:
        """The rows of the cells as they come, until that time by the clock. `told`: a line of each, when it begins or,
        on a cluster, when it has ended."""
        begun: set[int] = set()

        def begin(index: int) -> None:
            if cells[index].is_late:
                return
            begun.add(index)
            self.say(told(index))
            if begins is not None:
                begins(cells[index])

        if not cells or time.time() > until:
            return
        with closing(self.engine.run(cells, begin)) as rows:
            for index, row in rows:
                if not (index in begun or row.get(WAITS)):
                    self.say(f"{told(index)} ({row.get('host', 'no host')})")
                self._check_versions(row)
                yield cells[index], row
                if time.time() > until:
                    return

    def _check_versions(self, row: Row) -> None:
        versions, host = row.get("versions", self.journal.ran), row.get("host", "")
        if versions != self.journal.ran and host not in self.hosts:
            self.hosts.add(host)
            other = [f"{name} {value}" for name, value in versions.items() if self.journal.ran.get(name) != value]
            self.say(f"{host} has other versions than the first host: {', '.join(other)}")


def triage(
    asked: TriageAsked, place: TriagePlace, reducing: Reducing, engine: CellEngine, say: Callable[[str], None]
) -> TriageResult:
    """Do it. Raises UsageError for bad input."""
    began = time.time()
    until = began + asked.hours * 3600
    settings = {
        "python": place.python,
        "arch": place.arch,
        "cwd": str(place.cwd),
        "environment": settings_with_digests(place.environment),
        "pytest": list(asked.pytest),
        **({"shard": str(asked.shard)} if asked.shard else {}),
        **({"merged": asked.merged.digest} if asked.merged else {}),
    }
    reports = dict(enumerate(_read(asked, place, say)))
    ran = _only_row(engine, VersionsCell(place))["versions"]
    journal = TriageJournal(asked.output, settings, ran, restart=asked.restart)
    if journal.outdated:
        say(f"all is run anew, for an earlier call ran it with other versions: {journal.outdated}")
    if asked.merged:
        journal.reruns = {**asked.merged.reruns, **journal.reruns}
    work = TriageWork(asked, place, engine, journal, say)
    interrupted, sick, waiting = False, None, None
    try:
        try:
            if asked.merged is None:
                find(work, reports, began + (until - began) * FINDING)
                run_each(work, list(reports.values()), began + (until - began) * (RUNNING if asked.reduce else 1))
            waiting = reduce_each(work, reducing, list(reports.values()), until)
        except KeyboardInterrupt:
            interrupted = True
        except SickDevice as error:
            sick = error
        found = sort(reports.values(), journal.reruns)
        if waiting is None:
            waiting = [each.name for each in found.clusters if each.name not in journal.reductions]
        reduced = {each.name for each in found.clusters} & journal.reductions.keys()
        return TriageResult(
            found,
            {name: journal.reductions[name] for name in reduced},
            tuple(waiting),
            len(reports),
            time.time() - began,
            interrupted,
            sick,
        )
    finally:
        journal.close()


def of_shards(shards: MergedTriage) -> TriageResult:
    """What shards found out; nothing is run."""
    found = sort(shards.reports, shards.reruns)
    open_ones = [each.name for each in found.clusters if each.name not in shards.reductions]
    waiting = tuple(open_ones) if shards.shares_reductions else ()
    return TriageResult(found, dict(shards.reductions), waiting, len(shards.reports))


def _read(asked: TriageAsked, place: TriagePlace, say: Callable[[str], None]) -> list[ReportedFailure]:
    if asked.merged:
        return list(asked.merged.reports)
    read = read_all(asked.paths, place.cwd, say)
    if not (read.failures or asked.pytest or read.junit):
        raise UsageError("no failure is told of there: name junit.xml, logs, or a folder of capsules")
    return read.failures


def _only_row(engine: CellEngine, cell: TriageCell) -> Row:
    """Raises UsageError where it tells of a failure."""
    ((_, row),) = engine.run([cell])
    if "failed" in row:
        raise UsageError(row["failed"])
    return row


def find(work: TriageWork, reports: dict[int, ReportedFailure], until: float) -> None:
    """Add the failures of the tests that are run here, and leave those of this shard. On the virtual GPU each test is
    run by itself: a fault of one would be that of all after it in the same process."""
    asked, journal = work.asked, work.journal
    names, first = [each.name + each.message for each in reports.values()], len(reports)
    nodes: list[str] = []
    if asked.shard:
        subjects = list(dict.fromkeys(each.subject for each in reports.values()))
        own = {*asked.shard.of(subjects)}
        for at in [at for at, each in reports.items() if each.subject not in own]:
            del reports[at]
    if asked.pytest and journal.failures is not None and not asked.shard:
        reports.update(enumerate(journal.failures, first))
    elif asked.pytest and work.place.arch is None:
        _session(work, reports, first)
    elif asked.pytest:
        nodes = _only_row(work.engine, CollectedCell(work.place, args=asked.pytest))["nodes"]
        _first_runs(work, nodes, reports, first, until)
    part = asked.shard.part(len(nodes)) if asked.shard else range(len(nodes))
    runs = [journal.first_runs.get(nodes[at]) for at in part]
    if any(each is None or each.unsettled for each in runs):
        return
    if asked.shard:
        journal.keep_part(ReportsPart(digest([*names, *nodes]), reports))
    elif asked.pytest and journal.failures is None:
        journal.keep_failures([each for at, each in reports.items() if at >= first])


def _session(work: TriageWork, reports: dict[int, ReportedFailure], first: int) -> None:
    record = work.journal.session_record
    work.say(f"running pytest {' '.join(work.asked.pytest)} ...")
    try:
        row = _only_row(work.engine, SessionCell(work.place, args=work.asked.pytest, record=record))
    except KeyboardInterrupt:
        reports.update(enumerate(failures_in(record, work.place), first))
        raise
    for line in row["said"]:
        work.say(line)
    reports.update(enumerate((ReportedFailure(**each) for each in row["failures"]), first))


def _first_runs(
    work: TriageWork, nodes: Sequence[str], reports: dict[int, ReportedFailure], first: int, until: float
) -> None:
    """Run each test once, and add those that fail."""
    runs = work.journal.first_runs
    part = work.asked.shard.part(len(nodes)) if work.asked.shard else range(len(nodes))
    todo = [at for at in part if nodes[at] not in runs or runs[nodes[at]].unsettled]
    cells = [FirstRunCell(work.place, node=nodes[at]) for at in todo]
    left = len(cells)
    try:
        for cell, row in work.rows(cells, until, lambda at: f"test {todo[at] + 1} of {len(nodes)}: {nodes[todo[at]]}"):
            work.journal.keep_first_run(cell.node, Rerun.from_json(row["found"]))
            left -= 1
    finally:
        for at in part:
            found = runs.get(nodes[at])
            if found and (found.is_seen or (found.trouble and not found.trouble.startswith(SKIPPED_HERE))):
                told = str(found.fault or found.origin or found.trouble)
                reports[first + at] = ReportedFailure(nodes[at], "pytest", found.message or told, "", nodes[at])
    if left:
        work.say(f"{left} tests are not run: their part of the time is over")


def run_each(work: TriageWork, reports: Sequence[ReportedFailure], until: float) -> None:
    """Run what was not run yet, of each kind of text one first."""
    journal = work.journal
    subjects = [each for each in in_turn(reports) if each.subject]
    todo = [each for each in subjects if each.subject not in journal.reruns or journal.reruns[each.subject].unsettled]
    if earlier := len(subjects) - len(todo):
        work.say(f"{earlier} of {len(subjects)} were run by an earlier call; --restart runs them anew")
    cells = [FailureCell(work.place, report=each) for each in todo]
    left = len(cells)
    for cell, row in work.rows(cells, until, lambda at: f"run {at + 1} of {len(todo)}: {todo[at].name}"):
        journal.keep_rerun(cell.report.subject, Rerun.from_json(row["found"]))
        left -= 1
    if left:
        work.say(f"{left} failures are not run again: half of the time is over")


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


def reduce_each(work: TriageWork, reducing: Reducing, reports: Sequence[ReportedFailure], until: float) -> list[str]:
    """Reduce the clusters that are new and can be run here, also where that failed earlier. Returns those whose turn
    did not come."""
    asked, journal = work.asked, work.journal
    clusters = sort(reports, journal.reruns).clusters
    own = [each for each in clusters if not each.known and each.cheapest is not None]
    if asked.shard:  # by name: their order may be another one once their cheapest members were run again
        own = [sorted(own, key=lambda each: each.name)[at] for at in asked.shard.part(len(own))]
    own = [each for each in own if journal.reductions.get(each.name, {}).get("state", FAILED) == FAILED]
    if asked.reduce:
        names = {each.name for each in own}
        clusters = run_again(work, reports, names, until)
        own = [each for each in clusters if each.name in names]
    cells = []
    for cluster in own if asked.reduce else ():
        goes_on = replace(reducing, resumes=cluster.name in journal.begun)
        folder = (asked.output / cluster.name).absolute()
        cells.append(
            ReductionCell(work.place, members=cluster.seen[:MEMBERS], reducing=goes_on, folder=folder, until=until)
        )

    def told(at: int) -> str:
        return f"reducing {cells[at].members[0].name} for {_counted(own[at].members)}: {own[at].title}"

    waiting = []
    for cell, row in work.rows(cells, math.inf, told, begins=lambda cell: journal.keep_begun(cell.name)):
        if row.get(WAITS):
            waiting.append(cell.name)
            continue
        write(row.pop(FILES, {}), cell.folder)
        row.pop("host", None)
        work.say(f"{row['state']}{': ' * bool(row['why'])}{row['why']}")
        if row["state"] == STOPPED:
            raise KeyboardInterrupt
        journal.keep_reduction(cell.name, row)
    compare(work, clusters)
    return waiting


def run_again(
    work: TriageWork, reports: Sequence[ReportedFailure], names: Collection[str], until: float
) -> tuple[CauseCluster, ...]:
    """Run what is to be reduced for these clusters a few times more. Returns all clusters. A flaky test that shows its
    fault at once by chance would be reduced here, and a steady one of the same cause elsewhere."""
    while True:
        clusters = sort(reports, work.journal.reruns).clusters
        doubted = [each.doubted for each in clusters if each.name in names and each.doubted is not None]
        if not _run_again(work, doubted, until):
            return clusters


def _run_again(work: TriageWork, doubted: Sequence[FailureMember], until: float) -> int:
    """How many of these were run again before the time was over."""
    cells = [AgainCell(work.place, report=each.reports[0], seen=each.rerun) for each in doubted if each.rerun]
    answered = 0
    for cell, row in work.rows(cells, until, lambda at: f"is it flaky? {cells[at].name}"):
        work.journal.keep_rerun(cell.report.subject, Rerun.from_json(row["found"]))
        answered += 1
    return answered


def compare(work: TriageWork, clusters: Iterable[CauseCluster]) -> None:
    """Hold each repro against the failures of its cause, unless that was done. The repro stays as it is where that
    fails."""
    journal = work.journal
    explains: dict[str, dict[str, str]] = {}
    cells: list[tuple[str, str, ComparisonCell]] = []
    for cluster in clusters:
        told = journal.reductions.get(cluster.name, {})
        if told.get("state") != REDUCED or "explains" in told:
            continue
        try:
            repro = (work.asked.output / cluster.name / "repro.py").read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            work.say(f"the repro of {cluster.name} was not compared with its failures: {error}")
            continue
        explains[cluster.name] = {}
        for member in cluster.members:
            if member.rerun is None or not member.is_seen:
                explains[cluster.name][member.key] = "it was not seen here, so that only its text is known"
            else:
                cells.append((cluster.name, member.key, ComparisonCell(work.place, repro=repro, rerun=member.rerun)))
    failed = {}
    for index, row in work.engine.run([cell for _, _, cell in cells]):
        name, key, _ = cells[index]
        if "failed" in row:
            failed[name] = row["failed"]
        else:
            explains[name][key] = row["why"]
    for name, found in explains.items():
        if name in failed:
            work.say(f"the repro of {name} was not compared with its failures: {failed[name]}")
        else:
            journal.keep_reduction(name, {**journal.reductions[name], "explains": found})


def _counted(members: Sequence[FailureMember]) -> str:
    return "1 failure" if len(members) == 1 else f"{len(members)} failures"

"""Failures by cause. Two are put together on evidence only; what speaks for one cause without proof is told as maybe.

Pure: reports and reruns in, clusters out.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.triage.fault_origin import BY_TEXT, FaultOrigin, of_text
from shrinkray_gpu.triage.infrastructure import MachineTrouble, trouble_of
from shrinkray_gpu.triage.reported import ReportedFailure
from shrinkray_gpu.triage.reruns import Rerun


@dataclass(frozen=True)
class FailureMember:
    """What is known of one test or capsule that failed, however many reports tell of it."""

    reports: tuple[ReportedFailure, ...]
    rerun: Rerun | None = None
    """None where it was not run again: it cannot be, or the time was over."""

    @property
    def name(self) -> str:
        return self.reports[0].name

    @property
    def subject(self) -> str:
        return self.reports[0].subject

    @property
    def is_seen(self) -> bool:
        return self.rerun is not None and self.rerun.is_seen

    @property
    def is_gone(self) -> bool:
        """Whether it ran here and ended well, each time."""
        return self.rerun is not None and not self.rerun.trouble and not self.rerun.is_seen

    @property
    def is_flaky(self) -> bool:
        """Whether it showed in the last of several runs only."""
        return self.is_seen and self.rerun is not None and self.rerun.runs > 1

    @property
    def fault(self) -> Fault | None:
        """The fault as it was seen here, or else as the report has it."""
        seen = self.rerun.fault if self.rerun is not None and self.is_seen else None
        return seen or self.reports[0].fault

    @property
    def message(self) -> str:
        return speech.clip(self.reports[0].message, 160)

    @property
    def origin(self) -> FaultOrigin:
        """Where it begins. One of which nothing is known is a cause of its own."""
        if self.rerun is not None and self.is_seen and self.rerun.origin is not None:
            return self.rerun.origin
        report = self.reports[0]
        told = of_text(report.fault, report.kernel, report.frames, report.node or report.name)
        return told or FaultOrigin(BY_TEXT, "it says nothing", statement=report.name)


@dataclass(frozen=True)
class CauseCluster:
    """Failures of one cause."""

    origin: FaultOrigin
    members: tuple[FailureMember, ...]
    """The cheapest to reduce first."""

    @property
    def name(self) -> str:
        """Of its folder: the same in each call, whatever else there is."""
        what = self.origin.kernel or self.origin.kind.partition(":")[0]
        plain = re.sub(r"\W+", "_", what, flags=re.ASCII).strip("_")[:40].lower() or "failure"
        return f"{plain}_{hashlib.sha256(repr(self.origin).encode()).hexdigest()[:6]}"

    @property
    def title(self) -> str:
        return speech.clip(str(self.origin), 160)

    @property
    def fault(self) -> Fault | None:
        return self.members[0].fault

    @property
    def known(self) -> tuple[str, ...]:
        """Cases of a corpus that all members have the fingerprint of."""
        told = [set(each.rerun.known) for each in self.members if each.rerun is not None and each.is_seen]
        return tuple(sorted(set.intersection(*told))) if told else ()

    @property
    def cheapest(self) -> FailureMember | None:
        """What is reduced for all of them; None where no member can be run here."""
        return next((each for each in self.members if each.is_seen), None)

    @property
    def messages(self) -> tuple[str, ...]:
        """What its members say, each once."""
        return tuple(dict.fromkeys(each.message for each in self.members))

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(report.source for each in self.members for report in each.reports))


@dataclass(frozen=True)
class Likeness:
    """Two clusters that may be one, and what speaks for it."""

    names: tuple[str, str]
    why: str


@dataclass(frozen=True)
class SortedFailures:
    """All failures, by what they are."""

    clusters: tuple[CauseCluster, ...]
    """The one that explains most first."""
    machine: tuple[tuple[FailureMember, MachineTrouble], ...]
    """Those of the machine."""
    gone: tuple[FailureMember, ...]
    """Those that were run again and not seen again."""
    maybe: tuple[Likeness, ...]


def sort(reports: Iterable[ReportedFailure], reruns: Mapping[str, Rerun]) -> SortedFailures:
    """The failures by cause. `reruns`: by what was run (`ReportedFailure.subject`)."""
    machine, gone = [], []
    by_origin: defaultdict[FaultOrigin, list[FailureMember]] = defaultdict(list)
    for member, trouble in members(reports, reruns):
        if trouble is not None:
            machine.append((member, trouble))
        elif member.is_gone:
            gone.append(member)
        else:
            by_origin[member.origin].append(member)
    clusters = [CauseCluster(origin, tuple(sorted(each, key=_cost))) for origin, each in by_origin.items()]
    clusters.sort(key=lambda each: (-len(each.members), _cost(each.members[0])))
    return SortedFailures(tuple(clusters), tuple(machine), tuple(gone), tuple(likenesses(clusters)))


def members(
    reports: Iterable[ReportedFailure], reruns: Mapping[str, Rerun]
) -> Iterable[tuple[FailureMember, MachineTrouble | None]]:
    """Each test once, with what of the machine failed by its words. One that fails by the machine in one report and
    otherwise in another is told twice."""
    by_subject: dict[tuple[str, str], list[ReportedFailure]] = {}
    troubles: dict[tuple[str, str], MachineTrouble | None] = {}
    for report in reports:
        trouble = trouble_of(report)
        key = (report.subject or report.key, trouble.kind if trouble is not None else "")
        by_subject.setdefault(key, []).append(report)
        troubles.setdefault(key, trouble)
    for key, same in by_subject.items():
        yield FailureMember(tuple(same), reruns.get(key[0])), troubles[key]


def _cost(member: FailureMember) -> tuple[bool, bool, float, str]:
    """What a reduction of it takes: seen here before not, sure before flaky, then by the seconds of a run."""
    seconds = member.rerun.seconds if member.rerun is not None else 0.0
    return not member.is_seen, member.is_flaky, round(seconds, 1), member.name


def likenesses(clusters: Sequence[CauseCluster]) -> Iterable[Likeness]:
    """What may be the same, though nobody can tell."""
    for one, other in itertools.combinations(clusters, 2):
        if why := _alike(one, other):
            yield Likeness((one.name, other.name), why)


def _alike(one: CauseCluster, other: CauseCluster) -> str:
    mine, theirs = one.origin, other.origin
    if mine.kernel and mine.kernel == theirs.kernel:
        if mine.statement and mine.statement == theirs.statement:
            return f"both at {mine.statement} in {mine.kernel}, reached otherwise or wrong otherwise"
        return f"both in {mine.kernel}, at other statements"
    faults = (one.fault, other.fault)
    if faults[0] is None or faults[1] is None or faults[0].difference(faults[1]):
        return ""
    if faults[0].phase == "compile":
        return "the same words of the compiler, on other kernels"
    if BY_TEXT in (mine.by, theirs.by):
        return "the same words, and one of them was not seen here"
    return ""

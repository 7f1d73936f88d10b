"""Failures by cause. Two are put together on evidence only; what speaks for one cause without proof is told as maybe.

Pure: reports and reruns in, clusters out.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.driver_error import OUTSIDE
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.triage.fault_origin import BY_TEXT, FaultOrigin, of_text
from shrinkray_gpu.triage.infrastructure import MachineTrouble, trouble_in, trouble_of
from shrinkray_gpu.triage.reported import ReportedFailure
from shrinkray_gpu.triage.reruns import Rerun

_CRASHED = re.compile(r"^worker '\w+' crashed while running")
"""What pytest-xdist writes of a test that ended its process: of no type."""
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
"""`<function f at 0x7f2e874934c0>`: another one in each process, so that tests of one message seem to have several."""


@dataclass(frozen=True)
class FailureMember:
    """What is known of one test or capsule that failed, however many reports tell of it."""

    reports: tuple[ReportedFailure, ...]
    rerun: Rerun | None = None
    """None where it was not run again: it cannot be, or the time was over."""
    machine: MachineTrouble | None = None
    """What of the machine failed, by the reports' words, though its rerun shows a fault of the program."""
    is_other: bool = False
    """Whether the rerun shows a fault that these reports do not tell of. It says nothing of theirs then."""

    @property
    def name(self) -> str:
        return self.reports[0].name

    @property
    def subject(self) -> str:
        return self.reports[0].subject

    @property
    def is_seen(self) -> bool:
        return self.rerun is not None and self.rerun.is_seen and not self.is_other

    @property
    def key(self) -> str:
        """Tells what is run apart from all else: two that cannot be run may have one name."""
        return self.subject or self.reports[0].key

    @property
    def trouble(self) -> str:
        """Why it was not seen here, as far as its rerun says why; else empty."""
        if self.rerun is None:
            return ""
        return f"shows another fault here: {self.rerun.fault}" if self.is_other else self.rerun.trouble

    @property
    def is_gone(self) -> bool:
        """Whether it ran here and ended well, each time."""
        return self.rerun is not None and not self.rerun.trouble and not self.rerun.is_seen

    @property
    def is_flaky(self) -> bool:
        """Whether it did not show in some of several runs alike."""
        if self.rerun is None or not self.is_seen:
            return False
        return (self.rerun.runs > 1 and not self.rerun.interpreted) or self.rerun.steady is False

    @property
    def fault(self) -> Fault | None:
        """The fault as it was seen here, or else as the report has it."""
        seen, told = self.rerun.fault if self.rerun is not None and self.is_seen else None, self.reports[0].fault
        if seen is not None and told is not None:  # where one access ended in another error then, both are told
            return seen.in_words_of(told.code).in_words_of(seen.code)
        return seen or told

    @property
    def message(self) -> str:
        """What it says by itself, where it was seen here: a report may have the words of a fault before it, which ended
        the context of the GPU."""
        own = self.rerun.message if self.rerun is not None and self.is_seen else ""
        return speech.clip(without_addresses(own or self.reports[0].message), 160)

    @property
    def origin(self) -> FaultOrigin:
        """Where it begins."""
        if self.rerun is not None and self.is_seen and self.rerun.origin is not None:
            return self.rerun.origin
        return _told_origin(self.reports[0])


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
        """The origin, with the first member's own words in place of the compared ones, which lack numbers."""
        kind, fault = self.origin.kind, self.fault
        if fault is not None and fault.text:
            kind = kind.replace(fault.text, without_addresses(fault.words))
        return speech.clip(str(replace(self.origin, kind=kind)), 160)

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
        return next(iter(self.seen), None)

    @property
    def doubted(self) -> FailureMember | None:
        """The cheapest member, where it may be flaky unseen and another one can be reduced in its place."""
        first = self.cheapest
        if len(self.seen) < 2 or first is None or first.rerun is None or first.is_flaky or not first.reports[0].node:
            return None
        return first if first.rerun.steady is None and first.fault is not None else None

    @property
    def seen(self) -> tuple[FailureMember, ...]:
        """Those that can be run here, the cheapest first."""
        return tuple(each for each in self.members if each.is_seen)

    @property
    def messages(self) -> tuple[str, ...]:
        """What its members say, each once."""
        return tuple(dict.fromkeys(each.message for each in self.members))

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(report.source for each in self.members for report in each.reports))


@dataclass(frozen=True)
class Likeness:
    """Clusters that may be one, and what speaks for it."""

    names: tuple[str, ...]
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


def without_addresses(text: str) -> str:
    return _ADDRESS.sub("0x...", text)


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
    clusters.sort(key=lambda each: (-len(each.members), _cost(each.members[0])[:2], each.name))
    return SortedFailures(tuple(clusters), tuple(machine), tuple(gone), tuple(likenesses(clusters)))


def members(
    reports: Iterable[ReportedFailure], reruns: Mapping[str, Rerun]
) -> Iterable[tuple[FailureMember, MachineTrouble | None]]:
    """Each test once for each cause that its reports tell of, with what of the machine failed by its words.

    A rerun with a fault stands for the reports that tell of that fault, or of what ended the context of the GPU before,
    and for no other. The words of a machine's failure are no such report: where nothing else tells of the fault, the
    rerun stands for them."""
    by_subject: defaultdict[str, list[ReportedFailure]] = defaultdict(list)
    ended: set[tuple[str, int]] = set()
    late: set[str] = set()
    for report in reports:
        by_subject[report.subject or report.key].append(report)
        if report.fault is not None and report.fault.code:
            error = (report.source, report.fault.code)
            if error in ended:
                late.add(report.key)
            ended.add(error)
    for subject, same in by_subject.items():
        yield from _members_of(same, reruns.get(subject), late)


def _members_of(
    reports: Sequence[ReportedFailure], rerun: Rerun | None, late: Collection[str]
) -> Iterable[tuple[FailureMember, MachineTrouble | None]]:
    """Those of one test. `late`: reports of an error that ends a context, and of which another test told before."""
    seen = rerun is not None and rerun.is_seen
    told: list[ReportedFailure] = []
    others: defaultdict[FaultOrigin, list[ReportedFailure]] = defaultdict(list)
    ill: dict[str, tuple[MachineTrouble, list[ReportedFailure]]] = {}
    for report in reports:
        if (trouble := trouble_of(report)) is not None:
            ill.setdefault(trouble.kind, (trouble, []))[1].append(report)
        elif rerun is not None and seen and (report.key in late or tells_of(report, rerun)):
            told.append(report)
        else:
            others[_told_origin(report)].append(report)
    if told:
        yield FailureMember(tuple(told), rerun), None
    for other in others.values():
        yield FailureMember(tuple(other), rerun, is_other=seen), None
    if rerun is not None and seen and not told and ill and trouble_in(f"{rerun.message}\n{rerun.fault}") is None:
        trouble = next(iter(ill.values()))[0]
        yield FailureMember(tuple(each for _, same in ill.values() for each in same), rerun, trouble), None
        return
    for trouble, same in ill.values():
        yield FailureMember(tuple(same), rerun), trouble


def tells_of(report: ReportedFailure, rerun: Rerun) -> bool:
    """Whether the report may be of the fault that the rerun shows, or of the exception that the fault ended in: by
    phase and class, or by the device's code. One without a fault, and one of a process that is gone, may be."""
    if report.fault is None or report.died is not None or _CRASHED.search(report.message):
        return True
    said = ReportedFailure(report.name, report.source, rerun.message)
    if report.message.endswith("...") and rerun.message.startswith(report.message[:-3]):  # a log's summary is cut
        return True
    told = (report.fault, replace(report, text="").fault)
    shown = (rerun.fault, said.fault)
    return any(_alike_in_kind(one, other) for one in told for other in shown if one is not None and other is not None)


def _alike_in_kind(one: Fault, other: Fault) -> bool:
    if one.code and other.code:
        return one.code == other.code or {one.code, other.code} == OUTSIDE
    return (one.phase, one.klass) == (other.phase, other.klass)


def _told_origin(report: ReportedFailure) -> FaultOrigin:
    """The origin by its text. A report of which nothing is known is a cause of its own."""
    told = of_text(report.fault, report.kernel, report.frames, report.node or report.name)
    return told or FaultOrigin(BY_TEXT, "it says nothing", statement=report.name)


def _cost(member: FailureMember) -> tuple[bool, bool, int, str]:
    """What a reduction of it takes: seen here before not, at once before in a second run, then by the time of a run.
    Less than 8 s are alike, and so are times within a factor of two: the name decides then, the same in each call."""
    seconds, runs = (member.rerun.seconds, member.rerun.runs) if member.rerun is not None else (0.0, 0)
    return not member.is_seen, member.is_flaky or runs > 1, max(7, int(seconds)).bit_length(), member.name


def likenesses(clusters: Sequence[CauseCluster]) -> Iterable[Likeness]:
    """What may be the same, though nobody can tell."""
    found: list[Likeness] = []
    for one, other in itertools.combinations(clusters, 2):
        if why := _alike(one, other):
            near = [each for each in found if each.why == why and {one.name, other.name} & {*each.names}]
            found = [each for each in found if each not in near]
            names = dict.fromkeys((*(name for each in near for name in each.names), one.name, other.name))
            found.append(Likeness(tuple(names), why))
    return found


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

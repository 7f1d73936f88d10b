"""The healthy twin: the program one small edit away, proved to be without the fault and without any other.

A repro is worth most if it is healthy but for its fault. So the edits that may end it (`repairs` by the kind of its
cause, controls that are texts, the smallest first; `cures` of a front end's error, the nearest first) are tried on the
virtual GPU. One is enough where the kernel is still launched, does as many accesses as before, and Triton's IR proves
that none of them leaves its tensor. Where it takes more than one, the program has a second defect, and that is told.
"""

from __future__ import annotations

import itertools
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import libcst as cst

from shrinkray_gpu.oracle.cause_check import LaunchCauses
from shrinkray_gpu.oracle.fault import FRONT_END, Fault
from shrinkray_gpu.oracle.needs import UNASKED
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.inside.static.cause import Cause
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.same_fault.cures import CURES, Cured, refused_line
from shrinkray_gpu.same_fault.repairs import repairs

WANTS = (*UNASKED.wants, "lines")
"""What a trial must be asked for: launches are followed for these, and places are the text's own."""
MOST = 60
"""Edits that are tried for one program."""
SECONDS = 30.0
DEFECTS = 3
"""Edits after one another that are looked for."""
PROVED = "by Triton's IR no access leaves its tensor then"
COMPILES = "it compiles then, and by Triton's IR no access leaves its tensor"
ENDS_WELL = "it compiles and ends well then; not all of its accesses could be followed"
_TOKEN = re.compile(r"\w+|[^\w\s]")
Trial = Callable[[str], Run]
"""A run of a text on the virtual GPU that was asked for WANTS."""


@dataclass(frozen=True)
class HealthyTwin:
    """A text without the fault, and how it came about."""

    text: str
    edits: tuple[Cured, ...]
    proof: str

    def __str__(self) -> str:
        return "; ".join(f"{edit.edit} (line {edit.line})" for edit in self.edits)


@dataclass(frozen=True)
class Health:
    """What is known of a faulty program beside its fault."""

    twin: HealthyTwin | None = None
    second: str = ""
    """What else is wrong with the program; empty where nothing is known to be."""
    cut: bool = False
    """Whether time or tries were over before every edit was tried: that there is no twin is not known then."""


def health(
    text: str,
    first: Run,
    trial: Trial,
    *,
    file: str,
    offered: Sequence[Cured] = (),
    allowed: Callable[[Cured], bool] = lambda edit: True,
    most: int = MOST,
    seconds: float = SECONDS,
) -> Health:
    """Look for the twin of a program whose file the IR calls `file`. `first`: its own trial. `offered`: edits that are
    known to end the fault. `allowed`: which edits may be made."""
    search = _TwinSearch(trial, file, allowed, most, time.monotonic() + seconds)
    try:
        found = search.health(text, first, offered)
        return replace(found, cut=search.cut and found.twin is None)
    except cst.ParserSyntaxError:
        return Health()


@dataclass
class _TwinSearch:
    trial: Trial
    file: str
    allowed: Callable[[Cured], bool]
    left: int
    until: float
    cut: bool = False

    def health(self, text: str, first: Run, offered: Sequence[Cured]) -> Health:
        causes, fault = LaunchCauses.of(first), Fault.of(first)
        if causes is None and fault is not None and fault.phase == "compile" and FRONT_END.search(fault.klass):
            return self._of_front_end(text, offered, refused_line(first))
        if causes is None and fault is not None:
            ended = (edit for edit, run in self._tried(text, _by_size(text, offered)) if is_proved(run, first))
            return Health(next((HealthyTwin(edit.text, (edit,), PROVED) for edit in ended), None))
        edits: list[Cured] = []
        now, run = text, first
        while causes is not None and len(edits) < DEFECTS:
            found = self._step(now, run, first, [*offered, *self._repairs(now, causes)])
            if found is None:
                break
            edit, run = found
            edits.append(edit)
            now = edit.text
            if (remaining := LaunchCauses.of(run)) is None:
                second = f"it takes {len(edits)} changes to mend it" if len(edits) > 1 else ""
                return Health(HealthyTwin(now, tuple(edits), PROVED), second)
            causes, offered = remaining, ()
        return Health(second=_second(LaunchCauses.of(first)))

    def _of_front_end(self, text: str, offered: Sequence[Cured], refused: str) -> Health:
        """An error that keeps the kernel from being compiled hides whatever is wrong with it beside that."""
        second = ""
        kinds = (cure.apply(text, refused) for cure in CURES)
        candidates = offered or [edit for one_each in itertools.zip_longest(*kinds) for edit in one_each if edit]
        for edit, run in self._tried(text, candidates):
            if _ends_well(run) and run.launches:
                followed = all(not launch.unfollowed for launch in run.launches)
                return Health(HealthyTwin(edit.text, (edit,), COMPILES if followed else ENDS_WELL))
            if not second and (causes := LaunchCauses.of(run)) is not None:
                second = f"once it compiles ({edit.edit}), {causes.causes[0].sentence}"
        return Health(second=second)

    def _repairs(self, text: str, causes: LaunchCauses) -> Iterator[Cured]:
        program = Program.from_text(text)
        for cause in causes.causes:
            yield from repairs(program, cause, causes.kernel, self.file)

    def _step(self, text: str, run: Run, first: Run, edits: Iterable[Cured]) -> tuple[Cured, Run] | None:
        """The smallest edit that is enough; else the smallest that ends some of the causes and brings no other."""
        helps: tuple[Cured, Run] | None = None
        before = _marks(run)
        for edit, after in self._tried(text, _by_size(text, edits)):
            if is_proved(after, first):
                return edit, after
            now = _marks(after)
            if helps is None and now and now < before and _same_accesses(after, first):
                helps = edit, after
        return helps

    def _tried(self, text: str, edits: Iterable[Cured]) -> Iterator[tuple[Cured, Run]]:
        by_text = {edit.text: edit for edit in edits if edit.text != text and self.allowed(edit)}
        for edit in by_text.values():
            if self.left <= 0 or time.monotonic() > self.until:
                self.cut = True
                return
            self.left -= 1
            yield edit, self.trial(edit.text)


def _by_size(text: str, edits: Iterable[Cured]) -> list[Cured]:
    return sorted(edits, key=lambda each: change_size(text, each.text))


def is_proved(run: Run, faulty: Run) -> bool:
    """Whether a run shows that nothing goes wrong any more in what the faulty one launched."""
    broken = _broken(faulty)
    kernels = {faulty.launches[broken].kernel} if broken >= 0 else {launch.kernel for launch in run.launches}
    followed = bool(kernels) and all(not launch.unfollowed for launch in run.launches if launch.kernel in kernels)
    return _ends_well(run) and followed and not _marks(run) and _same_accesses(run, faulty)


def _ends_well(run: Run) -> bool:
    failed = run.trouble or run.timed_out or Fault.of(run) is not None
    return not failed and not any(compile.failure for compile in run.compiles) and not _marks(run)


def _marks(run: Run) -> Counter[tuple[str, str]]:
    return Counter((cause.kind, cause.at) for launch in run.launches for cause in launch.causes)


def _broken(run: Run) -> int:
    """Index of the first launch in which something goes wrong; -1 where nothing does."""
    return next((at for at, launch in enumerate(run.launches) if launch.causes), -1)


def _same_accesses(run: Run, faulty: Run) -> bool:
    """Whether all launches up to the faulty one are there, and that one does no fewer accesses than before."""
    broken = _broken(faulty)
    wanted, seen = faulty.launches[: broken + 1], run.launches[: broken + 1]
    if [launch.kernel for launch in wanted] != [launch.kernel for launch in seen]:
        return False
    return broken < 0 or seen[broken].accesses >= wanted[broken].accesses


def _second(causes: LaunchCauses | None) -> str:
    """What else goes wrong in the faulty launch, where it begins elsewhere."""
    if causes is None:
        return ""
    first = _beginning(causes.causes[0])
    other = next((cause for cause in causes.causes[1:] if cause.kind and _beginning(cause) != first), None)
    return other.sentence if other is not None else ""


def _beginning(cause: Cause) -> tuple[str, ...]:
    return cause.kind, cause.name or cause.place


def change_size(before: str, after: str) -> tuple[int, int]:
    """Tokens, then characters, of what differs."""
    start = len(os.path.commonprefix([before, after]))
    rest = [text[start:] for text in (before, after)]
    end = len(os.path.commonprefix([text[::-1] for text in rest]))
    middles = [text[: len(text) - end] for text in rest]
    return sum(len(_TOKEN.findall(text)) for text in middles), sum(map(len, middles))

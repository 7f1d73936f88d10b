"""A study: all tests run with one Triton, counted, and judged together.

Judging is apart from running, and knows only numbers: a test means something only by the controls before it. A positive
control that fails makes all after it inconclusive, and so does a pattern that finds nothing where it must.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from shrinkray_gpu.cells.this_machine import ThisMachine
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import Fault, obstacle
from shrinkray_gpu.questions.ir.counts import count
from shrinkray_gpu.questions.ir.patterns import STAGES, Count
from shrinkray_gpu.questions.ir.plan import Role, StudyTest
from shrinkray_gpu.questions.varying import ConfigurationCell, RunPlace, RunTerms, own_folders
from shrinkray_gpu.runner.run import Compilation, Run

FILES = (*STAGES, "cubin")


class Presence(enum.Enum):
    PRESENT = "present"
    ABSENT = "absent"
    MIXED = "in some stages only"
    UNCOUNTED = "no count"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class KernelCounts:
    """One compiled kernel. A stage that was not delivered counts as None."""

    kernel: str
    counts: tuple[int | None, ...]
    compile: Compilation


@dataclass(frozen=True)
class StudyResult:
    """What one test showed."""

    test: StudyTest
    rows: tuple[KernelCounts, ...]
    result: Presence
    why: str = ""
    held: bool | None = None
    """Of a control, whether it did what a control must; None of the others."""
    run: Run | None = field(default=None, repr=False)

    @property
    def totals(self) -> tuple[int | None, ...]:
        """Of all kernels together, for each count."""
        return totals(self.rows)


@dataclass(frozen=True)
class Study:
    """All tests with one Triton."""

    versions: Mapping[str, str]
    counts: tuple[Count, ...]
    answers: tuple[StudyResult, ...]

    @property
    def triton(self) -> str:
        return self.versions.get("triton", "missing")

    @property
    def holds(self) -> bool:
        """Whether every control did what it must."""
        return all(answer.held is not False for answer in self.answers)

    @property
    def conclusion(self) -> str:
        return conclusion(self.answers, self.triton)


def study(
    tests: Sequence[StudyTest],
    counts: tuple[Count, ...],
    place: RunPlace,
    *,
    kernels: Sequence[str] = (),
    say: Callable[[str], None] = lambda text: None,
) -> Study:
    """Run all tests in this place. `kernels`: count in these only.

    Raises UsageError where the interpreter cannot run the tests at all.
    """
    told = f"{len(tests)} test{'s' * (len(tests) != 1)} with triton {{triton}} ..."
    terms = RunTerms(place, told, FILES, own=own_folders([test.program for test in tests]))
    with closing(ThisMachine(place.jobs, say=say)) as engine:
        rows = dict(engine.run([ConfigurationCell(test.program, terms) for test in tests]))
    runs = [Run.from_json(rows[at]["run"]) for at in range(len(tests))]
    versions = rows[0]["versions"]
    # Only a script that says nothing at all is a broken set-up; one that this Triton cannot compile is an answer.
    if not any(run.compiles for run in runs) and (said := next(filter(None, map(obstacle, runs)), "")):
        raise UsageError(f"no test runs in {place.python}. {said}")
    found = [count_run(test, run, counts, kernels) for test, run in zip(tests, runs, strict=True)]
    return Study(versions, counts, tuple(judge_results(found, counts)))


def check_countable(studies: Sequence[Study]) -> None:
    """Raises UsageError where the fault is the command's: a test that has nothing to count in, whatever the Triton.

    A kernel that this Triton does not compile, or a call that it lacks, is an answer of one Triton, as long as there is
    a kernel in another test, or with another Triton.
    """
    for answers in zip(*(one.answers for one in studies), strict=True):
        runs = [answer.run for answer in answers if answer.run is not None]
        if not any(run.compiles or _ended(run) for run in runs):
            test = answers[0].test
            raise UsageError(
                f"{test.name} ({test.program.path.name}) ends well and compiles no kernel, so nothing is there to "
                "count in: name a program that launches one, or the arguments (after --) with which it does"
            )
    every = [answer for one in studies for answer in one.answers]
    compiles = [compile for answer in every if answer.run is not None for compile in answer.run.compiles]
    if any(answer.rows for answer in every) or (compiles and all(one.failure is not None for one in compiles)):
        return
    test = every[0].test
    raise UsageError(f"there is nothing to count in: of {test.name} ({test.program.path.name}), {every[0].why}")


def count_run(test: StudyTest, run: Run, counts: Sequence[Count], kernels: Sequence[str] = ()) -> StudyResult:
    """What one run says by itself."""
    rows, seen = [], set()
    for one in run.compiles:
        if one.failure is None and one.hash not in seen and (not kernels or one.kernel in kernels):
            seen.add(one.hash)
            texts = [one.ir.get(each.stage) for each in counts]
            found = [count(each, text, one.kernel) if text else None for each, text in zip(counts, texts, strict=True)]
            rows.append(KernelCounts(one.kernel, tuple(found), one))
    result = _seen(totals(rows)) if rows else Presence.UNCOUNTED
    why = _interrupted(run, kernels) if not rows else ""
    if rows and result is not Presence.PRESENT and (ended := _ended(run)):
        # What it would have compiled after that, nobody knows: this zero is none.
        result, why = Presence.UNCOUNTED, f"it ended early, in {ended}"
    return StudyResult(test, tuple(rows), result, why, run=run)


def _interrupted(run: Run, kernels: Sequence[str]) -> str:
    """Why there is nothing to count in."""
    if ended := _ended(run):
        return ended
    names = ", ".join(dict.fromkeys(one.kernel for one in run.compiles))
    return f"no kernel is called {' or '.join(kernels)}, but {names}" if names else "it compiles no kernel"


def _ended(run: Run) -> str:
    """In what the run ended early; empty if it came to its end."""
    return str(run.trouble or Fault.of(run) or "")


def totals(rows: Sequence[KernelCounts]) -> tuple[int | None, ...]:
    return tuple(None if None in column else sum(filter(None, column)) for column in zip(*(row.counts for row in rows)))


def _seen(numbers: Sequence[int | None]) -> Presence:
    if None in numbers:
        return Presence.UNCOUNTED
    return Presence.PRESENT if all(numbers) else Presence.MIXED if any(numbers) else Presence.ABSENT


def judge_results(answers: Sequence[StudyResult], counts: Sequence[Count]) -> list[StudyResult]:
    """What each answer is worth, by the controls before it. `answers` in the order of `plan.tests`."""
    found: list[StudyResult] = []
    reason = ""
    """Why nothing can be concluded any more."""
    for answer in answers:
        if any(None in row.counts for row in answer.rows):
            missing = [each.stage for each, n in zip(counts, answer.totals, strict=True) if n is None]
            answer = replace(
                answer, result=Presence.UNCOUNTED, why=answer.why or f"no {' and no '.join(missing)} was delivered"
            )
        told = _judged(answer, counts, reason)
        found.append(told)
        if told.held is False and not reason:
            reason = {
                Role.KNOWN: "nothing shows that the patterns fit this Triton",
                Role.GOOD: "the positive control failed",
                Role.BAD: "the negative control failed",
            }[answer.test.role]
    return found


def _judged(answer: StudyResult, counts: Sequence[Count], reason: str) -> StudyResult:
    role, result = answer.test.role, answer.result
    control = role in (Role.KNOWN, Role.GOOD, Role.BAD)
    # The known one tells of the patterns, the good one of the compiler: the good one is judged whatever the known says,
    # but its zero is worth nothing then.
    if reason and not (role is Role.GOOD and result is Presence.PRESENT):
        said = f"{reason}; {answer.why}" if answer.why else reason
        return replace(answer, result=Presence.INCONCLUSIVE, why=said, held=False if role is Role.GOOD else None)
    if result is Presence.UNCOUNTED:
        return replace(answer, held=False if control else None)
    if role is Role.BAD:
        held = result is Presence.ABSENT
        return replace(answer, held=held, why="as it must be" if held else "it must not be there")
    if control:
        return replace(answer, held=result is Presence.PRESENT, why=_lacking(answer, counts))
    return replace(answer, why=_lacking(answer, counts) if result is Presence.MIXED else "")


def _lacking(answer: StudyResult, counts: Sequence[Count]) -> str:
    """Where a pattern finds nothing although another stage of the same kernel has it."""
    pairs = list(zip(counts, answer.totals, strict=True))
    there = [f"{n} in {each.stage}" for each, n in pairs if n]
    lacking = [each.name for each, n in pairs if not n]
    if answer.result is Presence.PRESENT:
        return ""
    if not there:
        return "a pattern that does not fit, or not what it is" if answer.test.role is Role.KNOWN else ""
    return f"{', '.join(there)}, but none by {', '.join(lacking)}: does that pattern fit this Triton?"


def conclusion(answers: Sequence[StudyResult], triton: str) -> str:
    """One line for one Triton."""
    by = {role: [answer for answer in answers if answer.test.role is role] for role in Role}
    known, good, bad, stress = (by[role] for role in (Role.KNOWN, Role.GOOD, Role.BAD, Role.STRESS))
    failed = [answer for answer in good if answer.held is False]
    if any(answer.held is False for answer in known):
        said = f"no answer: the patterns are not shown to fit ({_told(known)})"
    elif failed and any(answer.result is not Presence.ABSENT for answer in failed):
        what = "it in some stages only" if failed[0].result is Presence.MIXED else failed[0].result.value
        said = f"no answer: the positive control has {what} ({failed[0].why})"
    elif failed and known:
        said = f"no: none in {_told(failed)}, and the patterns fit: {_told(known)}"
    elif failed:
        said = (
            f"none in {_told(failed)}, but nothing shows that the patterns fit this Triton: "
            "name a program that surely has it by --known"
        )
    elif any(answer.held is False for answer in bad):
        said = f"no answer: the negative control has it too ({_told(bad)})"
    else:
        said = f"yes: {_told([*good, *stress])}; " + (f"none in {_told(bad)}" if bad else "without a negative control")
    return f"triton {triton}: {said}"


def _told(answers: Sequence[StudyResult]) -> str:
    return ", ".join(f"{answer.test.name} {cell(answer) or answer.result.value}" for answer in answers)


def cell(answer: StudyResult) -> str:
    """`1/2/2/2`: the count of each stage."""
    return "/".join("-" if n is None else str(n) for n in answer.totals)


@dataclass(frozen=True)
class DecidingValue:
    """What becomes of the counts when one value of the good program is changed."""

    axis: str
    values: Mapping[str, str]
    """The counts with each value."""
    verdict: str


def deciding(study: Study) -> list[DecidingValue]:
    """For each axis, whether it decides: it is there with some of the values, and not with others."""
    good = next(answer for answer in study.answers if answer.test.role is Role.GOOD)
    found = []
    for axis in dict.fromkeys(answer.test.axis for answer in study.answers if answer.test.axis):
        ones = [answer for answer in study.answers if answer.test.axis == axis]
        seen = {_seen(answer.totals) for answer in (good, *ones) if answer.rows}
        values = {answer.test.name.partition("=")[2]: cell(answer) or Presence.UNCOUNTED.value for answer in ones}
        if any(answer.held is False for answer in study.answers if answer.test.role in (Role.KNOWN, Role.BAD)):
            verdict = "inconclusive"
        elif not seen:
            verdict = "has no count"
        elif Presence.MIXED in seen:
            verdict = "inconclusive, since stages contradict each other"
        elif len(seen) > 1:
            verdict = "decides"
        elif seen == {Presence.ABSENT}:
            verdict = "no value brings it about"
        elif len({answer.totals for answer in (good, *ones) if answer.rows}) > 1:
            verdict = "changes the number only"
        else:
            verdict = "does not decide"
        found.append(DecidingValue(axis, values, verdict))
    return found

"""What an oracle is: a question put to a Run, answered faults, does not fault, or unknown.

The kinds of question are in the files beside this one; `spec.parse` makes one from what the user typed. Here is what
all of them share: runs that answer nothing, memory that ran out because of others, and composition.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from signal import SIGKILL
from typing import Any, TypeVar

from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.guarded_pattern import TooSlow
from shrinkray_gpu.oracle.needs import Needs
from shrinkray_gpu.oracle.verdict import Answer, Verdict, lacks, shows, unclear
from shrinkray_gpu.runner.run import Run

BESIDE_OTHERS = frozenset({"warm", "fork"})
"""Modes in which other candidates share the device's memory."""

Self = TypeVar("Self", bound="Oracle")


@dataclass(frozen=True, kw_only=True)
class Oracle:
    """One question. Subclasses answer it in `verdict`; everybody else asks `judge`."""

    spec: str
    """Canonical text; parses to this oracle again."""
    hint: str = ""
    """What the user may have meant instead, to be said if the original does not reproduce."""
    warning: str = ""
    """Why this question is a weak one, to be said once at the start."""
    needs: Needs = Needs()
    """What kind of run it judges."""
    short_of_memory: bool | None = None
    """Whether the original itself ran out of memory; None before calibration."""
    short_of_room: bool | None = None
    """Whether the original itself met a full disk; None before calibration."""

    def judge(self, run: Run) -> Verdict:
        """Whether this run shows what is asked for."""
        try:
            return self._judged(run)
        except TooSlow as error:
            return unclear(str(error))

    def _judged(self, run: Run) -> Verdict:
        doubt = self.doubt(run)
        if doubt:
            return unclear(doubt)
        if self.short_of_room is False and (full := speech.full_disk(run)):
            return unclear(f"a disk was full, which says nothing of the candidate: {full}")
        verdict = self.verdict(run)
        lacking = speech.shortage(run)
        if not lacking or self.short_of_memory or self.asks_for(lacking):
            return verdict
        beside = run.mode in BESIDE_OTHERS
        if verdict.faults and self.blunt and (beside or self.short_of_memory is False):
            verdict = lacks(f"it ran out of memory, which is another fault: {lacking}")
        if verdict.answer is Answer.PASSES and beside:
            return unclear(f"it ran out of memory beside other candidates: {lacking}")
        return verdict

    def judge_text(self, text: str, name: str) -> Verdict:
        """Whether the candidate itself, without a run of ours, is interesting. Only where `needs.text`."""
        raise TypeError(f"the oracle {self.spec!r} judges runs")

    def calibrate(self: Self, reference: Run) -> Self:
        """The same question, bound to how the original answered it: candidates must show it in the same manner."""
        return self._with(
            short_of_memory=bool(speech.shortage(reference)), short_of_room=bool(speech.full_disk(reference))
        )

    # What a kind supplies.

    @property
    def blunt(self) -> bool:
        """Whether any death fits (an exit status, a bare exception type), so that a lack of memory looks like a yes."""
        return False

    def doubt(self, run: Run) -> str:
        """Why this run answers nothing, or nothing."""
        if run.trouble:
            return run.trouble
        if run.timed_out:
            return (
                "" if self.needs.timing else f"it was stopped after {run.seconds:.0f} s, before it could show anything"
            )
        if run.signal == SIGKILL:
            return "it was killed from outside (SIGKILL): by the kernel for its memory, or by somebody"
        if run.signal is None and run.exit is None and run.failure is None:
            return "it never said how it ended"
        return ""

    def verdict(self, run: Run) -> Verdict:
        raise NotImplementedError

    def binds(self, fault: Fault) -> bool:
        """Whether the question is about this fault of the original, so that a candidate must show the same one."""
        return True

    def refusal(self, run: Run) -> str:
        """Why a program with this run has no answer that could be asked for at all, whatever its fault; else empty."""
        return ""

    def taking_either(self) -> Oracle:
        """The same question, also content with an error in which the same access may end by chance."""
        return self

    def asks_for(self, words: str) -> bool:
        """Whether a lack of memory, told in these words, is the very thing asked for."""
        return False

    def _with(self: Self, **changes: Any) -> Self:
        return dataclasses.replace(self, **changes)


@dataclass(frozen=True, kw_only=True)
class All(Oracle):
    """All of `required` must hold, none of `rejected` may."""

    required: tuple[Oracle, ...]
    rejected: tuple[Oracle, ...] = ()

    def judge(self, run: Run) -> Verdict:
        return self._combine(
            [one.judge(run) for one in self.required if one.needs.run],
            [(one, one.judge(run)) for one in self.rejected if one.needs.run],
        )

    def judge_text(self, text: str, name: str) -> Verdict:
        return self._combine(
            [one.judge_text(text, name) for one in self.required if one.needs.text],
            [(one, one.judge_text(text, name)) for one in self.rejected if one.needs.text],
        )

    def calibrate(self, reference: Run) -> All:
        # Rejects keep their widest form: the original does not show them, so it cannot say how they look.
        return self._with(required=tuple(one.calibrate(reference) for one in self.required))

    def binds(self, fault: Fault) -> bool:
        return any(one.binds(fault) for one in self.required)

    def refusal(self, run: Run) -> str:
        return next((why for one in self.required if (why := one.refusal(run))), "")

    def taking_either(self) -> All:
        return self._with(required=tuple(one.taking_either() for one in self.required))

    def _combine(self, required: list[Verdict], rejected: list[tuple[Oracle, Verdict]]) -> Verdict:
        """A no is a no whatever else is unknown; an unknown keeps the rest from being a yes."""
        for verdict in required:
            if verdict.answer is Answer.PASSES:
                return verdict
        for oracle, verdict in rejected:
            if verdict.faults:
                return lacks(f"rejected by {oracle.spec}: {verdict.why}")
        doubts = [verdict.why for verdict in (*required, *(v for _, v in rejected)) if not verdict.is_known]
        if doubts:
            return unclear("; ".join(dict.fromkeys(doubts)))
        return shows("; ".join(dict.fromkeys(verdict.why for verdict in required if verdict.why)))


def all_of(oracles: Iterable[Oracle], rejects: Iterable[Oracle] = ()) -> Oracle:
    """The oracle of a whole command line: each --oracle must hold, no --reject may."""
    required, rejected = tuple(oracles), tuple(rejects)
    if not required:
        raise ValueError("no oracle: something must be asked for")
    if len(required) == 1 and not rejected:
        return required[0]
    both = required + rejected
    return All(
        spec=" and ".join([*(one.spec for one in required), *(f"not {one.spec}" for one in rejected)]),
        hint="; ".join(one.hint for one in both if one.hint),
        warning="; ".join(one.warning for one in both if one.warning),
        needs=functools.reduce(operator.or_, (one.needs for one in both)),
        required=required,
        rejected=rejected,
    )

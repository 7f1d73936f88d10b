"""The same fault, not the same words: any oracle, bound to the Fault that the original showed.

What the user typed is the start. `exception:AssertionError` or `exit:1` fits many failures, and a candidate may lose
the one asked about and gain another. A run that answers yes must also show the original's Fault, by meaning; one that
shows another fault is a no, and the other fault goes along with it, for it may be a find.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from shrinkray_gpu.oracle.cause_check import LaunchCauses
from shrinkray_gpu.oracle.comparison_check import ComparisonCheck
from shrinkray_gpu.oracle.fault import Fault, Reference, casts, kernels, lookalike
from shrinkray_gpu.oracle.needs import UNASKED
from shrinkray_gpu.oracle.oracle import Oracle
from shrinkray_gpu.oracle.silent_defects import SilentDefects
from shrinkray_gpu.oracle.verdict import Verdict, lacks, unclear
from shrinkray_gpu.oracle.words import weakness
from shrinkray_gpu.runner.run import Run

UNWRITTEN = "another cause: the host gets (%s) what comes of memory that nobody wrote, as nowhere in the original"
_CASTS = {
    "int_to_ptr": "a number is taken as a pointer",
    "ptr_to_int": "a pointer is taken as a number",
}
"""`offs` for `tl.load(offs)` leaves an access to nowhere, in the very words of the original's."""


@dataclass(frozen=True, kw_only=True)
class SameFaultOracle(Oracle):
    """The inner oracle's question, and the original's Fault."""

    inner: Oracle
    reference: Reference | None = None
    """None before calibration, and where the original shows no fault or the question is about something else."""
    causes: LaunchCauses | None = None
    """Where what goes wrong in the original begins; None before calibration, and where nobody knows."""
    silent: SilentDefects | None = None
    """What is wrong with the original that no device tells of; None before calibration, and where nobody looked."""
    comparison: ComparisonCheck | None = None
    """Of what kernels wrote, where the original fails one; None before calibration."""
    strict: bool = True
    """Whether another fault is a no. Off only to show what the guard is good for (`--no-guards`)."""

    def judge(self, run: Run) -> Verdict:
        verdict = self.inner.judge(run)
        # A plain process tells too little: no kernel, no compilation. Its text was judged with more before.
        if run.mode == "plain":
            return verdict
        if not verdict.is_known:
            drift = self.causes.contradiction(run) if self.causes is not None and run.virtual and self.strict else ""
            return lacks(f"another cause: {drift}") if drift else verdict
        if self.reference is None:
            drift = self._drift(run) if verdict.faults and self.strict else ""
            return lacks(drift) if drift else verdict
        seen = Fault.of(run)
        if not verdict.faults:
            wanted = self.reference.fault
            told = seen is not None and lookalike(wanted, seen) and self.reference.slip(seen, kernels(run))
            return dataclasses.replace(verdict, other=seen) if told else verdict
        if not self.strict:
            return verdict
        if slip := self.reference.slip(seen, kernels(run)):
            return dataclasses.replace(lacks(f"another fault: {slip}"), other=seen)
        if drift := self._drift(run):
            return dataclasses.replace(lacks(drift), other=seen)
        if self.needs.written and run.unwritten:
            return dataclasses.replace(lacks(UNWRITTEN % run.unwritten), other=seen)
        if self.comparison is not None:
            if moved := self.comparison.difference(run):
                return dataclasses.replace(lacks(f"another check: {moved}"), other=seen)
            if doubt := self.comparison.doubt(run):
                return unclear(doubt)
        before, now = self.reference.casts, casts(run)
        if self.reference.fault.phase != "device" or before is None or now is None or now <= before:
            return verdict
        return lacks(f"{' and '.join(_CASTS[cast] for cast in sorted(now - before))}, as nowhere in the original")

    def _drift(self, run: Run) -> str:
        if not run.virtual:
            return ""
        if drift := self.causes.difference(run) if self.causes is not None else "":
            return f"another cause: {drift}"
        second = self.silent.brought(run) if self.silent is not None else ""
        return second and f"a second defect: {second}"

    def judge_text(self, text: str, name: str) -> Verdict:
        return self.inner.judge_text(text, name)

    def calibrate(self, reference: Run) -> SameFaultOracle:
        inner = self.inner.calibrate(reference)
        shown = Reference.of(reference)
        bound = shown if shown is not None and inner.binds(shown.fault) else None
        # A rule whose error no driver raises shows no Fault.
        ruled = shown is None and any(launch.fault for launch in reference.launches)
        causes = LaunchCauses.of(reference) if bound is not None or ruled else None
        needs = self.needs
        if any(launch.interpreted for launch in reference.launches):
            needs = dataclasses.replace(needs, interpreted=True)
        names = ("short_of_memory", "short_of_room", "warning")
        shared = {name: getattr(inner, name) for name in names}
        silent = SilentDefects.of(reference) if reference.virtual else None
        return self._with(inner=inner, reference=bound, causes=causes, silent=silent, needs=needs, **shared)

    def refusal(self, run: Run) -> str:
        return self.inner.refusal(run)

    def taking_either(self) -> SameFaultOracle:
        return self._with(inner=self.inner.taking_either())

    def with_causes(self, run: Run) -> SameFaultOracle:
        """The same oracle, which holds candidates against the causes that a dry run of the original shows, and against
        what else it shows to be wrong."""
        bound = self.reference is not None or bool(self.inner.needs.sanitizer)
        if not (self.strict and bound):
            return self
        return self._with(causes=self.causes or LaunchCauses.of(run), silent=SilentDefects.of(run))

    def may_compare(self, run: Run, text: str) -> bool:
        """Whether what the original shows in this run may be that a check of what its kernels wrote fails: it asserts,
        raises or exits by itself, and no compilation or launch failed."""
        return (
            self.strict
            and self.reference is not None
            and (self.reference.fault.phase == "exit" or bool(run.failure and weakness(run.failure)))
            and bool(run.launches or "triton" in text)
            and not self.needs.timing
            and all(not compiled.failure for compiled in run.compiles)
            and all(not launch.failure for launch in run.launches)
        )

    def comparing(self, check: ComparisonCheck, *, draws_go_on: bool = False) -> SameFaultOracle:
        """The same oracle, which holds what candidates check against this."""
        needs = dataclasses.replace(
            self.needs, compared=check.recording, unsteady=tuple(sorted(check.unsteady)), draws_go_on=draws_go_on
        )
        return self._with(comparison=check, needs=needs, warning="")

    def guarding_memory(self) -> SameFaultOracle:
        """The same oracle, for which a candidate has another fault whose host gets what comes of memory that nobody
        wrote."""
        return self._with(needs=dataclasses.replace(self.needs, written=True))

    def keeping(self, causes: LaunchCauses) -> SameFaultOracle:
        """The same oracle, which holds each candidate against these causes, whatever the user asked about: their
        launches are followed for the rules of `UNASKED` only."""
        return self._with(causes=causes, needs=dataclasses.replace(self.needs, rules=self.needs.rules | UNASKED.rules))


def same_fault(oracle: Oracle, *, strict: bool = True) -> SameFaultOracle:
    """The oracle, to be bound to the original's Fault by calibration."""
    shared = {each.name: getattr(oracle, each.name) for each in dataclasses.fields(Oracle)}
    return SameFaultOracle(**shared, inner=oracle, strict=strict)

"""What is known at the end about the fault of the original and that of the repro, and how it is told."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.same_fault.controls import ControlOutcome, ControlResult

DIFFERENT = "NOT the same fault"


@dataclass(frozen=True)
class FaultComparison:
    """The fault of the original, and that of the repro."""

    original: Fault | None
    repro: Fault | None
    difference: str
    """In what they differ; empty if in nothing that is known."""
    original_controls: tuple[ControlResult, ...]
    """How the controls fared on the original."""
    repro_controls: tuple[ControlResult, ...]
    """How those that made the original pass fare on the repro."""
    cause: str = ""
    """Where what goes wrong begins, by the kernel's IR, in both; empty where nobody knows."""
    doubt: str = ""
    """What of the original's bug the repro may not have, though all that is compared is alike."""
    check: str = ""
    """What both sides of the check that fails are in each accepted step; empty where nobody followed them."""

    compilers: bool = False
    """Whether the question is what two compilers make of a kernel, which has figures and is no Fault."""

    def in_words_of(self, code: int) -> FaultComparison:
        """With the error in which clean runs of the repro end, where instruments met the other of its kind."""
        original, repro = (each and each.in_words_of(code) for each in (self.original, self.repro))
        return replace(self, original=original, repro=repro)

    def summary(self, *, slips: int = 0, drifts: int = 0) -> str:
        """Why this is the same fault, and what is not known of it. `slips` and `drifts` were met and undone."""
        for one in self.repro_controls:
            if one.outcome is ControlOutcome.FAULTS:
                return f"{DIFFERENT}: the control {one.control.name} makes the original pass, not the repro"
        if self.difference:
            return f"{DIFFERENT}: {self.difference}"
        passes = ", ".join(
            f"{one.control.name} passes" for one in self.repro_controls if one.outcome is ControlOutcome.PASSES
        )
        if self.original is None and self.cause:
            controls = f"; under controls: {passes}" if passes else ""
            doubt = f"; not known: {self.doubt}" if self.doubt else ""
            return f"same fault: by where it begins ({self.cause}){controls}{doubt}"
        if self.original is None and self.compilers:
            controls = f"; under controls: {passes}" if passes else ""
            return f"same fault: by both figures, the kernel's operations and the options of its launch{controls}"
        if self.original is None:
            why = f"the oracle decides, under controls: {passes}" if passes else "the oracle alone decides"
            if self.cause:
                why = why.replace("alone decides", "decides") + f", and by where it begins ({self.cause})"
            return f"the original shows no fault of its own to compare: {why}"
        seen = self.repro is not None and self.repro.instruction
        known, unknown = ["by class and message, in each accepted step"], []
        if self.repro is not None and seen:
            known = [f"by the instruments ({self.repro.instruction}, {self.repro.space} memory)"]
        elif self.original.instruction:
            unknown = ["the instruments told the instruction of the original's fault, and not that of the repro's"]
        if self.cause:
            known.append(f"by where it begins ({self.cause})")
        if self.check:
            known.append(self.check)
        if passes:
            known.append(f"under controls: {passes}")
        lame = [one.control.name for one in self.repro_controls if one.outcome is ControlOutcome.NOT_APPLICABLE]
        unknown += [f"{name} is not applicable to the repro" for name in lame]
        if self.doubt:
            unknown.append(self.doubt)
        if not (self.repro_controls or self.check):
            unknown.append("no control makes the original pass")
        known += [f"{slips} steps refused by controls"] * bool(slips) + [f"{drifts} drifts undone"] * bool(drifts)
        # Symptoms alone do not tell one bug from another with the same words.
        rests = self.cause or self.check or passes
        head = "same fault" if rests else "the same symptoms, and no cause or control behind them"
        return "; ".join([f"{head}: {'; '.join(known)}", *(f"not known: {each}" for each in unknown)])

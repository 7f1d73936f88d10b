"""From the runs of a case to its status: what each run showed, and what all of them say. Nothing here runs anything."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from shrinkray_gpu.corpus.case import Case
from shrinkray_gpu.corpus.expectation import CaseConclusion, Status
from shrinkray_gpu.oracle import Answer, Fault, Oracle, obstacle
from shrinkray_gpu.oracle.fault import Reference, kernels
from shrinkray_gpu.runner.run import Run

LACKING = re.compile(
    r"module '[\w.]+' has no attribute|type object '[\w.]+' has no attribute|cannot import name|No module named"
    r"|'(?:tensor|tensor_descriptor\w*|JITFunction|Autotuner|Heuristics|GluonJITFunction)' object has no attribute"
    r"|unexpected keyword argument|is not a registered"
)
"""What Python says of an interface that this release does not have (yet, or any more). `'NoneType' object has no
attribute` and its like are the compiler's own mistakes."""


@dataclass(frozen=True)
class Sighting:
    """What one run of a case showed: its fault (FAULTS), something else (PASSES), or nothing that tells (UNKNOWN)."""

    answer: Answer
    why: str
    fault: Fault | None = None
    """The fault that the run shows, whichever it is."""
    alike: bool = False
    """Of an UNKNOWN: another run would say the same."""
    compiled: bool = False
    """Whether all kernels that the run came to were compiled: then this release had what they use."""

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "answer": self.answer.value}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Sighting:
        """What `to_json` made."""
        fault = Fault.from_json(data["fault"]) if data["fault"] else None
        return cls(Answer(data["answer"]), data["why"], fault, alike=data["alike"], compiled=data["compiled"])


def sighting_of(case: Case, oracle: Oracle, run: Run) -> Sighting:
    """What this run says of the case, by its oracle and then by its Fault."""
    if said := obstacle(run):
        return Sighting(Answer.UNKNOWN, said, alike=True)
    verdict, fault = oracle.judge(run), Fault.of(run)
    compiled = bool(run.compiles) and all(one.failure is None for one in run.compiles)
    if verdict.faults:
        slip = Reference(case.fault).slip(fault, kernels(run)) if case.fault is not None else ""
        return Sighting(Answer.PASSES if slip else Answer.FAULTS, slip or verdict.why, fault, compiled=compiled)
    if run.timed_out and not run.trouble:
        # No answer to the oracle's question, but one to ours: it did end when the case was made.
        why = f"it was stopped after {run.seconds:.0f} s; if that was too soon, the case may say timeout = SECONDS"
        return Sighting(Answer.PASSES, why, fault, compiled=compiled)
    return Sighting(verdict.answer, verdict.why, fault, compiled=compiled)


def conclusion_of(case: Case, sightings: Sequence[Sighting]) -> CaseConclusion:
    """What all runs of a case say together. Runs that tell nothing count only where there are no others."""
    known = [one for one in sightings if one.answer is not Answer.UNKNOWN]
    if not known:
        return CaseConclusion(Status.CANNOT, sightings[0].why, sightings[0].fault)
    showing = [one for one in known if one.answer is Answer.FAULTS]
    shown, runs = len(showing), len(known)
    if shown == runs:
        return CaseConclusion(Status.FAULTS, known[0].why, known[0].fault, shown, runs)
    if shown:
        return CaseConclusion(Status.FLAKY, f"{shown} of {runs} runs show it", showing[0].fault, shown, runs)
    other = next((one for one in known if one.fault is not None), None)
    if other is None or other.fault is None:
        return CaseConclusion(Status.FIXED, known[0].why, None, 0, runs)
    text = other.fault.text
    if LACKING.search(text) and not other.compiled and not (case.fault and LACKING.search(case.fault.text)):
        return CaseConclusion(Status.CANNOT, f"this release lacks what it uses: {text}", other.fault)
    return CaseConclusion(Status.CHANGED, other.why, other.fault, 0, runs)

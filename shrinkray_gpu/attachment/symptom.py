"""What went wrong, in the words of a title and of a first sentence, and to the letter where somebody saw it."""

from __future__ import annotations

import re
import textwrap

from shrinkray_gpu.attachment.dossier import Dossier
from shrinkray_gpu.attachment.markdown import code
from shrinkray_gpu.device import architectures, disassembly, error_table
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.cause_check import faulting_launch
from shrinkray_gpu.oracle.fault import PREDICTED
from shrinkray_gpu.runner.run import Launch

LAST_LINES = 12
_IN_CODE = re.compile(r"(ttir|ttgir|llir|ptx|sass):")
"""A SPEC that asks for a pattern in compiled code."""
TITLE = 100
"""Characters of what goes wrong, in a title that also says where and when."""
_SAID_BY_A_TITLE = ("stages", "warps", "flag")
"""Kinds of knobs that a maintainer knows by their names."""


def title(dossier: Dossier) -> str:
    """What, where, under which condition, with which compiler, on what."""
    seen, told = dossier.evidence, dossier.told
    fault = seen.fault
    broken = silent_launch(dossier)
    what = str(told.get("spec", "fault"))
    if figures := told.get("code"):
        what = str(figures["repro"])
    if stage := _IN_CODE.match(what):
        what = f"unwanted code in {stage.group(1).upper()}"
    if broken is not None:
        what = f"{broken.causes[0].breaks} in {broken.kernel}"
    if fault is not None:
        what = fault.klass
    if fault is not None and fault.phase == "compile":
        what = f"{fault.klass}: {complaint(fault.words)}" if fault.text else f"compiler fails in {fault.klass}"
    parts = [textwrap.shorten(what, TITLE, placeholder=" ...")]
    if seen.instruction:
        parts.append(f"at {disassembly.family(seen.instruction)}")
    if fault is not None and fault.construct:
        parts.append(f"({fault.construct})")
    parts += _condition(dossier)
    versions = {**told.get("versions", {}), **dossier.environment}
    where = [f"Triton {versions['triton']}"] if versions.get("triton") else []
    if on := versions.get("gpu") or (told.get("arch") and architectures.name(told["arch"])):
        where.append(str(on))
    predicted = " (predicted)" if fault is not None and fault.predicted else ""
    return dossier.form.prefix + " ".join(parts) + predicted + (f", {', '.join(where)}" if where else "")


def _condition(dossier: Dossier) -> list[str]:
    """`with num_stages=3`: the value of the knob that decides, where that is one with a name."""
    for row in dossier.trials.rows:
        if row.matters and row.kind in _SAID_BY_A_TITLE:
            return [f"with {row.name.partition(' of ')[0]}={row.current.removesuffix(' (default)')}"]
    return []


def silent_launch(dossier: Dossier) -> Launch | None:
    """The launch that goes wrong without an error, as a race does; None where there is none, or an error."""
    seen = dossier.evidence
    return faulting_launch(seen.run) if seen.fault is None and seen.run is not None else None


def complaint(text: str) -> str:
    """Of a failed assertion what it says, if it says anything; else what it asserts; else the text."""
    said = re.search(r'&& "([^"]+)"', text) or re.search(r"Assertion [`'](.+?)['`] failed", text)
    return said.group(1) if said else speech.clip(text)


def symptom(dossier: Dossier) -> str:
    """One sentence."""
    fault, told = dossier.evidence.fault, dossier.told
    runs = f"{told.get('verified')} of {told.get('final_runs')} clean runs of the repro"
    spec = told.get("spec", "")
    if (broken := silent_launch(dossier)) is not None:
        return (
            f"In {code(broken.kernel)} {broken.causes[0].sentence}: so says Triton's IR, followed for the whole launch "
            f"({code(spec)} in {runs}). A device reports no error for it."
        )
    if figures := told.get("code"):
        return (
            f"By the compiled code alone, which no GPU ran: {figures['repro']}. The program that it was reduced from: "
            f"{figures['original']}."
        )
    if fault is None:
        return f"{code(spec)} in {runs}."
    if fault.code:
        error = error_table.by_code(fault.code)
        said = f"`{error.text}` ({error.number}{f'; {fault.other} in other runs' if fault.other else ''})"
        if fault.predicted:
            arch = architectures.name(told["arch"])
            return f"{PREDICTED.capitalize()}: compiled for {arch}, this program ends in {said}."
        return f"The program ends in {said}, in {runs}."
    return f"{code(fault.klass)}{f': {code(complaint(fault.words))}' if fault.text else ''}, in {runs}."


def exact_error(dossier: Dossier) -> str:
    """What the program and the compiler print, to the letter. Nothing where no device ran it: what the virtual GPU
    raises then is of its own making."""
    seen = dossier.evidence
    if seen.fault is not None and seen.fault.predicted:
        return ""
    if seen.diagnostics.strip():
        return seen.diagnostics.strip()
    run = seen.run
    if run is None:
        return ""
    failure = speech.uncaught(run)
    if failure is not None:
        lines = f"{failure.type}: {failure.text}".strip().splitlines()
    else:
        lines = [line for line in run.stderr.splitlines() if line.strip()]
    return "\n".join(lines[-LAST_LINES:] if failure is None else lines[:LAST_LINES])

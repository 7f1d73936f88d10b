"""`ISSUE.md`: what is known of the fault, in the order in which a maintainer asks, ready to be pasted upstream.

Measured things are told as such. A cause is only ever offered as a hypothesis, with what speaks for it.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any

from shrinkray_gpu.attachment import header
from shrinkray_gpu.attachment.dossier import Dossier
from shrinkray_gpu.attachment.experiments import MEANING, NOT_TRIED, Experiment, KnobResults
from shrinkray_gpu.attachment.markdown import Markdown, cell, code, fenced, prose
from shrinkray_gpu.device import architectures, disassembly, error_table
from shrinkray_gpu.device.instruction import Instruction
from shrinkray_gpu.evidence.scrubbing import Scrubber
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.cause_check import faulting_launch
from shrinkray_gpu.oracle.fault import PREDICTED
from shrinkray_gpu.runner.run import Launch
from shrinkray_gpu.same_fault.controls import ControlOutcome

LAST_LINES = 12
LABELS = {"verdict": "verdict", "reached": "reached by", "enough": "smallest change that is enough"}


def text(dossier: Dossier, scrub: Scrubber) -> str:
    """The issue, whole. What it tells is scrubbed first and made Markdown last."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # each start of the tool would wait for it

    environment = Environment(
        loader=PackageLoader("shrinkray_gpu.attachment"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: (
            value if isinstance(value, Markdown) or not isinstance(value, str) else prose(scrub.text(value))
        ),
    )
    for made_of in (fenced, code, cell):
        environment.filters[made_of.__name__] = _filter(made_of, scrub)
    environment.filters["shell"] = shlex.quote
    made = environment.get_template("ISSUE.md.j2").render(facts(dossier))
    return _spaced(made)


def _filter(made_of: Callable[..., str], scrub: Scrubber) -> Callable[..., Markdown]:
    return lambda text, *more: Markdown(made_of(scrub.text(str(text)), *more))


def _spaced(made: str) -> str:
    """One blank line where the template leaves several, and none added or lost within code: its lines are counted."""
    blocks, end = [], 0
    for block in re.finditer(r"^(```+)[a-z]*\n.*?^\1$", made, flags=re.MULTILINE | re.DOTALL):
        blocks += [re.sub(r"\n{3,}", "\n\n", made[end : block.start()]), block.group()]
        end = block.end()
    return "".join([*blocks, re.sub(r"\n{3,}", "\n\n", made[end:])])


def has_page() -> bool:
    """Whether there is a page beside the issue. Without Pygments there is none: a GPU machine without network, to which
    the tool was copied, should lose no more than that."""
    return importlib.util.find_spec("pygments") is not None


def facts(dossier: Dossier) -> dict[str, Any]:
    """What both the issue and the page say, in words."""
    seen, tried = dossier.evidence, [dossier.trials.control, *_changed(dossier)]
    return {
        "d": dossier,
        "seen": seen,
        "fault": seen.fault,
        "title": title(dossier),
        "verdict": dossier.told.get("verdict") or {},
        "labels": LABELS,
        "symptom": symptom(dossier),
        "error": exact_error(dossier),
        "record": seen.findings[0].record.device_text if seen.findings else "",
        "count": seen.findings[0].count if seen.findings else 0,
        "family": disassembly.family(seen.instruction),
        "address": list(address(dossier)),
        "results": [_result(row) for row in dossier.trials.rows],
        "widest": max((len(row.experiments) for row in dossier.trials.rows), default=1),
        "experiments": tried,
        "commands": "\n".join(f"{one.command}   # {one.outcome}" for one in tried),
        "around": "\n".join(_sass_row(one, seen.offset) for one in seen.sass),
        "untried": sum(one.outcome == NOT_TRIED for one in dossier.trials.experiments),
        "guarding": list(guarding(dossier)),
        "workarounds": list(workarounds(dossier)),
        "hypothesis": list(hypothesis(dossier)),
        "reduced": list(reduction_section(dossier)),
        "environment": list(environment_rows(dossier)),
        "releases": releases(dossier),
        "paged": has_page(),
        "platform": header.platform_of(dossier.told.get("versions", {}), dossier.told.get("arch")),
    }


def _sass_row(one: Instruction, offset: int | None) -> str:
    mark, line = ">>" if one.offset == offset else "  ", f"  // line {one.line}" if one.line else ""
    return f"{mark} /*{one.offset:04x}*/  {one.text} ;{line}"


def _changed(dossier: Dossier) -> Iterator[Experiment]:
    """What was tried besides the program as it is."""
    for row in dossier.trials.rows:
        for one in row.experiments:
            if one.value != row.current and one.outcome != NOT_TRIED:
                yield one


def title(dossier: Dossier) -> str:
    """What, where, with which compiler, on what."""
    seen, told = dossier.evidence, dossier.told
    fault = seen.fault
    broken = silent_launch(dossier)
    what = str(told.get("spec", "fault"))
    if broken is not None:
        what = f"{broken.causes[0].breaks} in {broken.kernel}"
    if fault is not None:
        what = fault.klass
    if fault is not None and fault.phase == "compile":
        what = (
            f"{fault.klass}: {_complaint(fault.said or fault.text)}"
            if fault.text
            else f"compiler fails in {fault.klass}"
        )
    parts = [what[:120]]
    if seen.instruction:
        parts.append(f"at {disassembly.family(seen.instruction)}")
    if fault is not None and fault.construct:
        parts.append(f"({fault.construct})")
    versions = {**told.get("versions", {}), **dossier.environment}
    where = [f"Triton {versions['triton']}"] if versions.get("triton") else []
    if on := versions.get("gpu") or (told.get("arch") and architectures.name(told["arch"])):
        where.append(str(on))
    predicted = " (predicted)" if fault is not None and fault.predicted else ""
    return " ".join(parts) + predicted + (f", {', '.join(where)}" if where else "")


def silent_launch(dossier: Dossier) -> Launch | None:
    """The launch that goes wrong without an error, as a race does; None where there is none, or an error."""
    seen = dossier.evidence
    return faulting_launch(seen.run) if seen.fault is None and seen.run is not None else None


def _complaint(text: str) -> str:
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
    if fault is None:
        return f"{code(spec)} in {runs}."
    if fault.code:
        error = error_table.by_code(fault.code)
        said = f"`{error.text}` (CUDA error {fault.code})"
        if fault.predicted:
            arch = architectures.name(told["arch"])
            return f"{PREDICTED.capitalize()}: compiled for {arch}, this program ends in {said}."
        return f"The program ends in {said}, in {runs}."
    return f"{code(fault.klass)}{f': {code(_complaint(fault.said or fault.text))}' if fault.text else ''}, in {runs}."


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


def address(dossier: Dossier) -> Iterator[tuple[str, str, str]]:
    """What is known of the address: what, its value, what that rests on."""
    site = dossier.site
    if site.symbol:
        declared = f"{site.aligned} bytes" if site.aligned else "none is declared"
        yield "alignment of shared memory as declared", f"{declared} (`{site.symbol}`)", "PTX"
    if site.explanation is not None:
        yield from site.explanation.address()
    if site.requires:
        yield "required", site.requires, "vendor's manual"
    for told in dossier.evidence.memory:
        if not told.startswith(("shared memory as declared", "the access (static rule ")):
            yield "address", told.partition(": ")[2] or told, told.partition(": ")[0]


def _result(row: KnobResults) -> dict[str, Any]:
    def values(outcome: str) -> str:
        return ", ".join(one.value for one in row.experiments if one.outcome == outcome) or "-"

    decides = {True: "yes", False: "no", None: "not known"}[row.matters]
    return {
        "row": row,
        "passes": values(ControlOutcome.PASSES.value),
        "faults": values(ControlOutcome.FAULTS.value),
        "other": values(ControlOutcome.NOT_APPLICABLE.value),
        "boundary": row.boundary,
        "decides": decides,
        "name": f"`{row.name}`: {MEANING[row.name]}" if row.name in MEANING else row.name,
    }


def guarding(dossier: Dossier) -> Iterator[tuple[str, str, str, str]]:
    """The controls of the reduction, those that the user named and those of the tool: name, what the original does
    under it, what the repro does, and of a patch the change of the repro that it is."""
    told = dossier.told
    held, patches = told.get("held") or {}, told.get("patches") or {}
    for name, original in (told.get("controls") or {}).items():
        yield name, original, held.get(name, "not asked: it does not make the original pass"), patches.get(name, "")


def workarounds(dossier: Dossier) -> Iterator[str]:
    """Only what an experiment showed to pass."""
    for row in dossier.trials.rows:
        if not row.passing:
            continue
        near = row.nearest
        if row.kind == "environment":
            yield f"`{row.name}` in the environment ({MEANING.get(row.name, 'passes')}): slow, to diagnose with"
        elif row.kind == "stages":
            yield f"{_at_most(row)} in {row.name.partition(' of ')[2]}: {row.boundary}"
        elif row.kind == "tile":
            explanation = dossier.site.explanation
            width = explanation.resized(row, near) if explanation is not None else ""
            yield f"a tile extent of {near.value}{width} in place of {row.current} ({_places(row)}): {row.boundary}"
        elif row.kind == "flag":
            yield f"`{row.name.split(' ')[0]}=False` in {row.name.partition(' of ')[2]}"
        else:
            name = row.name.partition(" of ")[0]
            yield f"`{name}={near.value}` ({row.name.partition(' of ')[2]}): {row.boundary}"


def _at_most(row: KnobResults) -> str:
    values = [int(one.value) for one in row.passing]
    values.sort()
    if values == list(range(1, values[-1] + 1)):
        return f"`num_stages={values[0]}`" if len(values) == 1 else f"`num_stages` of at most {values[-1]}"
    return " or ".join(f"`num_stages={value}`" for value in values)


def _places(row: KnobResults) -> str:
    found = re.search(r"\((lines? [^)]*)\)", row.name)
    return found.group(1) if found else row.name


def hypothesis(dossier: Dossier) -> Iterator[str]:
    """What would explain the measurements, and how they bear it out. Nothing where nothing is known of the address."""
    explanation = dossier.site.explanation
    if explanation is not None:
        yield from explanation.hypothesis(dossier.trials.rows)


def reduction_section(dossier: Dossier) -> Iterator[str]:
    """How the repro was made."""
    told = dossier.told
    before, after = told.get("before"), told.get("after")
    tries = sum(told.get("tries", {}).values())
    original = str(told.get("command") or "") or str(told.get("original", "")).rpartition("/")[2]
    if before and after:
        yield (
            f"{code(original)}, {before[0]} lines and {before[1]} tokens, became {after[0]} lines and {after[1]} tokens"
        )
    tiers = ", ".join(f"{count} {tier}" for tier, count in sorted(told.get("tries", {}).items()))
    yield f"{tries} tries in {dossier.wall:.0f} s ({tiers})"
    gpu = told.get("seconds", {}).get("gpu", 0.0)
    if gpu:
        yield f"{gpu:.0f} s of lanes on the GPU (several at a time)"
    if dossier.price is not None:
        if dossier.gpu:
            cost = dossier.wall / 3600 * dossier.price
            yield f"cost: {cost:.2f}, one GPU held for {dossier.wall:.0f} s at {dossier.price:g} an hour"
        else:
            yield "cost: none, no GPU was used"
    if told.get("same"):
        yield str(told["same"])
    if told.get("guarded"):
        yield str(told["guarded"])
    for name, rate in told.get("rates", {}).items():
        yield f"rate of {name}: {rate}"


def releases(dossier: Dossier) -> dict[str, str]:
    """What the repro does with each release of Triton that it was run with, oldest first."""
    own = dossier.environment.get("triton")
    found = {**({str(own): "faults"} if own else {}), **dossier.told.get("releases", {})}
    return {name: found[name] for name in sorted(found, key=_by_number)}


def _by_number(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def environment_rows(dossier: Dossier) -> Iterator[tuple[str, str]]:
    names = {"gpu": "GPU", "driver": "driver", "cuda": "CUDA of torch", "torch": "torch", "triton": "Triton"}
    names |= {"ptxas": "ptxas", "helion": "Helion", "python": "Python", "platform": "platform"}
    names |= {"architecture": "architecture"}
    for name, shown in names.items():
        if dossier.environment.get(name):
            yield shown, str(dossier.environment[name])
    for name, value in dossier.environment["variables"].items():
        yield code(name), code(str(value))

"""`ISSUE.md`: what is known of the fault, in the order in which a maintainer asks, ready to be pasted upstream.

Measured things are told as such. A cause is only ever offered as a hypothesis, with what speaks for it.
"""

from __future__ import annotations

import difflib
import importlib.util
import re
import shlex
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from shrinkray_gpu.attachment import header
from shrinkray_gpu.attachment.dossier import Dossier
from shrinkray_gpu.attachment.duplicates import search_link, terms
from shrinkray_gpu.attachment.experiments import MEANING, NOT_TRIED, Experiment, KnobResults
from shrinkray_gpu.attachment.markdown import Markdown, cell, code, fenced, prose
from shrinkray_gpu.attachment.ptx_beside import ptx_beside
from shrinkray_gpu.attachment.symptom import exact_error, symptom, title
from shrinkray_gpu.device import architectures, disassembly, error_table
from shrinkray_gpu.device.instruction import Instruction
from shrinkray_gpu.evidence.scrubbing import Scrubber
from shrinkray_gpu.same_fault.controls import ControlOutcome

if TYPE_CHECKING:
    from jinja2 import Environment

LABELS = {
    "verdict": "Whose",
    "line": "Line",
    "reached": "Reached by",
    "enough": "Enough to change",
}
_FIXED = re.compile(r"the case (\w+) of the corpus .*fixed in (Triton [^;]*)")
"""In what `corpus.known` says of a case like it."""
NOT_SEEN = "None that anybody saw: the fault is predicted by a static rule, and was not run."
NOT_PRINTED = "None: nothing is printed for it."
SHORT = 8
"""Lines of a difference that a first screen has room for."""


def text(dossier: Dossier, scrub: Scrubber) -> str:
    """The issue, whole. What it tells is scrubbed first and made Markdown last."""
    return _spaced(templates(scrub).get_template("ISSUE.md.j2").render(facts(dossier, scrub)))


def templates(scrub: Scrubber) -> Environment:
    """Those of the issue, with what they call."""
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
    environment.filters["error_number"] = lambda code: error_table.by_code(code).number
    environment.filters["architecture"] = lambda number: Markdown(architectures.name(number))
    environment.filters["architecture_with_article"] = lambda number: Markdown(architectures.name_with_article(number))
    return environment


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


def facts(dossier: Dossier, scrub: Scrubber) -> dict[str, Any]:
    """What both the issue and the page say, in words."""
    seen, tried = dossier.evidence, [dossier.trials.control, *_changed(dossier)]
    results, spec = [_result(row) for row in dossier.trials.rows], dossier.told.get("spec", "")
    ptx, run = dossier.code.stages.get("ptx", ""), seen.run
    searched = terms(seen.fault, spec, scrub)
    return {
        "d": dossier,
        "seen": seen,
        "fault": seen.fault,
        "title": title(dossier),
        "verdict": dossier.told.get("verdict") or {},
        "labels": LABELS,
        "symptom": symptom(dossier),
        "error": exact_error(dossier),
        "no_error": NOT_SEEN if seen.fault is not None and seen.fault.predicted else NOT_PRINTED,
        "traceback": run.failure.traceback.strip() if run and run.failure and exact_error(dossier) else "",
        "original": original(dossier),
        "expected": expected(dossier),
        "change": change(dossier),
        "deciding": [one for one in results if one["row"].matters],
        "idle": [_short(one["row"].name) for one in results if one["row"].matters is False],
        "search_terms": searched,
        "search_link": search_link(dossier.form, searched),
        "fixed": next(filter(None, map(_FIXED.search, dossier.told.get("known", ()))), None),
        "assembling": _ptxas_command(ptx, dossier.name),
        "beside": ptx_beside(dossier.told),
        "record": seen.findings[0].record.device_text if seen.findings else "",
        "count": seen.findings[0].count if seen.findings else 0,
        "family": disassembly.family(seen.instruction),
        "address": list(address(dossier)),
        "results": results,
        "widest": max((len(row.experiments) for row in dossier.trials.rows), default=1),
        "experiments": tried,
        "commands": "\n".join(f"{one.command}   # {one.outcome}" for one in tried),
        "around": "\n".join(_sass_row(one, seen.offset) for one in seen.sass),
        "untried": sum(one.outcome == NOT_TRIED for one in dossier.trials.experiments),
        "guarding": list(guarding(dossier)),
        "workarounds": list(workarounds(dossier)),
        "hypothesis": list(hypothesis(dossier)),
        "reduced": list(reduction_section(dossier)),
        "versions": list(version_rows(dossier)),
        "variables": [(code(name), code(str(value))) for name, value in dossier.environment["variables"].items()],
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


def address(dossier: Dossier) -> Iterator[tuple[str, str, str]]:
    """What is known of the address: what, its value, what that rests on."""
    site = dossier.site
    if site.symbol:
        declared = f"{site.aligned} bytes" if site.aligned else "none is declared"
        yield "alignment of shared memory as declared", f"{declared} (`{site.symbol}`)", "PTX"
    if site.copy is not None:
        yield from site.copy.address()
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
            copy = dossier.site.copy
            width = copy.resized(row, near) if copy is not None else ""
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
    if dossier.site.copy is not None:
        yield from dossier.site.copy.hypothesis(dossier.trials.rows)


def reduction_section(dossier: Dossier) -> Iterator[str]:
    """How the repro was made."""
    told = dossier.told
    before, after = told.get("before"), told.get("after")
    tries = sum(told.get("tries", {}).values())
    if before and after:
        became = f"{before[0]} lines and {before[1]} tokens, became {after[0]} lines and {after[1]} tokens"
        yield f"{code(original(dossier))}, {became}"
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


def version_rows(dossier: Dossier) -> Iterator[tuple[str, str]]:
    """Of all that takes part."""
    names = {"gpu": "GPU", "driver": "driver", "architecture": "GPU", "triton": "Triton", "torch": "torch"}
    names |= {"cuda": "CUDA of torch", "ptxas": "ptxas", "helion": "Helion", "python": "Python", "platform": "platform"}
    for name, shown in names.items():
        if dossier.environment.get(name):
            yield shown, str(dossier.environment[name])


def original(dossier: Dossier) -> str:
    """The program that was reduced, as its user calls it."""
    told = dossier.told
    return str(told.get("command") or "") or str(told.get("original", "")).rpartition("/")[2]


def expected(dossier: Dossier) -> str:
    """What would be right, in a sentence."""
    fault = dossier.evidence.fault
    if fault is not None and fault.phase == "compile":
        return "The kernel compiles, or the compiler refuses it with a message of its own."
    return "The program ends without an error." if fault is not None else "The program does not show it."


def change(dossier: Dossier) -> dict[str, str]:
    """What makes the repro pass, as the changed lines alone, and what shows that; no `diff` where no change is known
    that a first screen has room for. The healthy twin goes before a variant that merely passes."""
    found = [(dossier.twin, str((dossier.told.get("twin") or {}).get("proof", "")))]
    if dossier.passing is not None:
        found.append((dossier.passing.experiment.text, f"confirmed {dossier.passing.confirmed}"))
    for text, proof in found:
        lines = difflib.unified_diff(dossier.text.splitlines(), text.splitlines(), n=0, lineterm="") if text else ()
        changed = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
        if 0 < len(changed) <= SHORT:
            return {"diff": "\n".join(changed), "proof": proof}
    return {"diff": "", "proof": ""}


def _short(name: str) -> str:
    """A knob without the lines that it stands on."""
    return re.sub(r" \(lines? [^)]*\)$", "", name)


def _ptxas_command(ptx: str, name: str) -> str:
    """What assembles the repro's kernel without Triton; empty where there is no PTX."""
    target = re.search(r"^\.target (\w+)", ptx, re.MULTILINE)
    return f"ptxas --gpu-name={target.group(1)} {shlex.quote(name.removesuffix('.py') + '.ptx')}" if target else ""

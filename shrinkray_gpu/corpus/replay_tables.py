"""Outcomes for people and for CI: a text table, JSON, JUnit XML, and one HTML page."""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from shrinkray_gpu.corpus.expectation import CaseOutcome, Status
from shrinkray_gpu.evidence.text_tables import aligned

OutcomeMatrix = Mapping[str, Sequence[CaseOutcome]]
"""Outcomes by environment, each in the order of the cases."""
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML has no way to say, and compilers colour their messages with."""
_MARKS = {
    Status.FAULTS: "faults",
    Status.FIXED: "fixed",
    Status.CHANGED: "CHANGED",
    Status.FORMAT: "format",
    Status.CANNOT: "-",
    Status.BROKEN: "BROKEN",
}


def table(matrix: OutcomeMatrix) -> str:
    """Cases by environments. `!` marks what is not as expected, `-` what cannot run and `format` IR that is not
    parsed, told below in a line each."""
    by_name = _by_name(matrix)
    names = dict.fromkeys(outcome.case.name for _, outcome in _each(matrix))
    rows = [["case", *matrix], *([name, *(_cell(found.get(name)) for found in by_name.values())] for name in names)]
    return "\n".join([*aligned(rows), *_remarks(matrix)])


def changes(matrix: OutcomeMatrix) -> list[str]:
    """A paragraph for each outcome that is not as expected: what was expected, what is, and the two faults."""
    return [f"{outcome.case.name}, {name}: {news(outcome)}" for name, outcome in _each(matrix) if outcome.surprising]


def news(outcome: CaseOutcome) -> str:
    """What was expected of a case, what is, and the two faults below each other."""
    if outcome.status is Status.BROKEN:
        return outcome.why
    lines = [f"expected {outcome.expectation_text}, and it is {outcome}"]
    if outcome.fault is not None:
        lines += [f"was {outcome.case.fault or 'as the oracle says'}", f"is  {outcome.fault}"]
    return "\n    ".join([*lines, *([outcome.why] if outcome.why else [])])


def summary(matrix: OutcomeMatrix) -> str:
    """One line: how many cases did what, over all environments."""
    counts = Counter(outcome.status for _, outcome in _each(matrix))
    return ", ".join(f"{counts[status]} {status.value}" for status in Status if counts[status])


def nothing_ran(matrix: OutcomeMatrix) -> bool:
    """Whether no case at all could run, so that nothing was checked."""
    return not any(outcome.tells for _, outcome in _each(matrix))


def to_json(matrix: OutcomeMatrix) -> dict[str, Any]:
    """Everything, by environment and case."""
    return {
        name: {
            "versions": next((dict(outcome.versions) for outcome in outcomes if outcome.versions), {}),
            "cases": {outcome.case.name: outcome.to_json() for outcome in outcomes},
        }
        for name, outcomes in matrix.items()
    }


def junit(matrix: OutcomeMatrix) -> str:
    """One suite an environment, one test a case: a failure where something changed, skipped where it cannot run
    or be parsed."""
    root = xml.Element("testsuites")
    for name, outcomes in matrix.items():
        suite = xml.SubElement(
            root,
            "testsuite",
            name=name,
            tests=str(len(outcomes)),
            errors="0",
            failures=str(sum(outcome.surprising for outcome in outcomes)),
            skipped=str(sum(not outcome.tells for outcome in outcomes)),
            time=f"{sum(outcome.seconds for outcome in outcomes):.3f}",
        )
        for outcome in outcomes:
            test = xml.SubElement(
                suite, "testcase", classname=name, name=outcome.case.name, time=f"{outcome.seconds:.3f}"
            )
            if not outcome.tells:
                xml.SubElement(test, "skipped", message=_printable(outcome.why))
            elif outcome.surprising:
                said = f"expected {outcome.expectation_text}, and it is {outcome}"
                xml.SubElement(test, "failure", message=said).text = _printable(news(outcome))
            else:
                xml.SubElement(test, "system-out").text = _printable(f"{outcome}: {outcome.why}")
    xml.indent(root)
    return xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def html(matrix: OutcomeMatrix) -> str:
    """One self-contained page."""
    import jinja2

    environment = jinja2.Environment(loader=jinja2.PackageLoader("shrinkray_gpu.corpus"), autoescape=True)
    cases = {outcome.case.name: outcome.case for _, outcome in _each(matrix)}
    return environment.get_template("replay.html").render(
        names=list(cases), cases=cases, environments=list(matrix), outcomes=_by_name(matrix), changes=changes(matrix),
        summary=summary(matrix),
    )  # fmt: skip


def _cell(outcome: CaseOutcome | None) -> str:
    if outcome is None:
        return ""
    text = f"flaky {outcome.shown}/{outcome.runs}" if outcome.status is Status.FLAKY else _MARKS[outcome.status]
    return text + "!" * outcome.surprising


def _by_name(matrix: OutcomeMatrix) -> dict[str, dict[str, CaseOutcome]]:
    """The outcomes of each environment by their cases' names."""
    return {name: {outcome.case.name: outcome for outcome in outcomes} for name, outcomes in matrix.items()}


def _each(matrix: OutcomeMatrix) -> Iterator[tuple[str, CaseOutcome]]:
    return ((name, outcome) for name, outcomes in matrix.items() for outcome in outcomes)


def _printable(text: str) -> str:
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def _remarks(matrix: OutcomeMatrix) -> list[str]:
    """Why cases cannot run, and of which Triton they say nothing: each once."""
    whys: dict[tuple[str, str], list[str]] = {}
    for name, outcome in _each(matrix):
        if not outcome.tells:
            whys.setdefault((outcome.case.name, outcome.why), []).append(name)
        elif outcome.expectation is None and outcome.status is not Status.BROKEN:
            whys.setdefault((outcome.case.name, "its [expect] says nothing of this Triton"), []).append(name)
    told = []
    for (case, why), names in whys.items():
        where = "" if len(names) == len(matrix) else f" ({', '.join(names)})"
        told.append(f"- {case}{where}: {why}")
    for name, outcomes in matrix.items():
        if differing := _differing(outcomes):
            told.append(f"- {name}: its machines differ: {differing}")
    return ["", *told] if told else []


def _differing(outcomes: Sequence[CaseOutcome]) -> str:
    """In what the machines of a column differ; empty where they are alike, or one ran all."""
    seen = [outcome.versions for outcome in outcomes if outcome.versions]
    values = {key: sorted({each.get(key, "none") for each in seen}) for key in dict.fromkeys(chain(*seen))}
    return ", ".join(f"{key} {' or '.join(several)}" for key, several in values.items() if len(several) > 1)

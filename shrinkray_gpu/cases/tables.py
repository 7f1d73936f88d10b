"""Outcomes for people and for CI: a text table, JSON, JUnit XML, and one HTML page."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as xml
from collections.abc import Mapping, Sequence
from typing import Any

from shrinkray_gpu.cases.expectation import Outcome, Status

Matrix = Mapping[str, Sequence[Outcome]]
"""Outcomes by environment, each in the order of the cases."""
_MARKS = {Status.FAULTS: "faults", Status.FIXED: "fixed", Status.CHANGED: "CHANGED", Status.CANNOT: "-"}


def table(matrix: Matrix) -> str:
    """Cases by environments. `!` marks what is not as expected, `-` what cannot run, told below in a line each."""
    names = list(dict.fromkeys(outcome.case.name for outcomes in matrix.values() for outcome in outcomes))
    rows = [["case", *matrix]]
    for name in names:
        found = [next((o for o in outcomes if o.case.name == name), None) for outcomes in matrix.values()]
        rows.append([name, *(_cell(outcome) for outcome in found)])
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*lines, *_remarks(matrix)])


def changes(matrix: Matrix) -> list[str]:
    """A line for each outcome that is not as expected: what was expected, what is, and the two faults."""
    return [
        f"{outcome.case.name}, {name}: expected {_named(outcome.expected)}, and it is {outcome}"
        + (f"\n    was {outcome.case.fault}\n    is  {outcome.fault}" if outcome.fault and outcome.case.fault else "")
        + (f"\n    {outcome.why}" if outcome.why else "")
        for name, outcomes in matrix.items()
        for outcome in outcomes
        if outcome.surprising
    ]


def to_json(matrix: Matrix) -> dict[str, Any]:
    """Everything, by environment and case."""
    return {
        name: {
            "versions": dict(outcomes[0].versions) if outcomes else {},
            "cases": {outcome.case.name: _plain(outcome) for outcome in outcomes},
        }
        for name, outcomes in matrix.items()
    }


def junit(matrix: Matrix) -> str:
    """One suite an environment, one test a case: a failure where something changed, skipped where it cannot run."""
    root = xml.Element("testsuites")
    for name, outcomes in matrix.items():
        suite = xml.SubElement(
            root,
            "testsuite",
            name=name,
            tests=str(len(outcomes)),
            failures=str(sum(outcome.surprising for outcome in outcomes)),
            skipped=str(sum(outcome.status is Status.CANNOT for outcome in outcomes)),
            time=f"{sum(outcome.seconds for outcome in outcomes):.3f}",
        )
        for outcome in outcomes:
            test = xml.SubElement(
                suite, "testcase", classname=name, name=outcome.case.name, time=f"{outcome.seconds:.3f}"
            )
            if outcome.status is Status.CANNOT:
                xml.SubElement(test, "skipped", message=outcome.why)
            elif outcome.surprising:
                said = f"expected {_named(outcome.expected)}, and it is {outcome}"
                failure = xml.SubElement(test, "failure", message=said)
                failure.text = f"was {outcome.case.fault}\nis  {outcome.fault}\n{outcome.why}"
            else:
                xml.SubElement(test, "system-out").text = f"{outcome}: {outcome.why}"
    xml.indent(root)
    return xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def html(matrix: Matrix) -> str:
    """One self-contained page."""
    import jinja2

    environment = jinja2.Environment(loader=jinja2.PackageLoader("shrinkray_gpu.cases"), autoescape=True)
    names = list(dict.fromkeys(outcome.case.name for outcomes in matrix.values() for outcome in outcomes))
    by_name = {name: {o.case.name: o for o in outcomes} for name, outcomes in matrix.items()}
    cases = {o.case.name: o.case for outcomes in matrix.values() for o in outcomes}
    return environment.get_template("replay.html").render(
        names=names, cases=cases, environments=list(matrix), outcomes=by_name, changes=changes(matrix)
    )


def _cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return ""
    text = f"flaky {outcome.shown}/{outcome.runs}" if outcome.status is Status.FLAKY else _MARKS[outcome.status]
    return text + "!" * outcome.surprising


def _named(status: Status | None) -> str:
    return status.value if status else "nothing"


def _remarks(matrix: Matrix) -> list[str]:
    """Why cases cannot run, each reason once."""
    whys: dict[tuple[str, str], list[str]] = {}
    for name, outcomes in matrix.items():
        for outcome in outcomes:
            if outcome.status is Status.CANNOT:
                whys.setdefault((outcome.case.name, outcome.why), []).append(name)
    every = len(matrix)
    told = []
    for (case, why), names in whys.items():
        where = "" if len(names) == every else f" ({', '.join(names)})"
        told.append(f"- {case}{where}: {why}")
    return ["", *told] if told else []


def _plain(outcome: Outcome) -> dict[str, Any]:
    return {
        "status": outcome.status.value,
        "expected": outcome.expected.value if outcome.expected else None,
        "as expected": not outcome.surprising,
        "why": outcome.why,
        "fault": dataclasses.asdict(outcome.fault) if outcome.fault else None,
        "was": dataclasses.asdict(outcome.case.fault) if outcome.case.fault else None,
        "shown": outcome.shown,
        "runs": outcome.runs,
        "seconds": round(outcome.seconds, 3),
    }

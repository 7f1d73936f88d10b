"""The answers of a study, or of one study with several Tritons: for people, as tab-separated values, as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from shrinkray_gpu.evidence.text_tables import aligned, clipped, markdown_table
from shrinkray_gpu.oracle import Fault
from shrinkray_gpu.questions.ir.study import Presence, Study, StudyResult, cell, deciding

LONGEST = 150
_MARKS = {Presence.INCONCLUSIVE: "?", Presence.UNCOUNTED: "-"}


def table(studies: Sequence[Study]) -> str:
    """For one Triton a line for each test and kernel; for several a line for each test and a column for each Triton."""
    rows = _long(studies[0]) if len(studies) == 1 else _wide(studies)
    return "\n".join([*aligned(rows), *_remarks(studies), *_decided(studies), "", *conclusions(studies)])


def markdown(studies: Sequence[Study], command: str) -> str:
    """The same for a page: what was asked, all lines, and what follows."""
    counts = "\n".join(f"- `{each}`" for each in studies[0].counts)
    parts = [f"    {command}", f"Counted:\n\n{counts}"]
    if len(studies) > 1:
        parts.append(markdown_table(_wide(studies)))
    parts += [f"Triton {one.triton}:\n\n{markdown_table(_long(one))}" for one in studies]
    parts += ["\n".join(lines).strip() for lines in (_remarks(studies), _decided(studies)) if lines]
    parts.append("\n".join(f"- {line}" for line in conclusions(studies)))
    return "\n\n".join(parts) + "\n"


def summary_tsv(studies: Sequence[Study]) -> str:
    """Every count on a line of its own kernel, with the Triton in the first column."""
    head = ["triton", "test", "what", "kernel", *(each.name for each in studies[0].counts), "result", "why"]
    lines = ["\t".join(head)]
    for one in studies:
        for answer in one.answers:
            rows = [(row.kernel, row.counts) for row in answer.rows] or [("", (None,) * len(one.counts))]
            for kernel, counted in rows:
                numbers = ["" if n is None else str(n) for n in counted]
                words = [one.triton, answer.test.name, answer.test.told, kernel, *numbers, *_outcome(answer)]
                lines.append("\t".join(" ".join(word.split()) for word in words))
    return "\n".join(lines) + "\n"


def to_json(studies: Sequence[Study]) -> list[dict[str, Any]]:
    return [
        {
            "versions": dict(one.versions),
            "counted": [str(each) for each in one.counts],
            "conclusion": one.conclusion,
            "holds": one.holds,
            "tests": [
                {
                    "test": answer.test.name,
                    "role": answer.test.role.value,
                    "what": answer.test.told,
                    "changed": list(answer.test.program.where),
                    "kernels": {
                        f"{number} {row.kernel}": dict(zip((each.name for each in one.counts), row.counts, strict=True))
                        for number, row in enumerate(answer.rows)
                    },
                    "result": answer.result.value,
                    "why": answer.why,
                }
                for answer in one.answers
            ],
            "deciding": [
                {"axis": each.axis, "values": dict(each.values), "verdict": each.verdict} for each in deciding(one)
            ],
        }
        for one in studies
    ]


def conclusions(studies: Sequence[Study]) -> list[str]:
    return [one.conclusion for one in studies]


def _outcome(answer: StudyResult) -> tuple[str, str]:
    return answer.result.value, answer.why


def _long(one: Study) -> list[list[str]]:
    """The header, and a line for each kernel; one without a kernel for what did not compile."""
    stages = Counter(each.stage for each in one.counts)
    names = [each.name if each.family or stages[each.stage] > 1 else each.stage for each in one.counts]
    rows = [["test", "kernel", *names, "result"]]
    for answer in one.answers:
        result = answer.result.value + (f": {clipped(answer.why, LONGEST)}" if answer.why else "")
        kernels = answer.rows or [None]
        for row in kernels:
            numbers = ["-" if n is None else str(n) for n in row.counts] if row else ["-"] * len(one.counts)
            rows.append([answer.test.name, row.kernel if row else "-", *numbers, result])
            result = ""
    return rows


def _wide(studies: Sequence[Study]) -> list[list[str]]:
    stages = "/".join(each.stage for each in studies[0].counts)
    rows = [[f"test ({stages})", *(one.triton for one in studies)]]
    for number, answer in enumerate(studies[0].answers):
        rows.append([answer.test.name, *(_marked(one.answers[number]) for one in studies)])
    return rows


def _marked(answer: StudyResult) -> str:
    """The counts; `?` inconclusive, `!` a control that failed, `-` not compiled."""
    if not answer.rows:
        return _MARKS[Presence.UNCOUNTED]
    mark = "!" if answer.held is False else _MARKS.get(answer.result, "")
    return f"{cell(answer)}{mark}"


def _remarks(studies: Sequence[Study]) -> list[str]:
    if len(studies) == 1:
        return []
    marks = "".join(_marked(answer)[-1] for one in studies for answer in one.answers)
    told = [(mark, text) for mark, text in _LEGEND if mark in marks]
    lines = ["", *(f"{mark}  {text}" for mark, text in told)] if told else []
    # Several tests fail alike in one Triton, and in several Tritons: each reason is told once.
    tests: dict[tuple[str, str], list[str]] = {}
    for one in studies:
        for answer in one.answers:
            if answer.run is not None and (not answer.rows or answer.result is Presence.UNCOUNTED):
                why = clipped(str(Fault.of(answer.run) or answer.why), LONGEST)
                tests.setdefault((why, one.triton), []).append(answer.test.name)
    tritons: dict[tuple[str, str], list[str]] = {}
    for (why, triton), names in tests.items():
        tritons.setdefault((", ".join(names), why), []).append(triton)
    return [*lines, *(f"   {names} in {', '.join(found)}: {why}" for (names, why), found in tritons.items())]


_LEGEND = (
    ("!", "a control that failed"),
    ("?", "inconclusive, by the control before it"),
    ("-", "no count, for the reason told below"),
)


def _decided(studies: Sequence[Study]) -> list[str]:
    """Which of the values that were changed decides."""
    seen: dict[str, list[str]] = {}
    for one in studies:
        for each in deciding(one):
            values = "; ".join(f"{value}: {counts}" for value, counts in each.values.items())
            seen.setdefault(f"{each.axis} {each.verdict} ({values})", []).append(one.triton)
    lines = [line + (f" in triton {', '.join(names)}" if len(studies) > 1 else "") for line, names in seen.items()]
    return ["", *sorted(lines)] if lines else []

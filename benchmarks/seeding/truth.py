"""Whether a repro still has the planted fault: the fix, carried to what is left of its place, must make it pass.

What is left of the place is found by the operator's inverse: every place in the repro that may have the fault, in order
of likeness between its statement and the mutated one. Names may have been renamed since, constants folded. Copies of
one statement (a helper inlined twice) are mended together.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import libcst as cst

from shrinkray_gpu.oracle.fault import Fault

from .operators import Operator
from .places import Edit, Source

VERDICTS = ("true", "slipped", "undecided", "refused", "not reduced")
ALIKE = 0.05
"""Two likenesses that are this near are taken for copies of one statement."""
NEAR = 0.25
"""A place whose statement is less alike than the best one by more than this is another place."""
TRIES = 10
TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Outcome:
    """What a run of a text showed."""

    fault: Fault | None
    kernels: frozenset[str] = frozenset()
    """Those that were compiled or launched."""
    trouble: str = ""
    """Why the run tells nothing."""


@dataclass(frozen=True)
class Judgement:
    verdict: str
    why: str
    fixed: str = ""
    """The fix that decided: the line as it is in the repro, and as it is mended."""


def judge(repro: str, planted: Edit, operator: Operator, run: Callable[[str], Outcome]) -> Judgement:
    """The verdict of a repro: true, slipped or undecided. `run` runs a text."""
    try:
        source = Source(repro)
    except cst.ParserSyntaxError as error:
        return Judgement("undecided", f"the repro does not parse: {error.message}")
    shown = run(repro)
    if shown.fault is None:
        return Judgement("undecided", f"the repro shows no fault here{shown.trouble and ': ' + shown.trouble}")
    mends = list(operator.mends(source, planted))
    if not mends:
        return Judgement("slipped", "nothing of the place is left")
    others: list[str] = []
    for attempt in attempts(mends, planted):
        seen = run(source.with_edits(attempt))
        line = f"{attempt[0].statement} -> {attempt[0].old} => {attempt[0].new}"
        if seen.trouble:
            others.append(seen.trouble)
        elif seen.fault is None and seen.kernels:
            return Judgement("true", "with the fix it passes", line)
        elif seen.fault is None:
            others.append("with the fix it compiles no kernel")
        elif why := shown.fault.difference(seen.fault):
            others.append(f"{why} ({line})")
    if others:
        return Judgement("undecided", f"the fixed repro fails otherwise: {others[0]}")
    return Judgement("slipped", "the fixed repro still fails with the same fault")


def attempts(mends: Sequence[Edit], planted: Edit) -> list[tuple[Edit, ...]]:
    """Sets of edits to try, the likeliest first. Not those at places that are too unlike the planted one."""
    scored = sorted(((likeness(mend, planted), -mend.start, mend) for mend in mends), key=lambda one: one[:2])[::-1]
    best = scored[0][0]
    near = [mend for score, _, mend in scored if score >= best - NEAR]
    copies = tuple(mend for score, _, mend in scored if score >= best - ALIKE)
    singles = [(mend,) for mend in near]
    return [*singles[:1], *([copies] if len(copies) > 1 else []), *singles[1:]][:TRIES]


def likeness(mend: Edit, planted: Edit) -> float:
    """How much the mended statement resembles the one before the fault was planted, 0 to 1."""
    score = max(_ratio(mend.old, planted.new), 0.5 * _ratio(mend.new, planted.old))
    mended = re.sub(rf"(?<!\w){re.escape(mend.old)}(?!\w)", lambda _: mend.new, mend.statement, count=1)
    alike = max(_ratio(each, planted.statement) for each in (mend.statement, mended))
    return 0.4 * score + 0.5 * alike + 0.1 * (mend.function == planted.function)


def _ratio(one: str, other: str) -> float:
    first, second = TOKEN.findall(one), TOKEN.findall(other)
    return max(_same(first, second), 0.9 * _same(_nameless(first), _nameless(second)))


def _same(first: Sequence[str], second: Sequence[str]) -> float:
    return difflib.SequenceMatcher(None, first, second, autojunk=False).ratio()


def _nameless(tokens: Sequence[str]) -> list[str]:
    """Names in order of their first occurrence, so that a renamed statement is the same. What follows a dot stays."""
    known: dict[str, str] = {}
    result, before = [], ""
    for token in tokens:
        is_name = token[0].isalpha() or token[0] == "_"
        result.append(known.setdefault(token, f"n{len(known)}") if is_name and before != "." else token)
        before = token
    return result

"""A reduction in pure Python, for the tests of engine and trajectory: tiny passes, predicates instead of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import libcst as cst

from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.reduction.checks.check_plan import CheckPlan, ConfirmationPlan, ControlPlan, FingerprintPlan
from shrinkray_gpu.reduction.course import Course
from shrinkray_gpu.reduction.edit import Edit, Remove, Replace, Unwrap
from shrinkray_gpu.reduction.engine import reduce_program
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.outcome import Listeners, PassLike, ProgressEvent, Reduction
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rewrites import Rewrites

Predicate = Callable[[str], "bool | None"]


@dataclass(frozen=True)
class Own:
    """A pass of a test."""

    name: str
    find: Callable[..., Iterable[Edit]]
    grows: bool = False
    needs_values: bool = False
    stage: int = 0


def _depth(program: Program, node: cst.CSTNode) -> int:
    depth = 0
    while node in program.parents:
        node = program.parents[node]
        depth += isinstance(node, cst.BaseCompoundStatement)
    return depth


def _in_order(program: Program, *kinds: type[cst.CSTNode]) -> list[cst.CSTNode]:
    found = [node for node in program.parents if isinstance(node, kinds) and node in program.spans]
    return sorted(found, key=lambda node: program.spans[node])


def find_statements(program: Program) -> Iterable[Edit]:
    for node in _in_order(program, cst.SimpleStatementLine, cst.BaseCompoundStatement):
        start, end = program.spans[node]
        words = program.text[start:end].split()
        yield Edit(f"remove statement {words[0]}", (Remove(node),), _depth(program, node), len(words))


def find_blocks(program: Program) -> Iterable[Edit]:
    for node in _in_order(program, cst.If, cst.For, cst.While, cst.With):
        if not (isinstance(node, cst.If) and isinstance(program.parents[node], cst.If)):
            yield Edit("unwrap block", (Unwrap(node, (node.body,)),), _depth(program, node), 3)  # type: ignore[attr-defined]


def find_numbers(program: Program) -> Iterable[Edit]:
    for node in _in_order(program, cst.Integer):
        value = int(node.value)  # type: ignore[attr-defined]
        for smaller in dict.fromkeys((0, 1, value // 2, value - 1)):
            if smaller < value:
                yield Edit(f"number {value} to {smaller}", (Replace(node, (str(smaller),)),))


statements = Own("statements", find_statements)
blocks = Own("blocks", find_blocks)
numbers = Own("numbers", find_numbers)


@dataclass
class Interest:
    """An interestingness test made of functions."""

    judge: Callable[[Sequence[Program]], list[Verdict]]
    foresee: Callable[[Iterable[Program]], None] = lambda likely: None
    insist: Callable[[bool], None] = lambda on: None
    values: Callable[[Program], Mapping[int, str]] = lambda program: {}


@dataclass
class Bench:
    """A predicate in the place of a judge. It remembers what it was asked."""

    predicate: Predicate
    asked: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    events: list[ProgressEvent] = field(default_factory=list)

    def judge(self, programs: Sequence[Program]) -> list[Verdict]:
        self.asked += [program.text for program in programs]
        self.keys += [program.key for program in programs]
        return [verdict(self.predicate(program.text)) for program in programs]

    def reduce(
        self, text: str, folder: Path, *, passes: Sequence[PassLike] = (statements,), **options: Any
    ) -> Reduction:
        """`options` by the name of what they are for: of `Journal.open`, `Interest` and the values that the engine
        takes, see `parts`."""
        original = Program.from_text(text, "failing.py")
        opening = {name: options.pop(name) for name in ("resume", "restart") if name in options}
        with Journal.open(folder, original=original, seed=0, width=8, settings={}, **opening) as journal:
            reporting = {"judge": self.judge, "progress": self.events.append}
            return reduce_program(original, passes=passes, journal=journal, **parts(**reporting | options))


def parts(**options: Any) -> dict[str, Any]:
    """What the engine takes, of options by their own names. `controls` and `fingerprint` start such a check; `lag`,
    `first` and `drifted` belong to them."""

    def of(kind: type[Any], **more: Any) -> Any:
        names = {each.name for each in fields(kind)} & options.keys()
        return kind(**{name: options.pop(name) for name in names}, **more)

    controls, fingerprint = options.pop("controls", None), options.pop("fingerprint", None)
    control_plan, fingerprint_plan = of(ControlPlan, ask=controls), of(FingerprintPlan, ask=fingerprint)
    made = {
        "test": of(Interest),
        "checks": CheckPlan(
            of(ConfirmationPlan), control_plan if controls else None, fingerprint_plan if fingerprint else None
        ),
        "course": of(Course),
        "rewrites": of(Rewrites),
        "report": of(Listeners),
    }
    assert not options, f"nobody takes {sorted(options)}"
    return made


def verdict(holds: bool | None) -> Verdict:
    return Verdict(Answer.UNKNOWN if holds is None else Answer.FAULTS if holds else Answer.PASSES)


def trace(events: Iterable[ProgressEvent]) -> list[str]:
    """The accepted programs, in order, each with its pass."""
    return [f"{e.round} {e.pass_name}: {e.program.text!r}" for e in events if e.kind in ("accepted", "rolled back")]

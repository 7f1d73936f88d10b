"""Every change that a pass could ask for, found by brute force: what the renderer has to survive."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import libcst as cst

from shrinkray_gpu.reduction.edit import Change, Edit, Insert, Remove, Replace, Template, Unwrap
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.tree import once

NASTY = sorted((Path(__file__).parent / "nasty").glob("*.py"))
if sys.version_info < (3, 11):
    NASTY = [path for path in NASTY if path.name != "py311.py"]  # in the words of a Python that is newer

REMOVABLE = (
    *(cst.BaseStatement, cst.BaseSmallStatement, cst.BaseSuite),
    *(cst.Else, cst.Finally, cst.ExceptHandler, cst.ExceptStarHandler, cst.MatchCase, cst.Decorator),
    *(cst.Arg, cst.Param, cst.ParamSlash, cst.ParamStar, cst.ImportAlias, cst.NameItem, cst.WithItem, cst.AsName),
    *(cst.Element, cst.StarredElement, cst.DictElement, cst.StarredDictElement, cst.SubscriptElement),
    *(cst.AssignTarget, cst.Annotation, cst.CompIf, cst.CompFor, cst.From, cst.TypeParam),
)
LITERALS = (
    "0",
    "None",
    "'s'",
    "-1",
    "x if y else z",
    "lambda: 0",
    "a, b",
    "(a := 1)",
    "yield",
    "a\n+ b",
    "{1: 2}",
    "name",
)
STATEMENTS = ("pass", "x = 1; y = 2", "if x:\n    y = '''\n  z'''\nelse: z", "a(\n  b)\nc", "# only\nx")


def all_changes(program: Program, rng: random.Random) -> list[Change]:
    """One or several changes of each sort for each node."""
    out: list[Change] = []
    nodes = list(program.layout.outer)
    expressions = [node for node in nodes if isinstance(node, cst.BaseExpression)]
    statements = [node for node in nodes if isinstance(node, cst.BaseStatement | cst.BaseSmallStatement)]
    for node in nodes:
        if isinstance(node, REMOVABLE):
            out.append(Remove(node))
        if isinstance(node, cst.BaseExpression):
            out.append(Replace(node, _template(node, program, expressions, rng)))
            if rng.random() < 0.3:
                out.append(Remove(node))
        elif isinstance(node, cst.BaseCompoundStatement):
            suites = _suites(node, program)
            out.append(Unwrap(node, tuple(s for s in suites if rng.random() < 0.6), _before(statements, rng)))
            out.append(Insert(node, _statements(statements, rng)))
            out.append(Replace(node, _statements(statements, rng)[0]))
        elif isinstance(node, cst.BaseSmallStatement | cst.SimpleStatementLine):
            inside = _inside(program)[node]
            hoisted: Template = (rng.choice(inside),) if inside and rng.random() < 0.7 else (rng.choice(STATEMENTS),)
            out.append(Replace(node, hoisted))
            out.append(Insert(node, _statements(statements, rng)))
    return out


def random_edits(program: Program, rng: random.Random, most: int = 10_000) -> list[Edit]:
    """A few to very many edits of one to three changes each, in any order."""
    changes = all_changes(program, rng)
    picked = rng.sample(changes, min(len(changes), min(most, rng.choice((1, 2, 3, 5, 8, 20, 60, 200, 10_000)))))
    edits: list[Edit] = []
    while picked:
        size = min(len(picked), rng.choice((1, 1, 1, 2, 3)))
        edits.append(Edit("random", tuple(picked[:size])))
        del picked[:size]
    return edits


def _template(
    node: cst.BaseExpression, program: Program, expressions: Sequence[cst.BaseExpression], rng: random.Random
) -> Template:
    inside = _inside(program)[node]
    anywhere = rng.choice(expressions)
    draw = rng.random()
    if inside and draw < 0.6:
        return (rng.choice(inside),)
    if draw < 0.7:
        return ("f(", node, ", ", anywhere, ")[", anywhere, "].x")
    if draw < 0.75:
        return (node, " * ", anywhere, " + ", anywhere)
    if draw < 0.8:
        return (anywhere,)
    return (rng.choice(LITERALS),)


def _statements(statements: Sequence[cst.CSTNode], rng: random.Random) -> tuple[Template, ...]:
    choices: list[Template] = [
        (rng.choice(STATEMENTS),),
        ("while x:\n    ", rng.choice(statements), "\n    ", rng.choice(statements), "\ny"),
        (rng.choice(statements),),
    ]
    return tuple(rng.choice(choices) for _ in range(rng.choice((1, 1, 2))))


def _before(statements: Sequence[cst.CSTNode], rng: random.Random) -> tuple[Template, ...]:
    return _statements(statements, rng) if rng.random() < 0.3 else ()


def _suites(node: cst.CSTNode, program: Program) -> list[cst.BaseSuite]:
    """The blocks of a compound statement, also of its clauses and `elif`s."""
    out: list[cst.BaseSuite] = []
    for child in program.layout.children[node]:
        if isinstance(child, cst.BaseSuite):
            out.append(child)
        elif isinstance(
            child, cst.If | cst.Else | cst.Finally | cst.ExceptHandler | cst.ExceptStarHandler | cst.MatchCase
        ):
            out += _suites(child, program)
    return out


@once
def _inside(program: Program) -> Mapping[cst.CSTNode, list[cst.BaseExpression]]:
    """The expressions below each node, in the order of the text."""
    found: dict[cst.CSTNode, list[cst.BaseExpression]] = {}

    def below(node: cst.CSTNode) -> list[cst.BaseExpression]:
        inside: list[cst.BaseExpression] = []
        for child in program.layout.children[node]:
            inside += [child, *below(child)] if isinstance(child, cst.BaseExpression) else below(child)
        found[node] = inside
        return inside

    below(program.module)
    return found

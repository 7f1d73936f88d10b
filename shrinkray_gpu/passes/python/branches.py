"""One arm of an `if`, a conditional expression or a `match` in the place of the whole, or one entry of a table.

Only one arm leads to the fault, and once it stands alone the test and all that was computed for it can go. Either arm
is offered, since a test may well be false at the fault; dropping a single arm comes after, where two are needed. The
wrong entry may be what was looked up: so `TILES[x.dtype]` becomes one only where the program names no other key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.reduction.edit import Edit, Template, Unwrap
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.edits import removal, replacement
from shrinkray_gpu.source.masking import always_holds
from shrinkray_gpu.source.names_read import is_target
from shrinkray_gpu.source.pinning import assigned_value
from shrinkray_gpu.source.scoping import bindings
from shrinkray_gpu.source.tree import depth, dotted_text, every, line_number, weight, within


def find(program: Program) -> Iterator[Edit]:
    for chain in every(program, cst.If):
        if not isinstance(program.parents.get(chain), cst.If):
            yield from _arms(program, chain)
    for clause in every(program, cst.Else):
        if not isinstance(program.parents.get(clause), cst.If):
            yield _drop(program, clause, "else")
    for choice in every(program, cst.IfExp):
        for which, arm in (("first", choice.body), ("second", choice.orelse)):
            if not always_holds(program, choice, (arm,)):
                what = f"{which} value of the conditional at line {line_number(program, choice)}"
                yield replacement(program, what, choice, (arm,), 9)
    for either in every(program, cst.BooleanOperation):
        if isinstance(either.operator, cst.Or) and isinstance(program.parents[either], cst.Assign):
            for which, arm in (("first", either.left), ("second", either.right)):
                what = f"{which} value of `or` at line {line_number(program, either)}"
                yield replacement(program, what, either, (arm,), 9)
    yield from _entries(program)
    for match in every(program, cst.Match):
        for case in match.cases:
            label = f"case {' '.join(program.text[slice(*program.spans[case.pattern])].split())}"
            if not _binds_names(program, case.pattern):
                tests = [test for test in (match.subject, case.guard) if test is not None]
                what = f"only {label} at line {line_number(program, match)}"
                yield _arm_alone(program, what, match, case.body, tests)
            if len(match.cases) > 1:
                yield _drop(program, case, label)


def _entries(program: Program) -> Iterator[Edit]:
    """`TILES[x.dtype]` -> its entry for the only one of its keys that stands elsewhere in the program."""
    made = ((binding, assigned_value(program, binding)) for binding in bindings(program))
    tables: dict[cst.CSTNode, cst.BaseExpression]
    tables = {read: line[1] for binding, line in made if line is not None for read in binding.reads}
    named = Counter(_key(node) for node in every(program, cst.Attribute, cst.SimpleString))
    listed = Counter(_key(each.key) for each in every(program, cst.DictElement))
    for lookup in every(program, cst.Subscript):
        table = tables.get(lookup.value, lookup.value)
        if not isinstance(table, cst.Dict) or is_target(lookup, program.parents) or len(lookup.slice) != 1:
            continue
        entries = {_key(each.key): each.value for each in table.elements if isinstance(each, cst.DictElement)}
        elsewhere = [key for key in entries if named[key] > listed[key]]
        if len(elsewhere) == 1 and "" not in entries and len(entries) == len(table.elements) > 1:
            what = f"the entry for {elsewhere[0]} at line {line_number(program, lookup)}"
            yield replacement(program, what, lookup, (entries[elsewhere[0]],), 9)


def _key(node: cst.BaseExpression) -> str:
    """A name with a dot, or a text in quotes, as what it means; empty: neither."""
    if isinstance(node, cst.SimpleString):
        return repr(node.evaluated_value)
    return text if "." in (text := dotted_text(node)) else ""


def _arms(program: Program, chain: cst.If) -> Iterator[Edit]:
    tests: list[cst.BaseExpression] = []
    arm: cst.If | cst.Else | None = chain
    while arm is not None:
        position = len(tests)
        if isinstance(arm, cst.If):
            tests.append(arm.test)
        what = f"arm {position} of the if at line {line_number(program, chain)}"
        yield _arm_alone(program, what, chain, arm.body, tests)
        if position:
            yield _drop(program, arm, "else" if isinstance(arm, cst.Else) else "elif")
        elif chain.orelse is not None:
            yield _drop(program, chain.body, "the first arm")
        arm = arm.orelse if isinstance(arm, cst.If) else None


def _arm_alone(
    program: Program, what: str, choice: cst.If | cst.Match, arm: cst.BaseSuite, tests: list[cst.BaseExpression]
) -> Edit:
    """One arm for the whole. A test that binds a name (`if (n := f()) > 1`) is still computed."""
    computed: tuple[Template, ...] = tuple((test,) for test in tests if within(program, test, cst.NamedExpr))
    gain = weight(program, choice) - weight(program, arm)
    return Edit(what, (Unwrap(choice, keep=(arm,), before=computed),), depth(program, choice), gain)


def _binds_names(program: Program, pattern: cst.MatchPattern) -> bool:
    """Whether names would be lost with the pattern: `_` and `*_` bind none."""
    names: list[cst.Name | None] = [each.name for each in within(program, pattern, cst.MatchAs)]
    names += [each.name for each in within(program, pattern, cst.MatchStar)]
    names += [each.rest for each in within(program, pattern, cst.MatchMapping)]
    return any(name is not None for name in names)


def _drop(program: Program, clause: cst.CSTNode, what: str) -> Edit:
    what = f"drop {what} at line {line_number(program, clause)}"
    return removal(program, what, clause, level=depth(program, clause) + 1)

"""Loops run once, or at least less often, and lose their options.

A loop that runs once with its first element is no loop at all: its body takes its place, and the loop variable becomes
a constant that later passes put where it is used. Where the fault needs the loop, it seldom needs all of its trips,
and `tl.range(..., num_stages=3, flatten=False)` seldom all of its options: which ones remain is half of the diagnosis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import libcst as cst

from shrinkray_gpu.reduction.edit import Change, Edit, Remove, Replace, Template, Unwrap
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.edits import removal, replacement
from shrinkray_gpu.source.kernels import in_kernel
from shrinkray_gpu.source.pinning import assigned_value
from shrinkray_gpu.source.scoping import variables_by_place, variables_by_read
from shrinkray_gpu.source.spelling import is_range
from shrinkray_gpu.source.tree import (
    depth,
    dotted_text,
    every,
    holds,
    line_number,
    once,
    source,
    weight,
    within,
)

_MANY = 8
"""Literals longer than this are a table, which other passes halve."""
_LISTS = frozenset({"list", "tuple", "sorted", "json.loads"})
_LISTED = frozenset({*_LISTS, "enumerate", "zip", "product", "itertools.product", "reversed"})
"""Functions that go over what they are given, and do nothing else."""
_OF_TABLE = (".items", ".values", ".keys")


def find(program: Program) -> Iterator[Edit]:
    for loop in every(program, cst.For):
        if loop.asynchronous is None:
            if _is_unread(program, loop.target):
                yield _body_once(program, loop, (), "", weight(program, loop.iter) + 3)
            else:
                yield from list(_elements_of_table(program, loop)) or _first_elements(program, loop)
        yield from _fewer_trips(program, loop.iter)
        yield from _plain_range(program, loop.iter)
    for repeat in every(program, cst.While):
        yield _body_once(program, repeat, (), "", weight(program, repeat.test) + 1)
    for clause in every(program, cst.CompFor):
        yield from _fewer_trips(program, clause.iter)
        for condition in clause.ifs:
            yield removal(program, "drop the condition of a comprehension", condition, level=9)
    for comprehension in every(program, cst.BaseSimpleComp):  # type: ignore[type-abstract]
        yield from _one_element(program, comprehension)


def _body_once(
    program: Program,
    loop: cst.For | cst.While,
    before: tuple[Template, ...],
    element: str,
    gain: int,
    *gone: cst.CSTNode,
) -> Edit:
    what = f"{type(loop).__name__.lower()} at line {line_number(program, loop)}: body once{element}"
    body = Unwrap(loop, keep=(loop.body,), before=tuple(before))
    return Edit(what, (body, *map(Remove, (*_jumps(loop.body), *gone))), depth(program, loop), gain)


def _first_elements(program: Program, loop: cst.For) -> Iterator[Edit]:
    """The body with the loop variable set to the first element; with a short literal, to any of its elements."""
    for position, values in enumerate(_firsts(program, loop)):
        element = f" (element {position})" if position else ""
        gain = weight(program, loop.iter) + 1
        yield _body_once(program, loop, ((loop.target, " = ", *values),), element, gain)


def _elements_of_table(program: Program, loop: cst.For) -> Iterator[Edit]:
    """The same of a loop over a table that has a name: the element as it is written there. `next(iter(TABLE))` would be
    longer than the loop."""
    table = _table(program, loop.iter)
    for position, value in enumerate(table.values[:_MANY] if table is not None else ()):
        assert table is not None
        element, gain = f", element {position} of {table.name}", weight(program, loop.iter, *table.gone)
        yield _body_once(program, loop, ((loop.target, " = ", *value),), element, gain, *table.gone)


class Table(NamedTuple):
    """What a loop runs over, where its elements are written out under a name."""

    name: str
    elements: Sequence[cst.BaseElement | cst.BaseDictElement]
    values: Sequence[Template]
    """What the loop variable gets, of each element."""
    gone: Sequence[cst.CSTNode]
    """What nobody reads without the loop."""


def _table(program: Program, table: cst.BaseExpression) -> Table | None:
    items = isinstance(table, cst.Call) and dotted_text(table.func).endswith(".items") and not table.args
    if isinstance(table, cst.Call) and isinstance(table.func, cst.Attribute) and items:
        table = table.func.value
    known = variables_by_read(program).get(table) if isinstance(table, cst.Name) else None
    made = assigned_value(program, known) if known is not None else None
    if known is None or made is None:
        return None
    statement, display = made
    values: list[Template]
    if items:
        written = display.elements if isinstance(display, cst.Dict) else ()
        values = [("(", each.key, ", ", each.value, ")") for each in written if isinstance(each, cst.DictElement)]
    else:
        values = [(element,) for element in _literal(display)]
    elements = display.elements if isinstance(display, (cst.Dict, cst.List, cst.Tuple, cst.Set)) else ()
    gone = [statement] if len(known.reads) == 1 else []
    return Table(known.name, elements, values, gone) if len(values) == len(elements) else None


def elements_of(program: Program, loop: cst.For) -> Sequence[cst.BaseElement | cst.BaseDictElement]:
    """Those that are written out, in the loop or under a name; none where they are not."""
    if _literal(loop.iter) and isinstance(loop.iter, (cst.List, cst.Tuple)):
        return loop.iter.elements
    table = _table(program, loop.iter)
    return table.elements if table is not None else ()


def once_with(program: Program, loop: cst.For, position: int) -> Edit | None:
    """The body once, with the element of this number, as the text or Python can say it; None where they cannot."""
    table, gone = _table(program, loop.iter), []
    value = _element(program, loop.iter, position)
    if value is None and table is not None and position < len(table.values):
        value, gone = table.values[position], [*table.gone]
    called = dotted_text(loop.iter.func) if isinstance(loop.iter, cst.Call) else ""
    if value is None and (called in _LISTED or called.endswith(_OF_TABLE)):
        value = (loop.iter, f"[{position}]") if called in _LISTS else ("list(", loop.iter, f")[{position}]")
    if value is None:
        return None
    return _body_once(program, loop, ((loop.target, " = ", *value),), f" (element {position})", 1, *gone)


def _element(program: Program, iterable: cst.BaseExpression, position: int) -> Template | None:
    elements = _literal(iterable)
    if position < len(elements):
        return (elements[position],)
    if isinstance(iterable, cst.Call) and dotted_text(iterable.func) == "enumerate" and len(iterable.args) == 1:
        value = _element(program, iterable.args[0].value, position)
        return (f"({position}, ", *value, ")") if value is not None else None
    return _first_element(program, iterable) if not position else None


def _is_unread(program: Program, target: cst.CSTNode) -> bool:
    """Whether nothing in the program is called as the loop variable is."""
    own = within(program, target, cst.Name)
    mentions = _name_counts(program)
    return sum(mentions[name] for name in {name.value for name in own}) == len(own)


@once
def _name_counts(program: Program) -> Counter[str]:
    """How often each name stands in the program."""
    return Counter(name.value for name in every(program, cst.Name))


def _firsts(program: Program, loop: cst.For) -> Iterator[Template]:
    elements = _literal(loop.iter)
    if elements:
        yield from ((element,) for element in elements[:_MANY])
        return
    first = _first_element(program, loop.iter)
    if first is not None:
        yield first
    elif not in_kernel(program, loop):  # Triton has no iterators
        yield ("next(iter(", loop.iter, "))")


def _first_element(program: Program, iterable: cst.BaseExpression) -> Template | None:
    """The first element of ranges, literals and what is built from them; None if it has to be asked for."""
    elements = _literal(iterable)
    if elements:
        return (elements[0],)
    if not isinstance(iterable, cst.Call) or any(arg.star for arg in iterable.args):
        return None
    name = dotted_text(iterable.func)
    given = [arg.value for arg in iterable.args if arg.keyword is None]
    if is_range(program, iterable.func) and given:
        return (given[0],) if len(given) > 1 else ("0",)
    if name == "enumerate" and len(given) == 1 and len(iterable.args) == 1:
        return ("(0, ", *(_first_element(program, given[0]) or ("next(iter(", given[0], "))")), ")")
    if name == "zip" and given:
        parts: list[str | cst.CSTNode] = []
        for each in given:
            first = _first_element(program, each) or ("next(iter(", each, "))")
            parts.extend((", " if parts else "(", *first))
        return (*parts, ",)" if len(given) == 1 else ")")
    if name in ("tqdm", "tqdm.tqdm", "list", "tuple", "iter") and given:
        return _first_element(program, given[0])
    return None


def _literal(iterable: cst.BaseExpression) -> Sequence[cst.BaseExpression]:
    """The elements of a list, tuple or set that is written out; the keys of a dictionary."""
    if isinstance(iterable, (cst.List, cst.Tuple, cst.Set)):
        if all(isinstance(element, cst.Element) for element in iterable.elements):
            return [element.value for element in iterable.elements]
    if isinstance(iterable, cst.Dict):
        if all(isinstance(element, cst.DictElement) for element in iterable.elements):
            return [element.key for element in iterable.elements if isinstance(element, cst.DictElement)]
    return []


def _jumps(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The `break` and `continue` below a node that belong to the loop around it."""
    for child in node.children:
        if isinstance(child, (cst.Break, cst.Continue)):
            yield child
        elif isinstance(child, (cst.For, cst.While)):
            yield from _jumps(child.orelse) if child.orelse is not None else ()
        elif not isinstance(child, (cst.FunctionDef, cst.ClassDef, cst.BaseExpression)):
            yield from _jumps(child)


def _fewer_trips(program: Program, iterable: cst.BaseExpression) -> Iterator[Edit]:
    """One, two or four trips of a range; one element of a literal."""
    elements = _literal(iterable)
    if 1 < len(elements) <= _MANY and not isinstance(iterable, cst.Dict):
        for position, element in enumerate(elements):
            what = f"only element {position} of the loop at line {line_number(program, iterable)}"
            yield replacement(program, what, iterable, ("(", element, ",)"), 8)
    if not isinstance(iterable, cst.Call) or not is_range(program, iterable.func):
        return
    positional = [arg for arg in iterable.args if arg.keyword is None and not arg.star]
    given = [arg.value for arg in positional]
    for trips in (2, 3, 4):
        what = f"{trips} trips counted from 0 at line {line_number(program, iterable)}"
        if len(given) in (2, 3):
            changes: tuple[Change, ...] = (Replace(given[0], (str(trips),)), *map(Remove, positional[1:]))
            yield Edit(what, changes, 9, weight(program, *positional[1:]))
        elif len(given) == 4:  # tl.range(0, n, 1, 3), whose fourth has a name that stands without the others
            named = Replace(positional[3], ("num_stages=", given[3]))
            changes = (Replace(given[0], (str(trips),)), *map(Remove, positional[1:3]), named)
            yield Edit(what, changes, 9, 2)
    for trips in (1, 2, 4):
        by: Template
        if len(given) == 1:
            stop, by = given[0], (str(trips),)
        elif len(given) == 2:
            stop, by = given[1], (given[0], f" + {trips}")
        elif len(given) == 3:
            zero = isinstance(given[0], cst.Integer) and given[0].value == "0"
            times: Template = (given[2],) if trips == 1 else (f"{trips} * ", given[2])
            stop, by = given[1], times if zero else (given[0], " + ", *times)
        else:
            return
        if source(program, stop).strip() != "".join(p if isinstance(p, str) else source(program, p) for p in by):
            what = f"{trips} trip{'s' * (trips > 1)} at line {line_number(program, iterable)}"
            yield Edit(what, (Replace(stop, by),), 9, weight(program, stop))


def is_step(program: Program, node: cst.CSTNode) -> bool:
    """The third argument of a range. With 0 there a kernel would never end, and what it does is not defined."""
    arg = program.parents.get(node)
    call = program.parents.get(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(arg, cst.Arg) or not isinstance(call, cst.Call) or not is_range(program, call.func):
        return False
    return arg.keyword.value == "step" if arg.keyword is not None else len(call.args) > 2 and call.args[2] is arg


def _plain_range(program: Program, iterable: cst.BaseExpression) -> Iterator[Edit]:
    """`tl.range(...)` without its options one by one, and as Python's `range`."""
    if not isinstance(iterable, cst.Call) or not is_range(program, iterable.func):
        return
    if dotted_text(iterable.func) == "range":
        return
    options = [arg for arg in iterable.args if arg.keyword is not None]
    where = f"of the range at line {line_number(program, iterable)}"
    plain = Replace(iterable.func, ("range",))
    yield Edit(f"drop all options {where}", (plain, *map(Remove, options)), 8, weight(program, iterable.func, *options))
    if len(options) > 1:
        yield removal(program, f"drop the options {where}", *options, level=8)
    for option in options:
        name = option.keyword.value if option.keyword is not None else ""
        yield removal(program, f"drop {name} {where}", option, level=9)
    yield Edit(f"plain range {where}", (plain,), 9, 2)


def _one_element(program: Program, comprehension: cst.BaseSimpleComp) -> Iterator[Edit]:
    """`[f(x) for x in (a, b)]` is `[f(a)]`."""
    clause = comprehension.for_in
    variable = variables_by_place(program).get(clause.target)
    first = _first_element(program, clause.iter)
    if clause.inner_for_in is not None or variable is None:
        return
    uses = [read for read in variable.reads if holds(program, comprehension.elt, read)]
    if first is not None or not uses:
        opening, closing = "{}" if isinstance(comprehension, cst.SetComp) else "[]"
        alone = Replace(comprehension, (opening, comprehension.elt, closing))
        what = f"one element of the comprehension at line {line_number(program, comprehension)}"
        yield Edit(what, (alone, *(Replace(use, first or ()) for use in uses)), 8, weight(program, clause))

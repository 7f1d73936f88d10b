"""The failing call alone: the function that ended in the fault, called with the values that it was called with.

The shape is a long host program that launches nothing: from `main` down to the method that fails each layer makes
objects for the next, and no deletion gets past them. A watched run tells the functions of the traceback, and the values
that were seen last. These functions are offered, innermost first (without a traceback those seen last): each as a plain
function with what it reads at the top of the file, and its call with those values. What it takes from an object that
cannot be written down (`self.limit`, `item.values`) becomes the value in its place; of a method that calls others of
its object, the class stays, and the object gets these values. This is lifting, of a call in the place of a launch. A
program that may use a GPU is left alone: what was computed there would be lost.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import GlobalScope

from shrinkray_gpu.passes.host.frames import frames_of
from shrinkray_gpu.passes.host.observed import watchable
from shrinkray_gpu.reduction.edit import Change, Edit, Remove, Replace
from shrinkray_gpu.reduction.hazards import hazards
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.calls import all_parameters
from shrinkray_gpu.source.libraries import is_plain
from shrinkray_gpu.source.scoping import Binding, bindings
from shrinkray_gpu.source.tree import (
    ancestors,
    docstring,
    dotted_text,
    function,
    holds,
    once,
    source,
    statements,
    weight,
    within,
)

LAST = "last "
"""Stands before the text of the last of several values, see `runner/inside/watchers/constants.py`."""
MOST = 6
"""Functions offered. Without a traceback, what runs behind the fault (a `finally`, a report) is seen later than it."""
_QUIET = (cst.FunctionDef, cst.ClassDef, cst.Import, cst.ImportFrom)


def find(program: Program, values: Mapping[int, str]) -> Iterator[Edit]:
    if not is_plain(program) or len(program.regions) > 1:
        return
    run = _WatchedRun.of(program, values)
    called = frames_of(program, values) or [function(program, node) for node in reversed(list(run.seen))]
    distinct = [each for each in dict.fromkeys(called) if each is not None and each.asynchronous is None]
    calls = [call for each in distinct[:MOST] for call in _calls(run, each)]
    offered = [edit for call in calls if (edit := _alone(program, call)) is not None]
    yield from offered
    yield from (edit for call in calls if (edit := _prepared(program, call)) is not None)


@dataclass(frozen=True, eq=False)
class _WatchedRun:
    """What a run of the program saw."""

    program: Program
    seen: Mapping[cst.CSTNode, str]
    """Texts of values by the expressions that had them, in the order in which they were seen last."""
    known: Mapping[cst.CSTNode, str]
    """Those of them that are source text."""
    watched: frozenset[cst.CSTNode]

    @classmethod
    def of(cls, program: Program, values: Mapping[int, str]) -> _WatchedRun:
        nodes = watchable(program)
        seen: dict[cst.CSTNode, str] = {
            nodes[number]: text.removeprefix(LAST) for number, text in values.items() if number < len(nodes)
        }
        known = {node: text for node, text in seen.items() if _is_literal(text)}
        return cls(program, seen, known, frozenset[cst.CSTNode](nodes))


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return False
    return True


@dataclass(frozen=True, eq=False)
class _LastCall:
    """A call as statements, and what they read."""

    function: cst.FunctionDef
    text: str
    reads: frozenset[str]


# --- what a program has at its top


def _alone(program: Program, call: _LastCall) -> Edit | None:
    """The call with nothing else but what it reads."""
    return _in_the_end(program, f"the call of {call.function.name.value} alone", call, _needed(program, call.reads), 0)


def _prepared(program: Program, call: _LastCall) -> Edit | None:
    """With all that the module does before its last statement, too: that may prepare what the call reads."""
    others = [top for top in program.module.body[:-1] if not isinstance(top, _QUIET)]
    running = [
        top for top in others if any(not isinstance(each, _QUIET) and not _is_text(each) for each in _small(top))
    ]
    if not running:
        return None
    reads = {*call.reads, *(name for top in running for name in _names(program, top))}
    kept = {*_needed(program, reads), *running}
    return _in_the_end(program, f"the call of {call.function.name.value} in the end", call, kept, 1)


def _is_text(small: cst.CSTNode) -> bool:
    return isinstance(small, cst.Expr) and isinstance(small.value, (cst.SimpleString, cst.ConcatenatedString))


def _in_the_end(
    program: Program, what: str, call: _LastCall, kept: AbstractSet[cst.CSTNode], level: int
) -> Edit | None:
    """The call in the place of the last statement. None where what it runs may delete or write: the values of a path
    may be of different moments."""
    last = program.module.body[-1]
    if last in kept or any(holds(program, part, each) for part in (*kept, call.function) for each in _dangers(program)):
        return None
    gone = [each for each in program.module.body if each not in kept and each is not last]
    *front, end = _small(last)
    changes: list[Change] = [*(Remove(small) for each in gone for small in _small(each)), *map(Remove, front)]
    return Edit(what, (*changes, Replace(end, (call.text,))), level, 1 + weight(program, *gone))


@once
def _dangers(program: Program) -> list[cst.CSTNode]:
    return [each.root or each.call for each in hazards(program)]


def _small(top: cst.CSTNode) -> list[cst.CSTNode]:
    return list(top.body) if isinstance(top, cst.SimpleStatementLine) else [top]


def _names(program: Program, node: cst.CSTNode) -> Iterator[str]:
    return (name.value for name in within(program, node, cst.Name))


def _needed(program: Program, names: Iterable[str]) -> set[cst.CSTNode]:
    """The top-level statements that bind these names, and those that these read from."""
    makers = _makers(program)
    needed: set[cst.CSTNode] = {top for top in program.module.body if _is_future(top)}
    todo = list(names)
    while todo:
        for top in makers.get(todo.pop(), ()):
            if top not in needed:
                needed.add(top)
                todo.extend(_names(program, top))
    return needed


@once
def _makers(program: Program) -> Mapping[str, list[cst.CSTNode]]:
    """The top-level statements that bind a name."""
    tops = set[cst.CSTNode](program.module.body)
    found: dict[str, list[cst.CSTNode]] = {}
    for variable in bindings(program):
        if isinstance(variable.scope, GlobalScope):
            for place in variable.places:
                if (top := next((up for up in (place, *ancestors(program, place)) if up in tops), None)) is not None:
                    found.setdefault(variable.name, []).append(top)
    return found


def _is_future(top: cst.CSTNode) -> bool:
    first = _small(top)[0]
    return isinstance(first, cst.ImportFrom) and dotted_text(first.module) == "__future__"


# --- how it is called


def _calls(run: _WatchedRun, node: cst.FunctionDef) -> Iterator[_LastCall]:
    """The function as a plain one; where its object cannot be done without, as a method."""
    if (found := _as_function(run, node)) is not None:
        yield found
    elif (found := _as_method(run, node)) is not None:
        yield found


def _as_function(run: _WatchedRun, node: cst.FunctionDef) -> _LastCall | None:
    program = run.program
    swaps: dict[cst.CSTNode, str] = {}
    given: dict[str, str] = {}
    if within(program, node.body, cst.Global, cst.Nonlocal):
        return None
    for variable in _outer_variables(program, node):
        uses = _reads(program, variable, node)
        if not uses:
            continue
        is_parameter = any(isinstance(place, cst.Param) for place in variable.places)
        is_global = isinstance(variable.scope, GlobalScope)
        if (is_parameter or is_global) and (text := run.known.get(uses[0])) is not None:
            given[variable.name] = text
        elif not is_global:
            found = _swaps(run, uses, node)
            if found is None or is_parameter and len(variable.names) > 1:
                return None
            swaps.update(found)
    reads = {
        name.value
        for name in within(program, node.body, cst.Name)
        if name.value not in given and not any(holds(program, each, name) for each in swaps)
    }
    order = [param.name.value for param in all_parameters(node) if param.name.value in given]
    order += [name for name in given if name not in order]
    name = node.name.value
    while name in reads or name in vars(builtins):
        name += "_alone"
    changed = node.with_changes(
        name=cst.Name(name),
        params=cst.Parameters([cst.Param(cst.Name(each)) for each in order]),
        body=_without_docstring(node.body).visit(_Swap(swaps)),
        decorators=[],
        returns=None,
        leading_lines=[],
        lines_after_decorators=[],
    )
    call = f"{name}({', '.join(given[each] for each in order)})"
    text = f"{cst.Module([changed]).code}\n\n{_run_through(program, node, call)}"
    return _LastCall(node, text, frozenset(reads))


def _as_method(run: _WatchedRun, node: cst.FunctionDef) -> _LastCall | None:
    """Of an object that nothing but these values were put into."""
    program = run.program
    owner = program.parents.get(program.parents[node])
    parameters = all_parameters(node)
    if not isinstance(owner, cst.ClassDef) or owner not in program.module.body or node.decorators or not parameters:
        return None
    given: list[str] = []
    for param in parameters[1:]:
        variable = next((each for each in _outer_variables(program, node) if param in each.places), None)
        reads = _reads(program, variable, node) if variable is not None else []
        text = run.known.get(reads[0]) if reads else "None"
        if text is None:
            return None
        if reads or param.default is None:
            given.append(f"{param.name.value}={text}")
    holder, it = parameters[0].name.value, "it"
    attributes: dict[str, str] = {}
    for each, text in run.known.items():
        if isinstance(each, cst.Attribute) and isinstance(each.value, cst.Name) and each.value.value == holder:
            if holds(program, owner, each):
                attributes[each.attr.value] = text
    name = owner.name.value
    lines = [f"{it} = {name}.__new__({name})", *(f"{it}.{key} = {text}" for key, text in attributes.items())]
    lines.append(_run_through(program, node, f"{it}.{node.name.value}({', '.join(given)})"))
    return _LastCall(node, "\n".join(lines), frozenset({name}))


def _outer_variables(program: Program, node: cst.FunctionDef) -> Iterator[Binding]:
    """What the function is given: its parameters, what it reads of functions around it, and data of the module."""
    for variable in bindings(program):
        if isinstance(variable.scope, GlobalScope):
            if variable.is_data and not variable.is_import:
                yield variable
        elif any(_is_outer(program, place, node) for place in variable.places):
            yield variable


def _is_outer(program: Program, place: cst.CSTNode, node: cst.FunctionDef) -> bool:
    """Whether what is bound here is a parameter of the function, or belongs to one around it."""
    if isinstance(place, cst.Param):
        owner = next((up for up in ancestors(program, place) if isinstance(up, (cst.FunctionDef, cst.Lambda))), None)
        return isinstance(owner, cst.FunctionDef) and holds(program, owner, node)
    owner = function(program, place)
    return owner is not None and owner is not node and holds(program, owner, node)


def _reads(program: Program, variable: Binding, node: cst.FunctionDef) -> list[cst.Name]:
    """Where the function's body reads it, in the order of the text."""
    reads = [each for each in variable.reads if holds(program, node.body, each)]
    return sorted(reads, key=lambda each: program.spans[each])


def _swaps(run: _WatchedRun, reads: Iterable[cst.Name], node: cst.FunctionDef) -> dict[cst.CSTNode, str] | None:
    """A value in the place of each read, or of an expression around it. None where one has none. What the run never
    came to may be anything."""
    program = run.program
    texts = {source(program, each): text for each, text in run.known.items() if holds(program, node.body, each)}
    found: dict[cst.CSTNode, str] = {}
    for read in reads:
        for up in (read, *ancestors(program, read)):
            if isinstance(up, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
                if read in run.seen or read not in run.watched:
                    return None
                found[read] = "None"
                break
            text = run.known.get(up)
            if text is None and isinstance(up, cst.Attribute):
                text = texts.get(source(program, up))
            if text is not None:
                found[up] = text
                break
    return found


def _run_through(program: Program, node: cst.FunctionDef, call: str) -> str:
    """The call; of a generator, until it ends."""
    generates = any(function(program, each) is node for each in within(program, node.body, cst.Yield))
    return f"list({call})" if generates else call


def _without_docstring(body: cst.BaseSuite) -> cst.BaseSuite:
    if docstring(body) is None or len(statements(body)) < 2 or not isinstance(body, cst.IndentedBlock):
        return body
    return body.with_changes(body=body.body[1:])


class _Swap(cst.CSTTransformer):
    """Texts of values in the place of nodes."""

    def __init__(self, by: Mapping[cst.CSTNode, str]) -> None:
        super().__init__()
        self.by = by

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        text = self.by.get(original_node)
        if text is not None:
            return cst.parse_expression(f"({text})" if text.startswith("-") else text)
        updated: cst.CSTNode = super().on_leave(original_node, updated_node)  # type: ignore[assignment]
        return updated

"""How passes look at a Program's tree: nodes by kind, what is around a node, how deep and how heavy it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar

import libcst as cst

from shrinkray_gpu.reduction.program import Program

N = TypeVar("N", bound=cst.CSTNode)
T = TypeVar("T")

NO_VALUES = (
    cst.Annotation,
    cst.Decorator,
    cst.Del,
    cst.AssignTarget,
    cst.ImportFrom,
    cst.ImportAlias,
    cst.AsName,
    cst.NameItem,
    cst.MatchPattern,
)
"""Where an expression stands for what it names or binds, not for its value: no other one can stand there instead."""
_TOKEN = re.compile(r"\w+|[^\w\s]")


def once(work_out: Callable[[Program], T]) -> Callable[[Program], T]:
    """What is worked out about a Program is kept with it: every pass asks for the same again."""

    @wraps(work_out)
    def recall(program: Program) -> T:
        if work_out not in program.notes:
            program.notes[work_out] = work_out(program)
        known: T = program.notes[work_out]
        return known

    return recall


def every(program: Program, *kinds: type[N]) -> list[N]:
    """All nodes of these kinds, in the order of the text (an outer one before what it holds)."""
    known: dict[tuple[type, ...], list[N]] = _known(program)
    if kinds not in known:
        spans = program.spans
        placed = [node for node in reversed(program.layout.nodes(*kinds)) if node is not program.module]
        known[kinds] = sorted(placed, key=lambda node: (spans[node][0], -spans[node][1]))
    return [*known[kinds]]


@once
def _known(program: Program) -> dict[tuple[type, ...], list[Any]]:
    """What `every` has found."""
    return {}


def within(program: Program, outer: cst.CSTNode, *kinds: type[N]) -> list[N]:
    """Those nodes of these kinds that lie inside `outer` (or are it), in the order of the text."""
    children = program.layout.children  # libcst's own `children` makes the node anew
    found: list[N] = []
    stack: list[cst.CSTNode] = [outer]
    while stack:
        node = stack.pop()
        if isinstance(node, kinds):
            found.append(node)
        stack.extend(reversed(children[node] if node in children else node.children))
    return found


def ancestors(program: Program, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes around a node, innermost first."""
    return program.layout.above(node)


def holds(program: Program, outer: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether `outer` is the node or lies around it."""
    return outer is node or any(above is outer for above in ancestors(program, node))


def statement(program: Program, node: cst.CSTNode) -> cst.CSTNode:
    """The innermost statement that a node belongs to: a small one (`x = 1`) or a compound one whose header holds it."""
    if isinstance(node, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
        return node
    for above in ancestors(program, node):
        if isinstance(above, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
            return above
    return node


def line(program: Program, small: cst.CSTNode) -> cst.CSTNode:
    """The line that holds a small statement; a compound statement is its own line."""
    above = program.parents.get(small)
    return above if isinstance(above, cst.SimpleStatementLine) else small


def line_number(program: Program, node: cst.CSTNode) -> int:
    """Where a person finds the node, counted from 1."""
    return program.text.count("\n", 0, program.spans[node][0]) + 1


def function(program: Program, node: cst.CSTNode) -> cst.FunctionDef | None:
    """The function whose body (not header) a node is in."""
    below: cst.CSTNode = node
    for above in ancestors(program, node):
        if isinstance(above, cst.FunctionDef) and above.body is below:
            return above
        below = above
    return None


def depth(program: Program, node: cst.CSTNode) -> int:
    """How many blocks are around a node."""
    return sum(isinstance(above, cst.BaseSuite) for above in ancestors(program, node))


def expression_depth(program: Program, node: cst.CSTNode) -> int:
    """How many expressions are around a node."""
    return sum(isinstance(above, cst.BaseExpression) for above in ancestors(program, node))


def is_member(program: Program, node: cst.CSTNode) -> bool:
    """Whether a statement stands in the body of a class itself: a method, a field."""
    return isinstance(program.parents.get(program.parents[line(program, node)]), cst.ClassDef)


def in_class_body(program: Program, node: cst.CSTNode) -> bool:
    """Whether a statement belongs to a class, and to no function in it."""
    around = (above for above in ancestors(program, node) if isinstance(above, (cst.FunctionDef, cst.ClassDef)))
    return isinstance(next(around, None), cst.ClassDef)


def source(program: Program, node: cst.CSTNode) -> str:
    """The text of a node, without its decorators, own parentheses and trailing comma."""
    start, end = program.spans[node]
    return program.text[start:end]


def weight(program: Program, *nodes: cst.CSTNode) -> int:
    """About how many tokens these nodes are."""
    return sum(len(_TOKEN.findall(source(program, node))) for node in nodes if node in program.spans)


def dotted_text(node: cst.CSTNode | None) -> str:
    """`tl.static_range` of such a node, "" of anything that is no plain dotted name."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        front = dotted_text(node.value)
        return f"{front}.{node.attr.value}" if front else ""
    return ""


def root(node: cst.BaseExpression) -> cst.BaseExpression:
    """`torch` of `torch.cuda.Event`, `f()` of `f().x`."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return node


def statements(suite: cst.BaseSuite | cst.Module) -> list[cst.CSTNode]:
    """The small and compound statements directly in a block."""
    found: list[cst.CSTNode] = []
    for entry in suite.body:
        found += entry.body if isinstance(entry, cst.SimpleStatementLine) else (entry,)
    return found


def docstring(body: cst.BaseSuite | cst.Module) -> cst.Expr | None:
    """The docstring statement of a block, if it has one."""
    first = next(iter(statements(body)), None)
    if isinstance(first, cst.Expr) and isinstance(first.value, (cst.SimpleString, cst.ConcatenatedString)):
        return first
    return None


def docstrings(program: Program) -> list[cst.Expr]:
    """The docstring statements of the module, its functions and its classes."""
    functions = (function.body for function in every(program, cst.FunctionDef))
    classes = (defined.body for defined in every(program, cst.ClassDef))
    bodies: list[cst.Module | cst.BaseSuite] = [program.module, *functions, *classes]
    return [found for body in bodies if (found := docstring(body)) is not None]

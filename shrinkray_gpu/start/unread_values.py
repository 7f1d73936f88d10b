"""Values that a kernel computes and then overwrites, or never reads, where the program fails a check of its results.

To take such a computation away changes nothing, so each search would. But it may be what the bug is about: an
accumulator that the last step forgets, a scale that is loaded and not applied. Then the fix has nothing left to use. So
these statements are marked.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

from shrinkray_gpu.start.argument_slice import MARK, marked
from shrinkray_gpu.start.slicing import Slice
from shrinkray_gpu.start.statements import is_kernel

UNREAD = f"{MARK} (unread)"
_OF_TYPE = ("dtype", "shape", "type", "element_ty")
"""Attributes of a value that hang on its type alone."""
_Held: TypeAlias = Mapping[str, frozenset[ast.stmt]]
"""By variable, the statements that may have set it."""


def with_unread_kept(text: str) -> str:
    """The program's text, with marks at what its kernels compute for nothing; the text itself where that is nothing."""
    kernels = [each for each in ast.walk(ast.parse(text)) if is_kernel(each)]
    unread = {each: None for kernel in kernels for each in unread_in(kernel)}
    return marked(text, Slice([*unread], [], {}, []), UNREAD) if unread else text


def without_unread_marks(text: str) -> str:
    """The text for its reader, who did not ask for these marks."""
    return text.replace(UNREAD, "")


def unread_in(kernel: ast.FunctionDef) -> list[ast.stmt]:
    """The assignments whose value is overwritten, on some path, before another statement reads it; or is never read, or
    by such ones alone."""
    never: set[ast.stmt] = set()
    while True:
        flow = _Flow(never)
        flow.follow(kernel.body, {})
        if flow.written - flow.read <= never:
            return sorted(flow.overwritten | never, key=lambda each: each.lineno)
        never |= flow.written - flow.read


class _Flow:
    """Follows the statements of a kernel: each branch, and each loop twice. What the `idle` read does not count."""

    def __init__(self, idle: Collection[ast.stmt]) -> None:
        self.idle = idle
        self.written: set[ast.stmt] = set()
        self.read: set[ast.stmt] = set()
        """Assignments whose value another statement has read so far."""
        self.overwritten: set[ast.stmt] = set()

    def follow(self, body: Sequence[ast.stmt], held: _Held) -> _Held:
        for statement in body:
            held = self._step(statement, held)
        return held

    def _step(self, statement: ast.stmt, held: _Held) -> _Held:
        if isinstance(statement, ast.If):
            self._reads(statement.test, statement, held)
            return _either(self.follow(statement.body, held), self.follow(statement.orelse, held))
        if isinstance(statement, (ast.For, ast.While)):
            head = statement.iter if isinstance(statement, ast.For) else statement.test
            self._reads(head, statement, held)
            for _ in range(2):
                held = _either(held, self.follow(statement.body, held))
                self._reads(head, statement, held)
            return self.follow(statement.orelse, held)
        if isinstance(statement, ast.With):
            return self.follow(statement.body, held)
        for node in ast.iter_child_nodes(statement):
            self._reads(node, statement, held)
        own = frozenset(_loaded(statement))
        for name in _stored(statement):
            if name not in own and not isinstance(statement, ast.AugAssign):
                self.overwritten |= held.get(name, frozenset()) - self.read - {statement}
            self.written.add(statement)
            held = {**held, name: frozenset((statement,))}
        return held

    def _reads(self, node: ast.AST, statement: ast.stmt, held: _Held) -> None:
        if statement in self.idle:
            return
        names = {*_loaded(node), *(_stored(statement) if isinstance(statement, ast.AugAssign) else ())}
        self.read |= {each for name in names for each in held.get(name, ()) if each is not statement}


def _loaded(node: ast.AST) -> Iterator[str]:
    """The names whose values it reads: `gate.to(up.dtype)` has nothing of what was loaded as `up`."""
    if isinstance(node, ast.Attribute) and node.attr in _OF_TYPE:
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    for below in ast.iter_child_nodes(node):
        yield from _loaded(below)


def _stored(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        yield from (n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _either(one: _Held, other: _Held) -> _Held:
    return {name: one.get(name, frozenset()) | other.get(name, frozenset()) for name in {**one, **other}}

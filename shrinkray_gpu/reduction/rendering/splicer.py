"""The base of the renderer: which nodes hold changes, and the text around them, word for word.

A node without changes inside is a slice of the original text, so comments and layout survive and cost nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import libcst as cst

from shrinkray_gpu.reduction.edit import Change, Insert, Remove, Replace, Template, Unwrap, Within
from shrinkray_gpu.reduction.positions import Layout
from shrinkray_gpu.reduction.rendering.joining import join

Node: TypeAlias = cst.CSTNode
Cut: TypeAlias = tuple[int, int, str]
"""A stretch of the original text and what stands there instead."""

_CLAUSES = (cst.Else, cst.Finally, cst.ExceptHandler, cst.ExceptStarHandler, cst.MatchCase, cst.Decorator)
_VANISHING = (*_CLAUSES, cst.AsName, cst.Annotation, cst.CompIf, cst.From)
_STRINGS = tuple(
    getattr(cst, name)
    for name in ("FormattedString", "FormattedStringExpression", "TemplatedString", "TemplatedStringExpression")
    if hasattr(cst, name)  # t-strings came with libcst 1.8.3
)
_LINES = (*_CLAUSES, cst.Module, cst.BaseStatement, cst.BaseSuite, cst.EmptyLine)
"""Nodes whose text begins where a line begins."""


@dataclass(frozen=True)
class Sort:
    """What the type of a node says of it. Asked for each node, and isinstance is slow on libcst's abstract classes."""

    line: bool
    vanishes: bool
    statement: bool
    suite: bool
    expression: bool


@cache
def _sort_of_type(of: type[Node]) -> Sort:
    return Sort(
        line=issubclass(of, _LINES),
        vanishes=issubclass(of, _VANISHING),
        statement=issubclass(of, cst.BaseStatement),
        suite=issubclass(of, cst.BaseSuite),
        expression=issubclass(of, cst.BaseExpression) and of is not cst.StarredElement,
    )


def sort_of(node: Node) -> Sort:
    return _sort_of_type(type(node))


class Splicer(ABC):
    """One rendering, without what it knows of Python. `misfits` tells afterwards which owners' changes cannot stand
    beside the others."""

    def __init__(self, layout: Layout, changes: Iterable[tuple[int, Change]]) -> None:
        self.layout = layout
        self.misfits: set[int] = set()
        self._marked = "shrink: keep-" in layout.text
        self._removed: dict[Node, int] = {}
        self._replaced: dict[Node, tuple[int, Template]] = {}
        self._unwrapped: dict[Node, tuple[int, Unwrap]] = {}
        self._inserted: dict[Node, list[tuple[int, Insert]]] = {}
        self._within: dict[Node, list[tuple[int, Within]]] = {}
        self._dirty: set[Node] = set()  # nodes with a change in them
        self._changed_in: dict[Node, list[Node]] = {}  # their dirty children
        self._trace: list[int] = []  # the owners of the changes applied so far
        self._active: dict[object, int] = {}  # what templates are being written for, outermost first, and the owners
        self._old = self._new = ""  # the indentation to be rewritten, and as what
        self._templates = 0
        self._budget = 200
        for owner, change in changes:
            self._note(owner, change)
            self._budget += 4

    def _note(self, owner: int, change: Change) -> None:
        match change:
            case Remove(node):
                self._removed.setdefault(node, owner)
            case Replace(node, by):
                self._replaced.setdefault(node, (owner, by))
            case Unwrap(node):
                self._unwrapped.setdefault(node, (owner, change))
            case Insert(node):
                self._inserted.setdefault(node, []).append((owner, change))
            case Within():
                node = change.node
                self._within.setdefault(node, []).append((owner, change))
        up, parents = node, self.layout.parents
        while up not in self._dirty:
            self._dirty.add(up)
            above = parents.get(up)
            if above is None:
                return
            self._changed_in.setdefault(above, []).append(up)
            up = above

    def write(self, module: cst.Module) -> str:
        """The whole text."""
        return self._splice(module)

    def _slice(self, first: int, last: int, *, midline: bool = False) -> str:
        if self._old == self._new:
            return self.layout.text[first:last]
        return self.layout.reindent(first, last, self._old, self._new, midline=midline)

    def _verbatim(self, node: Node) -> str:
        return self._slice(*self.layout.outer[node], midline=not sort_of(node).line)

    @contextmanager
    def _shifted(self, old: str, new: str) -> Iterator[None]:
        before = self._old, self._new
        self._old, self._new = old, new
        yield
        self._old, self._new = before

    def _indent(self, node: Node) -> str:
        """The indentation that the line of this statement gets."""
        indent = self.layout.indent_of[node]
        if self._old != self._new and indent.startswith(self._old):
            return self._new + indent[len(self._old) :]
        return indent

    def _splice(self, node: Node, *, end: int | None = None, cuts: Sequence[Cut] = ()) -> str:
        """The text of a node with its changed children (and the cuts) put in."""
        at, last = self.layout.outer[node]
        last = last if end is None else end
        outer = self.layout.outer
        work: list[tuple[int, int, int, str | Node]] = [(a, 0, b, text) for a, b, text in cuts]
        for child in self._changed_in.get(node, ()):
            first, stop = outer[child]
            if first < last:
                work.append((first, 1, stop, child))
        if len(work) > 1:
            work.sort(key=lambda item: item[:2])
        out = ""
        glue = str.__add__ if isinstance(node, _STRINGS) else join
        midline = not sort_of(node).line
        for first, _, stop, what in work:
            if first < at:
                continue  # within a cut
            out = glue(out, self._slice(at, first, midline=midline))
            out = glue(out, what if isinstance(what, str) else self._emit(what))
            at = stop
        return glue(out, self._slice(at, last, midline=midline))

    @abstractmethod
    def _emit(self, node: Node) -> str:
        """Any node in its own place, with the changes in it."""

    def _unsupported(self, node: Node) -> None:
        """Nothing here can remove or replace this node: the edit that asks for it is dropped."""
        if node in self._removed:
            self.misfits.add(self._removed[node])
        if node in self._replaced:
            self.misfits.add(self._replaced[node][0])
        if node in self._unwrapped:
            self.misfits.add(self._unwrapped[node][0])
        self.misfits.update(owner for owner, _ in self._inserted.get(node, ()))

    def _blame(self, mark: int) -> None:
        """What was put in since the mark does not fit: the latest of the edits behind it goes."""
        if len(self._trace) > mark:
            self.misfits.add(max(self._trace[mark:]))

    @contextmanager
    def _applying(self, owner: int, change: object) -> Iterator[bool]:
        """Whether a change with a template can be written here: not within itself, and not without end. Templates that
        keep nodes from elsewhere can contain each other, or double with each level."""
        self._trace.append(owner)
        self._templates += 1
        if change in self._active or self._templates > self._budget:
            circle = list(self._active).index(change) if change in self._active else 0
            self.misfits.add(max([owner, *list(self._active.values())[circle:]]))
            yield False
            return
        self._active[change] = owner
        yield True
        del self._active[change]

    def _gone(self, node: Node | None) -> bool:
        if node is None or node not in self._removed:
            return False
        self._trace.append(self._removed[node])
        return True

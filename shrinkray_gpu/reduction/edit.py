"""Edits: atomic changes to named syntax nodes. Any subset of a pass's Edits can be rendered, and parses.

A change names libcst nodes of the Program it was made for, never text offsets: what a change becomes depends on the
other changes of the subset (the `pass` of an emptied block, commas, parentheses), and one renderer knows that.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeAlias

import libcst as cst

from shrinkray_gpu.reduction.native.literal import Literal
from shrinkray_gpu.reduction.native.native_change import NativeChange

Template: TypeAlias = tuple["str | cst.CSTNode", ...]
"""Text and kept nodes in order. A kept node is rendered with the changes inside it, and gets parentheses if its new
place needs them. A bare string is Python source of an expression (or of a statement, where it replaces one)."""


@dataclass(frozen=True, eq=False)
class Remove:
    """Drop a statement, a clause (`else`, `except`, `finally`, `case`) or a member of a list (argument, parameter,
    element, decorator, base class, import name, with-item, assignment target, annotation, `as` name, comprehension
    clause), or a part that its place can do without (what is returned, yielded or raised, a default, a guard).
    A compound statement whose block is emptied gets `pass`; an import without names, a `with` without items, a `try`
    without handlers vanish or are unwrapped.
    An `elif` is the If in the `orelse` of another: removing it takes that arm alone, and so does removing the body (the
    suite) of any If. Removing the first If of a chain takes the whole chain."""

    node: cst.CSTNode


@dataclass(frozen=True, eq=False)
class Replace:
    """Put `by` in the place of an expression, a parameter, an argument or a statement. Where the text cannot stand (a
    literal that is assigned to, a quote within an f-string) the whole edit is dropped, see `effective`."""

    node: cst.CSTNode
    by: Template


@dataclass(frozen=True, eq=False)
class Unwrap:
    """Put the statements of the kept blocks in the place of a compound statement, dedented; `before` comes first.
    `keep` holds suites (IndentedBlock or SimpleStatementSuite) of the statement, in order, also of its nested `elif`s.
    """

    node: cst.CSTNode
    keep: tuple[cst.BaseSuite, ...]
    before: tuple[Template, ...] = ()


@dataclass(frozen=True, eq=False)
class Insert:
    """Put statements (each one logical line or a whole compound statement, written from column 0) before a statement.
    They are put even if that statement itself goes."""

    before: cst.CSTNode
    statements: tuple[Template, ...]


@dataclass(frozen=True, eq=False)
class Within:
    """Change the CUDA C++ source that a string literal holds. Any number of these go together in one literal."""

    literal: Literal
    change: NativeChange

    @property
    def node(self) -> cst.CSTNode:
        return self.literal.node


Change: TypeAlias = Remove | Replace | Unwrap | Insert | Within


@dataclass(frozen=True, eq=False)
class Edit:
    """One atomic step of a pass: all of its changes or none."""

    what: str
    """A few words for the log: `remove function timing`."""
    changes: tuple[Change, ...]
    level: int = 0
    """Levels of one pass are searched in ascending order (outer blocks before inner ones)."""
    weight: int = 1
    """About how many tokens this takes away; the search prefers heavy edits."""
    rivals: Hashable = None
    """Of the edits that have the same one here, one at most is made."""

"""What the text of a Template means: its holes, how tightly it binds, where its lines begin.

A Template mixes source text with kept nodes. The text around the holes is parsed once (and remembered), with a name in
the place of each kept node, so that holes and whole get parentheses by the same table as everything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import libcst as cst

from shrinkray_gpu.reduction.edit import Template
from shrinkray_gpu.reduction.positions import lay_out
from shrinkray_gpu.reduction.rendering.slots import (
    ATOM,
    NUMBER,
    YIELD,
    Slot,
    is_dotted,
    is_name,
    is_single_target,
    is_target,
    level,
    slot,
)

Skeleton: TypeAlias = "tuple[str | None, ...]"
"""A Template with None for its kept nodes."""


@dataclass(frozen=True)
class Hole:
    """Where a kept node goes. `whole` if it is a statement of its own."""

    slot: Slot
    whole: bool = False


@dataclass(frozen=True)
class Margin:
    """Where a logical line begins, indented by this much within the template."""

    indent: str


Part: TypeAlias = "str | Hole | Margin"


@dataclass(frozen=True)
class Shape:
    """A parsed skeleton. Holes come in the order of the template."""

    parts: tuple[Part, ...]
    level: int = ATOM
    name: bool = False
    dotted: bool = False
    single: bool = False
    target: bool = False
    one_hole: bool = False
    lines: bool = False
    """Needs lines of its own: a compound statement, or several statements."""


def skeleton(template: Template) -> Skeleton:
    """The text of a template alone."""
    return tuple(part if isinstance(part, str) else None for part in template)


@lru_cache(maxsize=4096)
def expression_shape(parts: Skeleton) -> Shape:
    """A template that replaces an expression or a member of a list. What is no expression (`x=1` for an argument, `*a`
    for an element) is taken as it is."""
    if parts == (None,):
        return Shape((Hole(Slot()),), one_hole=True)
    name, source, begins = _filled(parts)
    for text in (source.strip(), f"({source}\n)", re.sub(rf"\b{name}\b", f"({name})", source).strip()):
        try:
            node = cst.parse_expression(text)
        except cst.ParserSyntaxError:
            continue
        own = text[:1] == "(" and text[-2:] == "\n)"
        bare = node.with_changes(lpar=node.lpar[1:], rpar=node.rpar[1:]) if own else node
        slots = _slots_of(node, name)
        if own and isinstance(node, cst.Name) and node.value == name:
            slots = [Slot()]
        if len(slots) != len(begins):
            break
        return Shape(
            _cut(parts, iter([Hole(found) for found in slots]).__next__),
            level=level(bare),
            name=is_name(bare),
            dotted=is_dotted(bare),
            single=is_single_target(bare),
            target=is_target(bare),
        )
    return Shape(_cut(parts, lambda: Hole(Slot(NUMBER))))


@lru_cache(maxsize=4096)
def statement_shape(parts: Skeleton) -> Shape:
    """A template that replaces a statement, or is put before one."""
    if parts == (None,):
        return Shape((Hole(Slot(level=YIELD), whole=True),), one_hole=True)
    name, source, begins = _filled(parts)
    source = source.rstrip() + "\n"
    try:
        module = cst.parse_module(source)
    except cst.ParserSyntaxError:
        return _unparsed(parts)
    layout = lay_out(module)
    holes: dict[int, Hole] = {}
    for node in layout.outer:
        if isinstance(node, cst.Name) and node.value == name:
            up = layout.parents[node]
            line = layout.parents.get(up)
            whole = isinstance(up, cst.Expr) and isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
            holes[layout.inner[node][0]] = Hole(slot(node, layout.parents), whole)
    if len(holes) != len(begins):
        return _unparsed(parts)
    lone = len(module.body) == 1 and isinstance(module.body[0], cst.SimpleStatementLine)
    cuts: list[tuple[int, int, Part]] = [(at, at + len(name), hole) for at, hole in holes.items()]
    if not (lone and not module.header):
        margins = zip(layout.indent_starts, layout.indent_ends, strict=True)
        cuts += [(a, b, Margin(source[a:b])) for a, b in margins if source[b : b + 1] != "\n"]
    out: list[Part] = []
    at = 0
    for first, last, part in sorted(cuts, key=lambda cut: (cut[0], cut[1])):
        out += [source[at:first], part]
        at = last
    out.append(source[at:])
    if lone and not module.header:
        out[-1] = str(out[-1]).rstrip("\n")
    return Shape(tuple(part for part in out if part != ""), lines=not (lone and not module.header))


def _filled(parts: Skeleton) -> tuple[str, str, list[int]]:
    """A name that stands for the holes, the text with it, and where the holes begin."""
    text = "".join(part or "" for part in parts)
    name = "_hole_"
    while name in text:
        name += "_"
    begins: list[int] = []
    out = ""
    for part in parts:
        if part is None:
            begins.append(len(out))
        out += name if part is None else part
    return name, out, begins


def _slots_of(node: cst.BaseExpression, name: str) -> list[Slot]:
    """The places of the holes in an expression, in the order of the text."""
    layout = lay_out(cst.Module([cst.SimpleStatementLine([cst.Expr(node)])]))
    found = [n for n in layout.outer if isinstance(n, cst.Name) and n.value == name]
    return [slot(n, layout.parents) for n in sorted(found, key=lambda n: layout.inner[n])]


def _cut(parts: Skeleton, hole: Callable[[], Hole]) -> tuple[Part, ...]:
    out: list[Part] = [hole() if part is None else part for part in parts]
    if isinstance(out[0], str):
        out[0] = out[0].lstrip()
    if isinstance(out[-1], str):
        out[-1] = out[-1].rstrip()
    return tuple(part for part in out if part != "")


def _unparsed(parts: Skeleton) -> Shape:
    """Text that libcst does not parse by itself goes in as it is; the candidate will not parse either, and says so."""
    return Shape(_cut(parts, lambda: Hole(Slot(NUMBER))))

"""A string literal that holds CUDA C++: where each character of the source stands in the Python text.

That map is the whole of the escape rule on the way in: raw or not, with quotes of one sort or the other, with fields
where it is an f-string. What is not changed is copied as it is written, escapes and all; only new text is escaped.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from shrinkray_gpu.reduction.native.code import is_code
from shrinkray_gpu.reduction.native.native_change import NativeChange
from shrinkray_gpu.reduction.native.native_tree import Tree, parse
from shrinkray_gpu.reduction.native.native_writer import write
from shrinkray_gpu.reduction.positions import Layout

_ESCAPE = re.compile(r"\\(?:\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|.)", re.DOTALL)


@dataclass(frozen=True, eq=False)
class Literal:
    """One literal. `places[i]` is where character i of `source` begins within `written`; one more for the end."""

    node: cst.BaseExpression
    written: str
    """As the Python text has it, prefix and quotes included."""
    source: str
    places: tuple[int, ...]
    raw: bool
    quote: str
    fields: bool
    """An f-string: braces are doubled. Each field is one name in the source."""
    grammar: Callable[[str], Tree] = parse

    @cached_property
    def tree(self) -> Tree:
        return self.grammar(self.source)

    def rewritten(self, changes: Iterable[tuple[int, NativeChange]]) -> tuple[str, set[int]]:
        """The literal with the changes made, and the owners of those that cannot be."""
        pieces, misfits = write(self.tree, changes)
        head, tail = self.written[: self.places[0]], self.written[self.places[-1] :]
        body, last = "", ""
        for piece in pieces:
            text = self._kept(piece) if isinstance(piece, tuple) else self._escaped(piece)
            if text is None:
                return self.written, {owner for owner, _ in changes}
            body += text
            last = text or last
        if self.raw and body.endswith("\\"):
            return self.written, {owner for owner, _ in changes}
        if len(self.quote) == 3 and body.endswith(self.quote[0]) and not body.endswith("\\" + self.quote[0]):
            body += "\n"
        return head + body + tail, misfits

    def _kept(self, piece: tuple[int, int]) -> str:
        return self.written[self.places[piece[0]] : self.places[piece[1]]]

    def _escaped(self, text: str) -> str | None:
        """New text as the literal must have it; None where a raw one cannot."""
        for name in _FIELD_NAME.findall(text) if self.fields else ():
            if name not in self.source:
                return None
        if self.raw:
            if self.quote in text or (len(self.quote) == 1 and "\n" in text):
                return None
        else:
            text = text.replace("\\", "\\\\")
            text = text.replace(self.quote, "".join("\\" + letter for letter in self.quote))
            if len(self.quote) == 1:
                text = text.replace("\n", "\\n")
        if self.fields:
            text = text.replace("{", "{{").replace("}", "}}")
            text = _FIELD_NAME.sub(lambda found: self._field(found.group()), text)
        return text

    def _field(self, name: str) -> str:
        at = self.source.index(name)
        return self.written[self.places[at] : self.places[at + len(name)]]


_FIELD_NAME = re.compile(r"shrink_field_\d+_")


def literals(nodes: Iterable[cst.CSTNode], layout: Layout) -> Iterator[Literal]:
    """Those of the nodes that are string literals with C++ in them."""
    inside: set[cst.CSTNode] = set()
    for node in nodes:
        if isinstance(node, cst.ConcatenatedString):
            inside.update((node.left, node.right))  # a source in pieces: no piece is one
        elif node in inside:
            continue
        elif isinstance(node, cst.SimpleString):
            if "b" not in node.prefix.lower() and (found := _simple(node)) is not None:
                yield found
        elif isinstance(node, cst.FormattedString) and (found := _formatted(node, layout)) is not None:
            yield found


def _simple(node: cst.SimpleString) -> Literal | None:
    written = node.value
    try:
        value = ast.literal_eval(written)
    except (SyntaxError, ValueError):
        return None
    if not is_code(value):
        return None
    raw, quote = "r" in node.prefix.lower(), node.quote
    begin = len(node.prefix) + len(quote)
    source, places = _decoded(written[begin : len(written) - len(quote)], begin, raw=raw)
    return Literal(node, written, source, places, raw, quote, False) if source == value else None


def _formatted(node: cst.FormattedString, layout: Layout) -> Literal | None:
    begin, end = layout.outer[node]
    if node.lpar:
        return None
    written = layout.text[begin:end]
    quote, raw = node.end, "r" in node.prefix.lower()
    source = ""
    places: list[int] = []
    for number, part in enumerate(node.parts):
        first, last = (place - begin for place in layout.outer[part])
        if isinstance(part, cst.FormattedStringText):
            text, found = _decoded(written[first:last], first, raw=raw, doubled=True)
            source += text
            places += found[:-1]
        else:
            name = f"shrink_field_{number}_"
            source += name
            places += [first] * len(name)
    places.append(len(written) - len(quote))
    return Literal(node, written, source, tuple(places), raw, quote, True) if is_code(source) else None


def _decoded(body: str, begin: int, *, raw: bool, doubled: bool = False) -> tuple[str, tuple[int, ...]]:
    """The characters that the body of a literal stands for, and where each one is written."""
    out: list[str] = []
    places: list[int] = []
    at = 0
    while at < len(body):
        step, letter = 1, body[at]
        if letter == "\\" and not raw:
            found = _ESCAPE.match(body, at)
            step = found.end() - at if found else 1
            stretch = body[at : at + step]
            letter = ast.literal_eval(f'"""{stretch}"""') if stretch != '\\"' else '"'
        elif doubled and body[at : at + 2] in ("{{", "}}"):
            step = 2
        if letter:  # an escaped newline stands for nothing
            out += letter
            places += [begin + at] * len(letter)
        at += step
    return "".join(out), (*places, begin + len(body))

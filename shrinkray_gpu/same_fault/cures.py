"""Cures: one small edit of a kernel that ends an error of Triton's front end, tried at each place that it fits.

Such an error names two types or two shapes that do not go together, and says nothing of where the wrong one was made.
`x + 0.0` for `x + offsets.to(tl.float32)` keeps each word of it. So what mends the original must mend each step: the
edit of the same kind, at whichever place of the step is left, after which the program runs to a healthy end.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import libcst as cst

from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.tree import dotted_text

MOST = 12
"""Places at which an edit is tried."""
REDUCTIONS = frozenset({"sum", "max", "min", "argmax", "argmin", "cumsum", "cumprod", "reduce", "xor_sum", "sort"})
MADE = frozenset({"zeros", "full", "zeros_like"})
_DTYPE = re.compile(r"(?:bfloat16|float\d\w*|u?int\d+)")


@dataclass(frozen=True)
class Cured:
    """A program after the edit, and what the edit was."""

    text: str
    edit: str


@dataclass(frozen=True)
class Cure:
    """One kind of edit. `offers`: for a node of a program what may stand there instead, as text."""

    name: str
    offers: Callable[[cst.CSTNode, Callable[[cst.CSTNode], str]], Iterator[str]]

    def apply(self, text: str) -> Iterator[Cured]:
        """The program after each edit of this kind, the last place of the program first: where an error shows, what
        made it is not far before."""
        program = Program.from_text(text)
        return itertools.islice(self._edits(program), MOST)

    def _edits(self, program: Program) -> Iterator[Cured]:
        def code(node: cst.CSTNode) -> str:
            first, last = program.spans[node]
            return program.text[first:last]

        nodes = sorted(program.layout.nodes(cst.Call, cst.Subscript), key=lambda node: -program.spans[node][1])
        for node in nodes:
            first, last = program.spans[node]
            for other in self.offers(node, code):
                yield Cured(program.text[:first] + other + program.text[last:], f"{other} for {code(node)}")


def _without_cast(node: cst.CSTNode, code: Callable[[cst.CSTNode], str]) -> Iterator[str]:
    if isinstance(node, cst.Call) and node.args:
        if isinstance(node.func, cst.Attribute) and node.func.attr.value == "to":
            yield code(node.func.value)
        elif dotted_text(node.func).endswith(".cast"):
            yield code(node.args[0].value)


def _other_expansion(node: cst.CSTNode, code: Callable[[cst.CSTNode], str]) -> Iterator[str]:
    if isinstance(node, cst.Subscript) and len(node.slice) == 2:
        one, other = (code(each.slice) for each in node.slice)
        if sorted((one, other)) == [":", "None"]:
            yield f"{code(node.value)}[{other}, {one}]"


def _other_axis(node: cst.CSTNode, code: Callable[[cst.CSTNode], str]) -> Iterator[str]:
    if not (isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute)):
        return
    if node.func.attr.value in REDUCTIONS:
        for arg in node.args:
            if code(arg.value) in ("0", "1") and (arg.keyword is None or arg.keyword.value in ("axis", "dim")):
                yield _with(node, arg.value, str(1 - int(code(arg.value))), code)


def _other_type(node: cst.CSTNode, code: Callable[[cst.CSTNode], str]) -> Iterator[str]:
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in MADE:
        for arg in node.args:
            dtype = arg.value
            if isinstance(dtype, cst.Attribute) and _DTYPE.fullmatch(dtype.attr.value):
                for other in ("float32", "int32", "int64", "float16"):
                    if other != dtype.attr.value:
                        yield _with(node, dtype, f"{code(dtype.value)}.{other}", code)


def _other_extent(node: cst.CSTNode, code: Callable[[cst.CSTNode], str]) -> Iterator[str]:
    if isinstance(node, cst.Call) and dotted_text(node.func).endswith("arange") and len(node.args) == 2:
        end = node.args[1].value
        if isinstance(end, cst.BinaryOperation):
            yield _with(node, end, code(end.left), code)
        elif isinstance(end, cst.Integer):
            yield _with(node, end, str(int(end.value) - 1), code)


def _with(node: cst.Call, part: cst.CSTNode, other: str, code: Callable[[cst.CSTNode], str]) -> str:
    """The call with another text for one of its arguments."""
    words = [
        (f"{arg.keyword.value}=" if arg.keyword else arg.star) + (other if arg.value is part else code(arg.value))
        for arg in node.args
    ]
    return f"{code(node.func)}({', '.join(words)})"


CURES = (
    Cure("without a cast", _without_cast),
    Cure("expanded the other way", _other_expansion),
    Cure("along the other axis", _other_axis),
    Cure("of another type", _other_type),
    Cure("of another extent", _other_extent),
)

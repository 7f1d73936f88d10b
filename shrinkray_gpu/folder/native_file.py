"""A file of CUDA C++, as the passes on CUDA C++ read it: they know sources that stand in a literal of a program."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cached_property

import libcst as cst

from shrinkray_gpu.reduction.edit import Edit, Within
from shrinkray_gpu.reduction.native.literal import Literal
from shrinkray_gpu.reduction.program import Program, Region
from shrinkray_gpu.reduction.rendering.render import effective

_HOLDER = "source = ''\n"
_NOWHERE = "\0\0\0"
"""A quote that no source holds."""


class NativeFile(Program):
    """A program that is one literal, whose text is the file's."""

    @property
    def source(self) -> str:
        return self.regions[1].text

    @classmethod
    def reading(cls, source: str, elsewhere: Collection[str]) -> NativeFile:
        """`elsewhere`: words of the other files, whose definitions may be called from there."""
        words = sorted({"main", *re.findall(r"\w+", source)} & {"main", *elsewhere})
        return cls((Region("<holder>", f"{_HOLDER}# {' '.join(words)}\n"), Region("<source>", source, "cuda")))

    @cached_property
    def literals(self) -> tuple[Literal, ...]:
        statement = cst.ensure_type(self.module.body[0], cst.SimpleStatementLine)
        node = cst.ensure_type(statement.body[0], cst.Assign).value
        places = tuple(range(len(self.source) + 1))
        return (Literal(node, self.source, self.source, places, True, _NOWHERE, False),)

    def rendered(self, edits: Sequence[Edit]) -> str:
        """The file with these edits made, but for those that conflict."""
        (literal,) = self.literals
        left = effective(self, edits)
        changes = [
            (number, each.change)
            for number, edit in enumerate(left)
            for each in edit.changes
            if isinstance(each, Within)
        ]
        return literal.rewritten(changes)[0]

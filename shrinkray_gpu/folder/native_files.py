"""The files of CUDA C++ in a folder, as the passes on CUDA C++ read them: they know sources in literals of a program.

All of them are one program, so a definition goes with its declaration in a header and with its calls in other files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import libcst as cst

from shrinkray_gpu.reduction.edit import Edit, Within
from shrinkray_gpu.reduction.native.literal import Literal
from shrinkray_gpu.reduction.native.native_change import NativeChange
from shrinkray_gpu.reduction.program import Program, Region
from shrinkray_gpu.reduction.rendering.render import effective

_NOWHERE = "\0\0\0"
"""A quote that no source holds."""


class NativeFiles(Program):
    """A program of as many literals as there are files, whose texts are theirs."""

    @classmethod
    def reading(cls, texts: Mapping[str, str], elsewhere: Iterable[str]) -> NativeFiles:
        """`elsewhere`: texts in other languages, which may name what these define."""
        inside = {word for text in texts.values() for word in re.findall(r"\w+", text)}
        named = {"main"}.union(*(re.findall(r"\w+", text) for text in elsewhere)) & inside
        holder = "source = ''\n" * len(texts) + f"# {' '.join(sorted(named))}\n"
        return cls((Region("<holder>", holder), *(Region(path, text, "cuda") for path, text in texts.items())))

    @cached_property
    def literals(self) -> tuple[Literal, ...]:
        statements = (cst.ensure_type(line, cst.SimpleStatementLine).body[0] for line in self.module.body)
        nodes = (cst.ensure_type(each, cst.Assign).value for each in statements)
        return tuple(
            Literal(node, each.text, each.text, tuple(range(len(each.text) + 1)), True, _NOWHERE, False)
            for node, each in zip(nodes, self.regions[1:])
        )

    def rendered(self, edits: Sequence[Edit]) -> dict[str, str]:
        """The files that these edits change, but for those that conflict."""
        changes: dict[Literal, list[tuple[int, NativeChange]]] = {}
        for number, edit in enumerate(effective(self, edits)):
            for each in edit.changes:
                if isinstance(each, Within):
                    changes.setdefault(each.literal, []).append((number, each.change))
        path = {literal.node: region.path for literal, region in zip(self.literals, self.regions[1:])}
        return {path[literal.node]: literal.rewritten(found)[0] for literal, found in changes.items()}

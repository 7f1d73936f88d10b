"""Layouts: none at all, or one for another of as many dimensions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from shrinkray_gpu.intermediate.edits.shapes import mapped
from shrinkray_gpu.intermediate.generic_text import split
from shrinkray_gpu.intermediate.model import IrModule, every, types
from shrinkray_gpu.intermediate.search import Family

_TENSOR = re.compile(r"\btensor<")
_PLAIN = ("builtin", "tt", "arith", "math", "scf", "cf", "ub", "tensor", "llvm")
"""Dialects whose operations take tensors without layouts; those of GPUs do not."""


def find(module: IrModule) -> Iterator[tuple[str, str]]:
    """A layout, and what takes its place; empty: all layouts go."""
    found: dict[str, int] = {}

    def noted(shape: str, layout: str) -> str:
        found[layout] = shape.count("x")
        return layout

    for kind in types(module).values():
        _rewritten(kind, noted)
    names = [each for each in found if each]
    for name in names:
        yield from ((name, other) for other in names if other != name and found[other] == found[name])
    if names and all(each.name.partition(".")[0] in _PLAIN for each in every(module.top)):
        yield "", ""


def apply(module: IrModule, chosen: Sequence[tuple[str, str]]) -> IrModule:
    ((name, other),) = chosen

    def instead(shape: str, layout: str) -> str:
        return other if not name or layout == name else layout

    return mapped(module, lambda text: _rewritten(text, instead))


def _rewritten(text: str, instead: Callable[[str, str], str]) -> str:
    """The text with another layout in each tensor's type: `instead` of its shape and its layout."""
    parts, at = [], 0
    while found := _TENSOR.search(text, at):
        end = _close(text, found.end())
        inner = split(text[found.end() : end])
        layout = instead(inner[0], inner[1] if len(inner) > 1 else "")
        parts += [text[at : found.end()], inner[0], f", {layout}" if layout else "", ">"]
        at = end + 1
    return "".join([*parts, text[at:]])


def _close(text: str, at: int) -> int:
    depth = 1
    while depth and at < len(text):
        depth += {"<": 1, ">": -1}.get(text[at], 0) if text[at - 1 : at + 1] != "->" else 0
        at += 1
    return at - 1


FAMILY = Family("layouts", find, apply, alone=True)

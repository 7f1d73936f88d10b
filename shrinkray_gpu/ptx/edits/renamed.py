"""Registers are counted from 1, in the order of the text: `%r4145` becomes `%r1`. So are the parameters of our own."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from shrinkray_gpu.ptx.edits.statements import NEW
from shrinkray_gpu.ptx.operands import NAME
from shrinkray_gpu.ptx.ptx_text import CODE, FUNCTION, REGISTERS, PtxModule

_NUMBERED = re.compile(r"(%[A-Za-z]+)(\d+)")
_MANY = re.compile(r"(%[A-Za-z]+)\s*<\s*\d+\s*>")


def find(module: PtxModule) -> Iterator[str]:
    """The beginnings of names that a declaration counts from 0, as `%r`."""
    declared = (name for each in module if each.kind == REGISTERS for name in _MANY.findall(each.text))
    yield from dict.fromkeys(declared)


def apply(module: PtxModule, chosen: Sequence[str]) -> PtxModule:
    instead: dict[str, str] = {}
    count: dict[str, int] = defaultdict(int)
    for each in module:
        if each.kind == CODE:
            for name in NAME.findall(each.text):
                found = _NUMBERED.fullmatch(name)
                if found is not None and found[1] in chosen and name not in instead:
                    count[found[1]] += 1
                    instead[name] = f"{found[1]}{count[found[1]]}"
    instead |= {NEW + name.lstrip("%"): NEW + other.lstrip("%") for name, other in [*instead.items()]}

    def renamed(text: str) -> str:
        return NAME.sub(lambda found: instead.get(found[0], found[0]), text)

    made = [
        replace(each, text=renamed(each.text))
        if each.kind == CODE
        else replace(each, parameters=tuple(map(renamed, each.parameters)))
        if each.kind == FUNCTION
        else each
        for each in module
    ]
    return module.with_statements(made)

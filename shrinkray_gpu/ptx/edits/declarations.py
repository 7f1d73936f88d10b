"""Registers that nobody uses are not declared, and no more of them than are used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from shrinkray_gpu.intermediate.search import Family
from shrinkray_gpu.ptx.operands import names
from shrinkray_gpu.ptx.ptx_text import CODE, REGISTERS, PtxModule

_LIST = re.compile(r"(\.reg(?: \.\w+)+) (.*)")
_MANY = re.compile(r"([%$\w]+?)\s*<\s*(\d+)\s*>")


def find(module: PtxModule) -> Iterator[int]:
    yield from (each.key for each in module if each.kind == REGISTERS)


def apply(module: PtxModule, chosen: Sequence[int]) -> PtxModule:
    used = frozenset().union(*(names(each) for each in module if each.kind == CODE))
    made = []
    for each in module:
        found = _LIST.fullmatch(each.text) if each.key in chosen else None
        if found is None:
            made.append(each)
            continue
        left = [part for one in found[2].split(",") if (part := _used(one.strip(), used))]
        if left:
            made.append(replace(each, text=f"{found[1]} {', '.join(left)}"))
    return module.with_statements(made)


def _used(declared: str, used: frozenset[str]) -> str:
    many = _MANY.fullmatch(declared)
    if many is None:
        return declared if declared in used else ""
    numbers = [int(name[len(many[1]) :]) for name in used if re.fullmatch(rf"{re.escape(many[1])}\d+", name)]
    return f"{many[1]}<{max(numbers) + 1}>" if numbers else ""


FAMILY = Family("declarations", find, apply)

"""Registers: one for two of a type, no declaration of what nobody uses, and names that are counted from 1."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from shrinkray_gpu.intermediate.search import Family
from shrinkray_gpu.ptx.edits.slices import without_unread
from shrinkray_gpu.ptx.edits.statements import NEW
from shrinkray_gpu.ptx.operands import NAME, access, has_result, names, registers, split
from shrinkray_gpu.ptx.ptx_text import CODE, FUNCTION, REGISTERS, PtxModule, PtxStatement

_LIST = re.compile(r"(\.reg(?: \.\w+)+) (.*)")
_DECLARED = re.compile(r"([%$\w]+?)\s*<\s*(\d+)\s*>")
_NUMBERED = re.compile(r"(%[A-Za-z]+)(\d+)")
_MANY = re.compile(r"(%[A-Za-z]+)\s*<\s*\d+\s*>")


def find_twins(module: PtxModule) -> Iterator[tuple[int, str]]:
    """Registers that are read, each with the key of its function. Immediates stay as they are."""
    kinds = registers(module)
    reads: dict[tuple[int, str], None] = {}
    for each in module:
        function = module.function_of.get(each.key)
        if each.kind == CODE and function is not None:
            named = (name for name in sorted(access(each.text).reads) if (each.key, name) in kinds)
            reads |= dict.fromkeys((function.key, name) for name in named)
    yield from reads


def merge(module: PtxModule, chosen: Sequence[tuple[int, str]]) -> PtxModule:
    """Each of the chosen becomes the register of its type that was written first, of those that are not chosen."""
    kinds, merged = registers(module), set(chosen)
    written: dict[tuple[int, str], str] = {}
    """By function and type."""
    made = []
    for each in module:
        function = module.function_of.get(each.key)
        if each.kind != CODE or function is None:
            made.append(each)
            continue
        instead = {
            name: written[function.key, kinds[each.key, name]]
            for name in access(each.text).reads
            if (function.key, name) in merged and (function.key, kinds.get((each.key, name), "")) in written
        }
        made.append(_with(each, instead))
        for name in sorted(access(each.text).writes):
            if (each.key, name) in kinds and (function.key, name) not in merged:
                written.setdefault((function.key, kinds[each.key, name]), name)
    return without_unread(module, module.with_statements(made))


def _with(statement: PtxStatement, instead: Mapping[str, str]) -> PtxStatement:
    if not instead:
        return statement
    guard, opcode, operands = split(statement.text)

    kept = 1 if has_result(opcode, operands) else 0
    operands = (*operands[:kept], *(_renamed(each, instead) for each in operands[kept:]))
    text = f"{f'{_renamed(guard, instead)} ' if guard else ''}{opcode} {', '.join(operands)}"
    return replace(statement, text=text.strip())


def find_declarations(module: PtxModule) -> Iterator[int]:
    """Registers that nobody uses are not declared, and no more of them than are used."""
    yield from (each.key for each in module if each.kind == REGISTERS)


def declare_used(module: PtxModule, chosen: Sequence[int]) -> PtxModule:
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
    many = _DECLARED.fullmatch(declared)
    if many is None:
        return declared if declared in used else ""
    numbers = [int(name[len(many[1]) :]) for name in used if re.fullmatch(rf"{re.escape(many[1])}\d+", name)]
    return f"{many[1]}<{max(numbers) + 1}>" if numbers else ""


def find_numbered(module: PtxModule) -> Iterator[str]:
    """The beginnings of names that a declaration counts from 0, as `%r`."""
    declared = (name for each in module if each.kind == REGISTERS for name in _MANY.findall(each.text))
    yield from dict.fromkeys(declared)


def renumber(module: PtxModule, chosen: Sequence[str]) -> PtxModule:
    """In the order of the text: `%r4145` becomes `%r1`. So are the parameters of our own."""
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

    made = [
        replace(each, text=_renamed(each.text, instead))
        if each.kind == CODE
        else replace(each, parameters=tuple(_renamed(one, instead) for one in each.parameters))
        if each.kind == FUNCTION
        else each
        for each in module
    ]
    return module.with_statements(made)


def _renamed(text: str, instead: Mapping[str, str]) -> str:
    return NAME.sub(lambda found: instead.get(found[0], found[0]), text)


MERGED = Family("registers of one type", find_twins, merge)
DECLARED = Family("declarations", find_declarations, declare_used)
RENAMED = Family("names of registers", find_numbered, renumber)

"""Inline assembly: an input with its constraint and its numbers, one instruction of many.

The text, the constraints and the list of inputs of `tl.inline_asm_elementwise` count the same operands: one that goes
from the list alone leaves the others to mean something else. So they change together. The shape is a kernel with some
lines of PTX, one instruction of which the assembler refuses. In its place in the text another operand of the same kind
serves: one of another kind would be refused for that, in the same words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.reduction.edit import Edit, Remove, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.orphans import orphans, weights
from shrinkray_gpu.source.spelling import word
from shrinkray_gpu.source.tree import every, line_number, weight

NAMES = ("asm", "constraints", "args", "dtype", "is_pure", "pack")
_OPERAND = re.compile(r"\$(\{?)(\d+)")
INPUTS, INSTRUCTIONS = 0, 1


def find(program: Program) -> Iterator[Edit]:
    for call in every(program, cst.Call):
        if word(program, call.func) != "inline_asm_elementwise":
            continue
        given = {arg.keyword.value if arg.keyword else name: arg.value for name, arg in zip(NAMES, call.args)}
        given |= {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
        where = f"of the assembly at line {line_number(program, call)}"
        asm = given.get("asm")
        if isinstance(asm, (cst.SimpleString, cst.ConcatenatedString)) and isinstance(asm.evaluated_value, str):
            yield from _fewer_inputs(program, given, asm, asm.evaluated_value, where)
            yield from _fewer_instructions(asm, asm.evaluated_value, where)


def _fewer_inputs(
    program: Program, given: dict[str, cst.BaseExpression], asm: cst.BaseExpression, text: str, where: str
) -> Iterator[Edit]:
    listed, written = given.get("args"), given.get("constraints")
    if not isinstance(listed, (cst.List, cst.Tuple)) or not isinstance(written, cst.SimpleString):
        return
    constraints = [each.strip() for each in str(written.evaluated_value).split(",")]
    outputs = sum(each.startswith("=") for each in constraints)
    each, odd = divmod(len(constraints) - outputs, len(listed.elements) or 1)
    if not outputs or not listed.elements or odd or not each:
        return
    every_place = tuple(range(len(listed.elements)))
    for places in dict.fromkeys((every_place, *((place,) for place in every_place))):
        gone = {outputs + place * each + number for place in places for number in range(each)}
        rest = ",".join(one for number, one in enumerate(constraints) if number not in gone)
        renumbered = _renumbered(text, constraints, gone)
        if renumbered is None:
            continue
        elements = [listed.elements[place] for place in places]
        lost = orphans(program, elements)
        yield Edit(
            f"without {'all inputs' if len(elements) > 1 else 'an input'} {where}",
            (*map(Remove, elements), Replace(written, (_quoted(rest),)),
             Replace(asm, (_quoted(renumbered),)), *lost),
            INPUTS,
            weight(program, *elements) + weights(program, lost),
        )  # fmt: skip


def _renumbered(text: str, constraints: list[str], gone: set[int]) -> str | None:
    """Operands that are gone become the first one left of their kind, the others move up. None where none is left."""
    kinds = [constraint.lstrip("=&+") for constraint in constraints]
    left = [number for number in range(len(kinds)) if number not in gone]
    first = {kinds[number]: place for place, number in reversed([*enumerate(left)])}
    places = {number: first[kinds[number]] for number in gone if kinds[number] in first}
    places |= {number: place for place, number in enumerate(left)}
    if any(int(found[2]) not in places for found in _OPERAND.finditer(text)):
        return None
    return _OPERAND.sub(lambda found: f"${found[1]}{places[int(found[2])]}", text)


def _fewer_instructions(asm: cst.BaseExpression, text: str, where: str) -> Iterator[Edit]:
    """One instruction alone, the scope around it gone too; all but one."""
    pieces = [piece.strip() for piece in text.strip().removeprefix("{").removesuffix("}").split(";")]
    pieces = [piece for piece in pieces if piece]
    if len(pieces) < 2 or "{" in text.strip()[1:] and any(piece.count("{") != piece.count("}") for piece in pieces):
        return
    for piece in pieces:
        yield Edit(f"one instruction alone {where}", (Replace(asm, (_quoted(f"{piece};"),)),), INSTRUCTIONS)
    for number in range(len(pieces)):
        rest = " ".join(f"{piece};" for other, piece in enumerate(pieces) if other != number)
        rest = f"{{ {rest} }}" if text.strip().startswith("{") else rest
        yield Edit(f"one instruction less {where}", (Replace(asm, (_quoted(rest),)),), INSTRUCTIONS)


def _quoted(text: str) -> str:
    plain = repr(text)
    return plain if '"' in text else f'"{plain[1:-1]}"'

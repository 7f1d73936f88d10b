"""Where a program gives a name its value, and the program's text with another value there.

A configuration reaches a kernel in many ways: `BLOCK_M = 64` at the top, in `main` or in a class, a default, an
argument of the launch by keyword or by position, `triton.Config({"BLOCK_M": 64}, num_warps=4)`. All places that give
the name a plain value get the new one, so that the parts of a program go on agreeing with each other. Places that hand
a value on (`BLOCK_M=BLOCK_M`, `BLOCK_M=cfg.block`) are left alone, unless there are no others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import libcst as cst

from shrinkray_gpu.questions.varying.settings import is_code
from shrinkray_gpu.reduction.edit import Edit, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render
from shrinkray_gpu.source.literals import is_literal, last_name
from shrinkray_gpu.source.spelling import is_of_language
from shrinkray_gpu.source.tree import ancestors, dotted_text, every, line_number, once, source

_TRITON = ("Config", "range", "static_range", "run", "warmup")
"""Functions of Triton's whose arguments configure a kernel."""


@dataclass(frozen=True)
class SettingSite:
    """An expression that is the value of a name."""

    name: str
    value: cst.BaseExpression
    plain: bool
    """Whether it is a value, and not handed on from somewhere else."""
    foreign: bool = False
    """Whether it is an argument of a function that is none of the program's: `dtype` of a `torch.empty`."""


@once
def places(program: Program) -> list[SettingSite]:
    """All of them, in the order of the text."""
    found = [*_assigned(program), *_defaults(program), *_arguments(program), *_entries(program)]
    return sorted(found, key=lambda place: program.spans[place.value][0])


def of(program: Program, name: str) -> list[SettingSite]:
    """The places where a value for this name must be put; empty if the program has no such name."""
    named = [place for place in places(program) if place.name == name]
    own = [place for place in named if not place.foreign]
    for group in (own, named):
        if plain := [place for place in group if place.plain]:
            return plain
    return [place for place in own if source(program, place.value) != name]


def with_value(program: Program, chosen: list[SettingSite], value: str) -> Program:
    """The Program with this value, as typed, in all of these places."""
    edits = [
        Edit(place.name, (Replace(place.value, (_written(place.value, value),)),))
        for place in chosen
        if source(program, place.value) != value
    ]
    return render(program, edits) if edits else program


def lines(program: Program, chosen: list[SettingSite]) -> list[int]:
    return list(dict.fromkeys(line_number(program, place.value) for place in chosen))


@once
def variables(program: Program) -> frozenset[str]:
    """Names of environment variables that the program asks for."""
    asked = re.compile(r"""(?:environ(?:\.get|\.setdefault|\.pop)?\s*[\[(]|getenv\s*\()\s*["'](\w+)["']""")
    return frozenset(asked.findall(program.text))


@once
def options(program: Program) -> frozenset[str]:
    """Command line options that the program names, as `--block-m`."""
    return frozenset(re.findall(r"""["'](--[A-Za-z][\w-]*)["']""", program.text))


def _written(old: cst.BaseExpression, value: str) -> str:
    """A value as typed, as Python. Where a string stood, it is a string; words that are no Python are one, too."""
    if isinstance(old, (cst.SimpleString, cst.ConcatenatedString)) or not is_code(value):
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
        return value if quoted else repr(value)
    return value


def _place(program: Program, name: str, value: cst.BaseExpression) -> SettingSite | None:
    """`tl.constexpr(64)` is the 64 in it."""
    if isinstance(value, cst.Call) and last_name(value.func) == "constexpr" and len(value.args) == 1:
        value = value.args[0].value
    if value not in program.spans or any(isinstance(up, cst.FormattedString) for up in ancestors(program, value)):
        return None
    # torch.float16 is a value; cfg.block, and a name alone, are handed on.
    plain = (
        is_literal(value) or dotted_text(value).split(".")[0] in ("torch", "triton") or is_of_language(program, value)
    )
    return SettingSite(name, value, plain)


def _all(program: Program, pairs: list[tuple[str, cst.BaseExpression | None]]) -> Iterator[SettingSite]:
    for name, value in pairs:
        place = _place(program, name, value) if name and value is not None else None
        if place is not None:
            yield place


def _assigned(program: Program) -> Iterator[SettingSite]:
    pairs: list[tuple[str, cst.BaseExpression | None]] = []
    for annotated in every(program, cst.AnnAssign):
        pairs.append((last_name(annotated.target), annotated.value))
    for node in every(program, cst.Assign):
        for target in (each.target for each in node.targets):
            if isinstance(target, cst.Name):
                pairs.append((target.value, node.value))
            elif isinstance(target, (cst.Tuple, cst.List)) and isinstance(node.value, (cst.Tuple, cst.List)):
                if len(target.elements) == len(node.value.elements):
                    both = zip(target.elements, node.value.elements, strict=True)
                    pairs += [(last_name(left.value), right.value) for left, right in both]
    yield from _all(program, pairs)


def _defaults(program: Program) -> Iterator[SettingSite]:
    yield from _all(program, [(node.name.value, node.default) for node in every(program, cst.Param)])


def _arguments(program: Program) -> Iterator[SettingSite]:
    """By keyword, and by position where the function is one of the program's."""
    functions: dict[str, list[str]] = {}
    for node in every(program, cst.FunctionDef):
        functions[node.name.value] = [one.name.value for one in (*node.params.posonly_params, *node.params.params)]
    own = {*functions, *(node.name.value for node in every(program, cst.ClassDef)), *_TRITON}
    for call in every(program, cst.Call):
        callee = call.func.value if isinstance(call.func, cst.Subscript) else call.func  # kernel[grid](...)
        names = functions.get(callee.value, []) if isinstance(callee, cst.Name) else []
        pairs: list[tuple[str, cst.BaseExpression | None]] = []
        for at, argument in enumerate(call.args):
            if argument.star:
                names = []
            elif argument.keyword is not None:
                pairs.append((argument.keyword.value, argument.value))
            elif at < len(names):
                pairs.append((names[at], argument.value))
        foreign = not isinstance(call.func, cst.Subscript) and last_name(callee) not in own
        yield from (replace(place, foreign=foreign) for place in _all(program, pairs))


def _entries(program: Program) -> Iterator[SettingSite]:
    """`{"BLOCK_M": 64}`, as in a Config."""
    pairs: list[tuple[str, cst.BaseExpression | None]] = []
    for entry in every(program, cst.DictElement):
        if isinstance(entry.key, cst.SimpleString):
            pairs.append((str(entry.key.evaluated_value), entry.value))
    yield from _all(program, pairs)

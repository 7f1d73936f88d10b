"""What a compilation without a launch is told, and need not be: attributes, constants, options, whole or one by one.

`triton.compile(ASTSource(kernel, types, constants, attributes), target=..., options=...)`. What is left stays exact:
other passes change neither types nor names there.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.calls import argument
from shrinkray_gpu.source.compilations import is_compilation, is_source
from shrinkray_gpu.source.edits import removal
from shrinkray_gpu.source.tree import every, line_number

WHOLE, ENTRY = 0, 1


def find(program: Program) -> Iterator[Edit]:
    for call in every(program, cst.Call):
        where = f"for the compilation at line {line_number(program, call)}"
        if is_source(call):
            constants, attributes = _given(call, "constexprs", 2), _given(call, "attrs", 3)
            empty = [arg for arg in (constants, attributes) if arg is not None and _is_empty(arg.value)]
            if attributes is not None:
                also = [constants] if constants in empty and constants is not None else []
                yield removal(program, f"no attributes {where}", attributes, *also, level=WHOLE)
                yield from _entries(program, attributes, f"an attribute less {where}")
            elif empty:
                yield removal(program, f"no constants {where}", *empty, level=WHOLE)
        elif is_compilation(call) and (options := _given(call, "options", 2)) is not None:
            yield removal(program, f"no options {where}", options, level=WHOLE)
            yield from _entries(program, options, f"an option less {where}")


def _given(call: cst.Call, name: str, place: int) -> cst.Arg | None:
    value = argument(call, name, place)
    return next((arg for arg in call.args if arg.value is value), None)


def _is_empty(value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Dict) and not value.elements or isinstance(value, cst.Name) and value.value == "None"


def _entries(program: Program, arg: cst.Arg, what: str) -> Iterator[Edit]:
    entries = arg.value.elements if isinstance(arg.value, cst.Dict) else ()
    for entry in entries if len(entries) > 1 else ():
        yield removal(program, what, entry, level=ENTRY)

"""Accesses in their plainest form: through the bare pointer, without offsets or mask, and arguments by position.

    tl.store(out + rows[:, None] * n + cols, acc, mask=rows[:, None] < m)    to    tl.store(out, tl.sum(acc))
    tl.load(x + offsets, mask=offsets < n, other=0.0)                        to    tl.load(x)

Pointer, value and mask must change together, or the shapes do not fit: no single step leads there. The guard level
stays as it is, since a kernel may well use the pointer that it was given. The names of arguments (`shape=`, `strides=`)
go the same way: all of a call at once, or the first of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.language.languages import GUARDS
from shrinkray_gpu.reduction.edit import Change, Edit, Remove, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.kernels import is_kernel, parameter_in
from shrinkray_gpu.source.spelling import access, counts, name_for
from shrinkray_gpu.source.tree import every, line_number, weight, within

BARE, NAMES = 0, 1


def find(program: Program) -> Iterator[Edit]:
    for kernel in every(program, cst.FunctionDef):
        if not is_kernel(program, kernel):
            continue
        for call in within(program, kernel.body, cst.Call):
            yield from _bare(program, kernel, call)
            yield from _by_position(program, call)


def _bare(program: Program, kernel: cst.FunctionDef, call: cst.Call) -> Iterator[Edit]:
    found = access(program, call.func)
    kind = found[0] if found is not None else ""
    if kind not in ("load", "store") or len(call.args) < (1 if kind == "load" else 2):
        return
    first = call.args[0].value
    pointer = parameter_in(program, kernel, first)
    if pointer is None or call.args[0].keyword is not None:
        return
    rest = call.args[1:] if kind == "load" else call.args[2:]
    if pointer is first and not rest:
        return
    what = f"bare {kind} at line {line_number(program, call)}"
    gone: tuple[Change, ...] = tuple(map(Remove, rest))
    if pointer is not first:
        gone = (Replace(first, (pointer,)), *gone)
    gain = weight(program, first, *rest)
    if kind == "load":
        yield Edit(what, gone, BARE, gain)
    elif call.args[1].keyword is None:
        value = call.args[1].value
        if (total := name_for(program, kernel, "sum")) is not None:
            summed = Replace(value, (f"{total}(", value, ")"))
            yield Edit(f"{what} of a sum", (*gone, summed), BARE, max(1, gain - 5))
        yield Edit(what, gone, BARE, gain)


def _by_position(program: Program, call: cst.Call) -> Iterator[Edit]:
    named = [arg for arg in call.args if arg.keyword is not None]
    if not named or any(arg.keyword is not None and arg.keyword.value in GUARDS for arg in named):
        return
    if any(arg.star for arg in call.args) or counts(program, call.func):
        return  # `num_stages=` of a loop is what its reader looks for, and what control experiments turn
    where = f"at line {line_number(program, call)}"
    if len(named) > 1:
        yield Edit(f"no names of arguments {where}", tuple(_unnamed(arg) for arg in named), NAMES, 2 * len(named))
    yield Edit(f"no name of an argument {where}", (_unnamed(named[0]),), NAMES, 2)


def _unnamed(arg: cst.Arg) -> Replace:
    return Replace(arg, (arg.value,))

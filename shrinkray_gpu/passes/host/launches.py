"""Kernel launches: grid of one program, fewer launches, no launch options.

A one-program grid says that the fault is no race and no matter of sizes, and runs at once. Warm-up and repeated
launches go; `num_warps=`, `num_stages=` and the like stay only where the fault depends on them, which tells the
maintainer where to look. A grid computed by a lambda becomes a plain tuple, so that its sizes can shrink. Kernels of
CUDA C++ that Python launches (`torch.cuda._compile_kernel`) have a grid and a block of threads.

Where a launch goes, what it alone may have written becomes zeros: no repro may read memory that nobody wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import prod

import libcst as cst

from shrinkray_gpu.language.languages import LAUNCH_OPTIONS
from shrinkray_gpu.reduction.edit import Change, Edit, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.calls import argument
from shrinkray_gpu.source.edits import removal, replacement
from shrinkray_gpu.source.kernels import is_kernel
from shrinkray_gpu.source.literals import last_name
from shrinkray_gpu.source.pinning import assigned_value
from shrinkray_gpu.source.scoping import variables_by_read
from shrinkray_gpu.source.tree import dotted_text, every, line_number, source, statement, within

ZEROED = {"empty": "zeros", "empty_like": "zeros_like", "new_empty": "new_zeros"}
WARP = 32
"""Threads of a warp: instructions for whole warps want no fewer."""


def find(program: Program) -> Iterator[Edit]:
    launches = {
        call: grid
        for call in every(program, cst.Call)
        if (grid := _grid(call)) is not None and _is_launch(program, call)
    }
    yield from _one_alone(program, list(launches))
    yield from _zeros_instead(program, launches)
    for call, grid in launches.items():
        yield from _smaller_grid(program, call, grid)
        yield from _plain_grid(program, call, grid)
    yield from _fewer_options(program, launches)
    for call in _launches_of_compiled(program):
        yield from _smaller_extents(program, call)


def _grid(call: cst.Call) -> cst.BaseExpression | None:
    """`grid` of `kernel[grid](...)` and `kernel.warmup(..., grid=grid)`; of `kernel[2, 3](...)` nothing, since its
    parts are no expression."""
    if last_name(call.func) == "warmup":
        named = (arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == "grid")
        return next(named, None)
    if isinstance(call.func, cst.Subscript) and len(call.func.slice) == 1:
        index = call.func.slice[0].slice
        return index.value if isinstance(index, cst.Index) else None
    return None


def _is_launch(program: Program, call: cst.Call) -> bool:
    """Whether it is a kernel that is called: a kernel of the program, or one we cannot see."""
    kernel = _kernel(program, call)
    if kernel is not None:
        return is_kernel(program, kernel)
    assert isinstance(call.func, (cst.Subscript, cst.Attribute))
    return "kernel" in dotted_text(call.func.value).lower() or bool(_options(call))


def _kernel(program: Program, call: cst.Call) -> cst.FunctionDef | None:
    callee = call.func.value if isinstance(call.func, (cst.Subscript, cst.Attribute)) else None
    binding = variables_by_read(program).get(callee) if isinstance(callee, cst.Name) else None
    place = binding.places[-1] if binding is not None else None
    return place if isinstance(place, cst.FunctionDef) else None


def _options(call: cst.Call) -> dict[cst.Arg, str]:
    """The arguments of a launch that are options of it, and their names."""
    named = {arg: arg.keyword.value for arg in call.args if arg.keyword is not None}
    return {arg: name for arg, name in named.items() if name in LAUNCH_OPTIONS}


def _one_alone(program: Program, launches: list[cst.Call]) -> Iterator[Edit]:
    """All launches but one; each launch alone is one of `statements`."""
    lines = {call: statement(program, call) for call in launches}
    alone = {call: line for call, line in lines.items() if isinstance(line, cst.Expr) and line.value is call}
    if len(alone) < 2:
        return
    for kept in reversed(launches):  # warm-ups come first, the failing one last
        others = [line for call, line in alone.items() if call is not kept]
        yield removal(program, f"only the launch at line {line_number(program, kept)}", *others)


def _zeros_instead(program: Program, launches: Iterable[cst.Call]) -> Iterator[Edit]:
    """Without a launch, and with zeros in the tensors among its arguments that began with nothing."""
    made: dict[str, list[cst.Attribute]] = {}
    for assign in every(program, cst.Assign):
        called = assign.value.func if isinstance(assign.value, cst.Call) else None
        if isinstance(called, cst.Attribute) and called.attr.value in ZEROED:
            for target in assign.targets:
                made.setdefault(source(program, target.target), []).append(called)
    for call in launches:
        line = statement(program, call)
        begun = [each for arg in call.args for each in made.get(source(program, arg.value), ())]
        if begun and isinstance(line, cst.Expr) and line.value is call:
            without = removal(program, f"zeros instead of the launch at line {line_number(program, call)}", line)
            zeros = (Replace(each.attr, (ZEROED[each.attr.value],)) for each in dict.fromkeys(begun))
            yield replace(without, changes=(*without.changes, *zeros))


def _smaller_grid(program: Program, call: cst.Call, grid: cst.BaseExpression) -> Iterator[Edit]:
    where = f"of the launch at line {line_number(program, call)}"
    if "".join(source(program, grid).split()) not in ("(1,)", "1,"):
        yield replacement(program, f"grid {where} is (1,)", grid, ("(1,)",), 1)
    axes = grid.elements if isinstance(grid, cst.Tuple) else ()
    if len(axes) > 1:
        yield removal(program, f"one axis less {where}", axes[-1], level=2)
    for axis, element in enumerate(axes):
        if source(program, element.value) != "1":
            yield replacement(program, f"axis {axis} {where} is 1", element.value, ("1",), 2)


def _plain_grid(program: Program, call: cst.Call, grid: cst.BaseExpression) -> Iterator[Edit]:
    """`lambda meta: (cdiv(n, meta["BLOCK"]),)` is `(cdiv(n, 64),)` where the launch says BLOCK=64."""
    function, variable = grid, variables_by_read(program).get(grid) if isinstance(grid, cst.Name) else None
    if variable is not None and len(variable.reads) == 1 and (made := assigned_value(program, variable)) is not None:
        function = made[1]
    if not isinstance(function, cst.Lambda) or len(function.params.params) != 1:
        return
    given = {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
    changes: list[Change] = [Replace(function, (function.body,))]
    meta = function.params.params[0].name.value
    for item in within(program, function.body, cst.Subscript):
        if (text := _key(item, meta)) is not None:
            key = text.evaluated_value
            if not isinstance(key, str) or key not in given:
                return
            changes.append(Replace(item, (given[key],)))
    if len(changes) == 1 + sum(name.value == meta for name in within(program, function.body, cst.Name)):
        yield Edit(f"plain grid of the launch at line {line_number(program, call)}", tuple(changes), 2, 4)


def _key(item: cst.Subscript, meta: str) -> cst.SimpleString | None:
    """`"BLOCK"` of `meta["BLOCK"]`."""
    index = item.slice[0].slice if len(item.slice) == 1 else None
    key = index.value if isinstance(index, cst.Index) else None
    of_meta = isinstance(item.value, cst.Name) and item.value.value == meta
    return key if of_meta and isinstance(key, cst.SimpleString) else None


def _fewer_options(program: Program, launches: Iterable[cst.Call]) -> Iterator[Edit]:
    every_option: dict[cst.Arg, str] = {}
    for call in launches:
        kernel = _kernel(program, call)
        own = {param.name.value for param in within(program, kernel.params, cst.Param)} if kernel is not None else set()
        every_option |= {arg: name for arg, name in _options(call).items() if name not in own}
    for call in every(program, cst.Call):
        if dotted_text(call.func).rpartition(".")[2] == "Config":
            every_option |= _options(call)
    if len(every_option) > 1:
        yield removal(program, "drop all launch options", *every_option, level=1)
    for name in dict.fromkeys(every_option.values()):
        args = [arg for arg, own in every_option.items() if own == name]
        if len(args) > 1:
            yield removal(program, f"drop every {name}", *args, level=2)
    for arg in every_option:
        yield removal(program, f"drop {source(program, arg)} at line {line_number(program, arg)}", arg, level=3)


def _launches_of_compiled(program: Program) -> Iterator[cst.Call]:
    """The launches of what `_compile_kernel` made, by its name or at once."""

    def compiles(value: cst.BaseExpression | None) -> bool:
        return isinstance(value, cst.Call) and dotted_text(value.func).rpartition(".")[2] == "_compile_kernel"

    made = (
        target.target for assign in every(program, cst.Assign) if compiles(assign.value) for target in assign.targets
    )
    names = {dotted_text(target) for target in made} - {""}
    for call in every(program, cst.Call):
        if compiles(call.func) or dotted_text(call.func) in names:
            yield call


def _smaller_extents(program: Program, call: cst.Call) -> Iterator[Edit]:
    where = f"of the launch at line {line_number(program, call)}"
    for place, name in enumerate(("grid", "block")):
        extent = argument(call, name, place)
        if not isinstance(extent, cst.Tuple):
            continue
        parts = [element.value for element in extent.elements]
        numbers = [part.evaluated_value for part in parts if isinstance(part, cst.Integer)]
        many = prod(numbers) if len(numbers) == len(parts) else None
        for count in (1,) if name == "grid" else (1, WARP, 2 * WARP, 4 * WARP):
            if many is None or many > count:
                yield Edit(f"{name} {where} is ({count}, 1, 1)", (Replace(extent, (f"({count}, 1, 1)",)),), 1, 3)
        long = [(axis, part) for axis, part in enumerate(parts) if source(program, part) != "1"]
        for axis, part in long if len(long) > 1 else ():  # a single one is all of it
            yield Edit(f"axis {axis} of the {name} {where} is 1", (Replace(part, ("1",)),), 2, 1)

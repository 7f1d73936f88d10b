"""Kernel launches: grid of one program, fewer launches, no launch options.

A one-program grid says that the fault is no race and no matter of sizes, and runs at once. Warm-up and repeated
launches go; `num_warps=`, `num_stages=` and the like stay only where the fault depends on them, which tells the
maintainer where to look. A grid computed by a lambda becomes a plain tuple, so that its sizes can shrink. Kernels of
CUDA C++ that Python launches (`torch.cuda._compile_kernel`) have a grid and a block of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import libcst as cst

from shrinkray_gpu.language.languages import LAUNCH_OPTIONS
from shrinkray_gpu.reduction.edit import Change, Edit, Remove, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.kernels import is_kernel
from shrinkray_gpu.source.scoping import Binding, bindings, readers
from shrinkray_gpu.source.tree import dotted_text, every, line_number, source, statement, weight, within

WARP = 32
"""Threads of a warp: instructions for whole warps want no fewer."""


def find(program: Program) -> Iterator[Edit]:
    stands_for = readers(program, bindings(program))
    launches = [
        call for call in every(program, cst.Call) if _grid(call) is not None and _launches(program, call, stands_for)
    ]
    yield from _only_one(program, launches)
    for call in launches:
        yield from _smaller_grid(program, call)
        yield from _plain_grid(program, call, stands_for)
    yield from _fewer_options(program, launches, stands_for)
    for call in _of_compiled(program):
        yield from _smaller_extents(program, call)


def programs_along(program: Program, kernel: cst.FunctionDef, axis: int) -> int | None:
    """How many programs each launch of this kernel has along an axis; None where that is not written there, or where
    somebody else may launch it."""
    known = bindings(program)
    reads = {name for binding in known if kernel in binding.places for name in binding.reads}
    stands_for = readers(program, known)
    found: set[int | None] = set()
    for call in every(program, cst.Call):
        if isinstance(call.func, cst.Subscript) and call.func.value in reads and _kernel(call, stands_for) is kernel:
            reads.discard(call.func.value)
            grid = _grid(call)
            elements = grid.elements if isinstance(grid, cst.Tuple) else ()
            plain = bool(elements) and not any(isinstance(element, cst.StarredElement) for element in elements)
            here = None if not plain else elements[axis].value if axis < len(elements) else cst.Integer("1")
            found.add(here.evaluated_value if isinstance(here, cst.Integer) else None)
    return next(iter(found)) if len(found) == 1 and not reads else None


def _grid(call: cst.Call) -> cst.BaseExpression | None:
    """`grid` of `kernel[grid](...)`; of `kernel[2, 3](...)` nothing, since its parts are no expression."""
    if isinstance(call.func, cst.Subscript) and len(call.func.slice) == 1:
        index = call.func.slice[0].slice
        return index.value if isinstance(index, cst.Index) else None
    return None


def _launches(program: Program, call: cst.Call, stands_for: Mapping[cst.Name, Binding]) -> bool:
    """Whether it is a kernel that is called: a kernel of the program, or one we cannot see."""
    kernel = _kernel(call, stands_for)
    if kernel is not None:
        return is_kernel(program, kernel)
    assert isinstance(call.func, cst.Subscript)
    return "kernel" in dotted_text(call.func.value).lower() or bool(_options(call))


def _kernel(call: cst.Call, stands_for: Mapping[cst.Name, Binding]) -> cst.FunctionDef | None:
    callee = call.func.value if isinstance(call.func, cst.Subscript) else None
    binding = stands_for.get(callee) if isinstance(callee, cst.Name) else None
    place = binding.places[-1] if binding is not None else None
    return place if isinstance(place, cst.FunctionDef) else None


def _options(call: cst.Call) -> list[cst.Arg]:
    return [arg for arg in call.args if arg.keyword is not None and arg.keyword.value in LAUNCH_OPTIONS]


def _only_one(program: Program, launches: list[cst.Call]) -> Iterator[Edit]:
    """All launches but one; each launch alone is one of `statements`."""
    lines = {call: statement(program, call) for call in launches}
    alone = {call: line for call, line in lines.items() if isinstance(line, cst.Expr) and line.value is call}
    if len(alone) < 2:
        return
    for kept in reversed(launches):  # warm-ups come first, the failing one last
        others = [line for call, line in alone.items() if call is not kept]
        yield Edit(
            f"only the launch at line {line_number(program, kept)}",
            tuple(map(Remove, others)),
            0,
            weight(program, *others),
        )


def _smaller_grid(program: Program, call: cst.Call) -> Iterator[Edit]:
    grid = _grid(call)
    assert grid is not None
    where = f"of the launch at line {line_number(program, call)}"
    if "".join(source(program, grid).split()) not in ("(1,)", "1,"):
        yield Edit(f"grid {where} is (1,)", (Replace(grid, ("(1,)",)),), 1, weight(program, grid))
    if not isinstance(grid, cst.Tuple) or len(grid.elements) == 1:
        parts = [element.value for element in grid.elements] if isinstance(grid, cst.Tuple) else []
    else:
        parts = [element.value for element in grid.elements]
        last = grid.elements[-1]
        yield Edit(f"one axis less {where}", (Remove(last),), 2, weight(program, last))
    for axis, part in enumerate(parts):
        if source(program, part) != "1":
            yield Edit(f"axis {axis} {where} is 1", (Replace(part, ("1",)),), 2, weight(program, part))


def _plain_grid(program: Program, call: cst.Call, stands_for: Mapping[cst.Name, Binding]) -> Iterator[Edit]:
    """`lambda meta: (cdiv(n, meta["BLOCK"]),)` is `(cdiv(n, 64),)` where the launch says BLOCK=64."""
    grid = _grid(call)
    if isinstance(grid, cst.Name) and grid in stands_for and len(stands_for[grid].places) == 1:
        assign = statement(program, stands_for[grid].places[0])
        function = assign.value if isinstance(assign, cst.Assign) and len(stands_for[grid].reads) == 1 else None
    else:
        function = grid
    if not isinstance(function, cst.Lambda) or len(function.params.params) != 1:
        return
    given = {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
    changes: list[Change] = [Replace(function, (function.body,))]
    meta = function.params.params[0].name.value
    asked = 0
    for item in within(program, function.body, cst.Subscript):
        if isinstance(item.value, cst.Name) and item.value.value == meta:
            index = item.slice[0].slice
            key = index.value.evaluated_value if isinstance(index, cst.Index) and isinstance(
                index.value, cst.SimpleString) else None  # fmt: skip
            if not isinstance(key, str) or key not in given:
                return
            changes.append(Replace(item, (given[key],)))
            asked += 1
    if asked == sum(name.value == meta for name in within(program, function.body, cst.Name)):
        yield Edit(f"plain grid of the launch at line {line_number(program, call)}", tuple(changes), 2, 4)


def _fewer_options(
    program: Program, launches: list[cst.Call], stands_for: Mapping[cst.Name, Binding]
) -> Iterator[Edit]:
    every_option: list[cst.Arg] = []
    for call in launches:
        kernel = _kernel(call, stands_for)
        own = {param.name.value for param in within(program, kernel.params, cst.Param)} if kernel is not None else set()
        every_option += [arg for arg in _options(call) if arg.keyword is not None and arg.keyword.value not in own]
    for call in every(program, cst.Call):
        if dotted_text(call.func).rpartition(".")[2] == "Config":
            every_option += _options(call)
    if len(every_option) > 1:
        yield Edit("drop all launch options", tuple(map(Remove, every_option)), 1, weight(program, *every_option))
    by_name: dict[str, list[cst.Arg]] = {}
    for arg in every_option:
        by_name.setdefault(arg.keyword.value if arg.keyword is not None else "", []).append(arg)
    for name, args in by_name.items():
        if len(args) > 1:
            yield Edit(f"drop every {name}", tuple(map(Remove, args)), 2, weight(program, *args))
    for arg in every_option:
        yield Edit(f"drop {source(program, arg)} at line {line_number(program, arg)}", (Remove(arg),), 3, 3)


def _of_compiled(program: Program) -> Iterator[cst.Call]:
    """The launches of what `_compile_kernel` made, by its name or at once."""

    def compiles(value: cst.BaseExpression | None) -> bool:
        return isinstance(value, cst.Call) and dotted_text(value.func).rpartition(".")[2] == "_compile_kernel"

    names = {
        target.target.value
        for assign in every(program, cst.Assign)
        if compiles(assign.value)
        for target in assign.targets
        if isinstance(target.target, cst.Name)
    }
    for call in every(program, cst.Call):
        if compiles(call.func) or (isinstance(call.func, cst.Name) and call.func.value in names):
            yield call


def _smaller_extents(program: Program, call: cst.Call) -> Iterator[Edit]:
    where = f"of the launch at line {line_number(program, call)}"
    for place, name in enumerate(("grid", "block")):
        named = [arg for arg in call.args if arg.keyword is not None and arg.keyword.value == name]
        plain = [arg for arg in call.args[: place + 1] if arg.keyword is None and not arg.star]
        extent = named[0].value if named else plain[place].value if len(plain) > place else None
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

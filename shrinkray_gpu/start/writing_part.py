"""The part of a kernel that writes what somebody reads: its stores, and all that they hang on."""

from __future__ import annotations

import ast
from collections.abc import Collection

from shrinkray_gpu.start.host_code import HostCode
from shrinkray_gpu.start.kernel_writes import written
from shrinkray_gpu.start.slicing import HEADS, Slice, Slicer
from shrinkray_gpu.start.statements import is_kernel, names, own_parts, within


def writing_part(tree: ast.Module, kernel: ast.FunctionDef, read: Collection[str] | None) -> Slice:
    """What a kernel hangs on that writes through these parameters, with all of the functions that it calls. `read`:
    None where nobody knows what of it is read, and all stays.

    What the kernel reads of its own is read, too. A call that is no store stays, since it may be a barrier."""
    device = ast.Module([each for each in ast.walk(tree) if is_kernel(each)], [])
    if read is None:
        return _whole(device, [kernel])
    code = HostCode(device, device=True)
    inside = [each for part in kernel.body for each in ast.walk(part) if isinstance(each, ast.stmt)]
    calling = [each for each in inside if any(within(each, ast.Call))]
    read, before = set(read), -1
    found = Slice([], [], {}, [])
    while before < len(read):
        before = len(read)
        writes = [each for each in calling if _may_matter(kernel, each, read)]
        slicer = Slicer(code)
        parts = [part for each in writes for part in own_parts(each)]
        given = [value for each in writes for call in within(each, ast.Call) for value in call.args]
        found = slicer.behind(writes, [*parts, *given])
        found = found._replace(statements=[*found.statements, *writes])
        read |= written(kernel).intersection(slicer.needed(kernel))
    called = [name for each in (*found.statements, *found.heads) for name in names(each)]
    own = {each.name: each for each in device.body if isinstance(each, ast.FunctionDef)}
    whole = _whole(device, [own[name] for name in dict.fromkeys(called) if name in own and own[name] is not kernel])
    mine = [each for each in found.statements if each in inside and not isinstance(each, HEADS)]
    heads = [each for each in (*found.heads, *found.statements) if each in inside and isinstance(each, HEADS)]
    return Slice([*mine, *whole.statements], [*heads, *whole.heads], {}, [kernel, *whole.functions])


def _may_matter(kernel: ast.FunctionDef, statement: ast.stmt, read: set[str]) -> bool:
    """Whether a statement may write through one of these parameters, or is there for what it does otherwise."""
    own = list(within(statement, ast.Call))
    if not read.isdisjoint(written(kernel, own)):
        return True
    return isinstance(statement, ast.Expr) and not written(kernel, own)


def _whole(device: ast.Module, kernels: list[ast.FunctionDef]) -> Slice:
    """All of these functions, and of those that they call."""
    own = {each.name: each for each in device.body if isinstance(each, ast.FunctionDef)}
    reached: dict[str, ast.FunctionDef] = {}
    todo = [each.name for each in kernels]
    while todo:
        name = todo.pop()
        if name not in reached:
            reached[name] = own[name]
            todo += [each for each in names(own[name]) if each in own]
    inside = [each for one in reached.values() for part in one.body for each in ast.walk(part)]
    heads = [each for each in inside if isinstance(each, HEADS)]
    statements = [each for each in inside if isinstance(each, ast.stmt) and not isinstance(each, HEADS)]
    return Slice(statements, heads, {}, [*reached.values()])

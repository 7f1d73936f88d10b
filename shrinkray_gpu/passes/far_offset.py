"""An access outside of its tensor, led so far away that hardly any process has anything there.

    tl.load(x + 20133888)    to    tl.load(x + 274877906944)

Whether the first faults is for what lies there to decide, and another process has something else mapped: what lanes
show a clean run may not, and each step after it stands or falls by chance. So this is no pass, which would have to make
the program smaller, but a step of its own where no pass leads on, and what comes after it can be relied on.

It puts a fault in, where every pass only takes something away. So the offset must be a number that is written there,
which no compiler gets wrong, and lead further than any tensor that a repro needs.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.passes.kernels import compiled, parameter_in
from shrinkray_gpu.passes.literals import last_name
from shrinkray_gpu.passes.tree import dotted, every, within
from shrinkray_gpu.reduction.edit import Edit, Replace
from shrinkray_gpu.reduction.program import Program

AWAY = 1 << 38
"""Elements. Of four accesses that went 268 MB on, one found something (seen on an H100)."""
NEAR = 1 << 16
"""Elements, up to which an offset may well be in bounds."""

_HARMLESS = frozenset({"program_id", "num_programs", "arange", "zeros", "to", "cdiv"})
_OTHERWISE = (cst.If, cst.IfExp, cst.With, cst.Subscript, cst.FunctionDef, cst.Lambda)
"""What a kernel of one access must not have: what decides whether it is made, or may be another."""
_AGAIN = (cst.For, cst.While, cst.CompFor)


def find(program: Program) -> Iterator[Edit]:
    """The only access far away, if that is where it leads by a number, and it is not there yet."""
    offset = _only_offset(program)
    if isinstance(offset, cst.Integer) and NEAR < offset.evaluated_value != AWAY:
        yield Edit(f"{AWAY} for the offset {offset.value}", (Replace(offset, (str(AWAY),)),))


def _only_offset(program: Program) -> cst.BaseExpression | None:
    """The offset of the only access there is, `tl.load(x + OFFSET)` in the only function, which is launched once: if
    that kernel's access is what faults, it is this one, and it may as well lead far away. With any other access, branch
    or loop, that could be one that was in bounds."""
    functions = every(program, cst.FunctionDef)
    if program.literals or len(functions) != 1 or not compiled(functions[0]) or every(program, *_AGAIN):
        return None
    kernel = functions[0]
    calls = list(within(program, kernel.body, cst.Call))
    accesses = [call for call in calls if dotted(call.func) in ("tl.load", "tl.store")]
    others = (call for call in calls if call not in accesses)
    if len(accesses) != 1 or any(last_name(call.func) not in _HARMLESS for call in others):
        return None
    address = accesses[0].args[0] if accesses[0].args else None
    if address is None or address.keyword is not None or not isinstance(address.value, cst.BinaryOperation):
        return None
    pointer, plus, offset = address.value.left, address.value.operator, address.value.right
    if not (isinstance(pointer, cst.Name) and isinstance(plus, cst.Add)):
        return None
    if list(within(program, kernel.body, *_OTHERWISE)) or parameter_in(program, kernel, pointer) is not pointer:
        return None
    names = [node.value for node in every(program, cst.Name)]
    launches = [call for call in every(program, cst.Call) if isinstance(call.func, cst.Subscript)]
    named_once = [dotted(call.func.value) for call in launches].count(kernel.name.value) == 1  # type: ignore[attr-defined]
    launched_once = named_once and names.count(kernel.name.value) == 2  # where it is made, and where it is launched
    read_once = [node.value for node in within(program, kernel.body, cst.Name)].count(pointer.value) == 1
    return offset if launched_once and read_once else None

"""What keeps a value alive in a kernel, without memory: `tl.device_print("", v)` for a store.

A compiler throws away what nobody uses, so a kernel has to do something with the value that it fails at. A store needs
a pointer, a mask, a parameter and a tensor for it; a print needs nothing. (Inline assembly needs not even that: see
`assembly`.)
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.passes.kernels import in_kernel
from shrinkray_gpu.passes.orphans import orphans, weights
from shrinkray_gpu.passes.tree import dotted, every, line_number, weight
from shrinkray_gpu.passes.typed import language
from shrinkray_gpu.reduction.edit import Edit, Replace
from shrinkray_gpu.reduction.program import Program


def find(program: Program) -> Iterator[Edit]:
    tl = language(program)
    for line in every(program, cst.Expr):
        call = line.value
        if not isinstance(call, cst.Call) or not in_kernel(program, line):
            continue
        name = dotted(call.func).rpartition(".")[2]
        given = [arg for arg in call.args if arg.keyword is None and not arg.star]
        if name not in ("store", "atomic_add", "atomic_xchg", "atomic_max", "atomic_min") or len(given) < 2:
            continue
        value = given[1].value
        others = [arg for arg in call.args if arg is not given[1]]
        lost = orphans(program, others)
        gain = weight(program, *others) + weights(program, lost) - 1
        if gain > 0:
            yield Edit(
                f"print instead of the {name} at line {line_number(program, line)}",
                (Replace(call, (f'{tl}.device_print("", ', value, ")")), *lost),
                weight=gain,
            )

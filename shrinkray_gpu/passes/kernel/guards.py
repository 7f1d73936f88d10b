"""Masks, `other=`, boundary checks and initialised inputs: the last to go, and only where nothing else holds.

Without them the program gets shorter and the repro worth less, since it may then be undefined all by itself: any fault
it shows proves nothing about the compiler. So the size order counts a dropped guard as growth, and a candidate that has
fewer guards is never preferred to one that has them; these edits count only where an equal guard stands elsewhere (a
second mask, `other=` without its mask, `torch.zeros` over a tensor that is written anyway).
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.reduction.edit import Edit, Remove, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.masking import MASK_AT
from shrinkray_gpu.source.tree import dotted, every, line_number, source, weight

ACCESSES = frozenset({"tl.load", "tl.store", "triton.language.load", "triton.language.store"})
_GUARDS = frozenset({"mask", "other", "boundary_check", "padding_option"})
_FILLED = {"torch.zeros": "torch.empty", "torch.ones": "torch.empty", "torch.randn": "torch.empty",
           "torch.rand": "torch.empty", "torch.zeros_like": "torch.empty_like", "torch.ones_like": "torch.empty_like",
           "torch.randn_like": "torch.empty_like", "torch.rand_like": "torch.empty_like"}  # fmt: skip


def find(program: Program) -> Iterator[Edit]:
    unmasked: list[cst.CSTNode] = []
    for call in every(program, cst.Call):
        name, where = dotted(call.func), f"at line {line_number(program, call)}"
        if name in ACCESSES:
            guards = guards_of(call, MASK_AT[name.rpartition(".")[2]])
            unmasked.extend(guards)
            if guards:
                yield Edit(f"no guards of {name} {where}", tuple(map(Remove, guards)), 1, weight(program, *guards))
            for guard in guards[1:]:  # without its mask, `other` is an error
                yield Edit(f"no {source(program, guard)} {where}", (Remove(guard),), 1, weight(program, guard))
        elif name in _FILLED:
            yield Edit(f"{_FILLED[name]} {where}", (Replace(call.func, (_FILLED[name],)),), 1, 1)
    if len(unmasked) > 1:
        yield Edit("no guards at all", tuple(map(Remove, unmasked)), 0, weight(program, *unmasked))


def guards_of(call: cst.Call, mask_at: int) -> list[cst.Arg]:
    """The mask and what comes after it, which is `other` of a load, and those with a name."""
    positional = [arg for arg in call.args if arg.keyword is None and not arg.star]
    named = [arg for arg in call.args if arg.keyword is not None and arg.keyword.value in _GUARDS]
    return [*positional[mask_at:], *named]

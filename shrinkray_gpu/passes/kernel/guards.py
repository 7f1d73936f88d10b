"""Masks, `other=`, boundary checks and initialised inputs: the last to go, and only where nothing else holds.

Without them the program gets shorter and the repro worth less, since it may then be undefined all by itself: any fault
it shows proves nothing about the compiler. So the size order counts a dropped guard as growth, and a candidate that has
fewer guards is never preferred to one that has them; these edits count only where an equal guard stands elsewhere (a
second mask, `other=` without its mask, `torch.zeros` over a tensor that is written anyway).
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.language.languages import GUARDS
from shrinkray_gpu.language.tensors import WITHOUT_VALUES
from shrinkray_gpu.reduction.edit import Edit, Remove, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.spelling import access
from shrinkray_gpu.source.tree import dotted_text, every, line_number, source, weight

_MASKED = frozenset({"load", "store"})
"""Accesses whose mask the size order counts."""


def find(program: Program) -> Iterator[Edit]:
    unmasked: list[cst.CSTNode] = []
    for call in every(program, cst.Call):
        name, where = dotted_text(call.func), f"at line {line_number(program, call)}"
        if (found := access(program, call.func)) is not None and found[0] in _MASKED and found[1].mask is not None:
            guards = guards_of(call, found[1].mask)
            unmasked.extend(guards)
            if guards:
                yield Edit(f"no guards of {name} {where}", tuple(map(Remove, guards)), 1, weight(program, *guards))
            for guard in guards[1:]:  # without its mask, `other` is an error
                yield Edit(f"no {source(program, guard)} {where}", (Remove(guard),), 1, weight(program, guard))
        elif name in WITHOUT_VALUES:
            yield Edit(f"{WITHOUT_VALUES[name]} {where}", (Replace(call.func, (WITHOUT_VALUES[name],)),), 1, 1)
    if len(unmasked) > 1:
        yield Edit("no guards at all", tuple(map(Remove, unmasked)), 0, weight(program, *unmasked))


def guards_of(call: cst.Call, mask_at: int) -> list[cst.Arg]:
    """The mask and what comes after it, which is `other` of a load, and those with a name."""
    positional = [arg for arg in call.args if arg.keyword is None and not arg.star]
    named = [arg for arg in call.args if arg.keyword is not None and arg.keyword.value in GUARDS]
    return [*positional[mask_at:], *named]

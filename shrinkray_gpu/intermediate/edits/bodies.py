"""A body for the function around it: of a loop, a branch, a partition of warps.

Some regions see nothing from outside, so what is missing in them cannot come in as an argument; as the body of a
function it can. The function is one of Triton's own, which takes values of all types: it stands for one of LLVM's, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shrinkray_gpu.intermediate.edits.returns import RETURNS, uncalled
from shrinkray_gpu.intermediate.model import FUNCTION, IrModule, ModuleBlock, Operation, every
from shrinkray_gpu.intermediate.rewriting import changed
from shrinkray_gpu.intermediate.search import Family

_PLAIN, _RETURN = "tt.func", "tt.return"


def find(module: IrModule) -> Iterator[tuple[int, int, int]]:
    """Functions and operations in them by their keys, and the region that is to be the body."""
    for function in uncalled(module):
        if function.name != _PLAIN:
            yield function.key, function.key, 0
        for each in every(function):
            if each is not function:
                yield from ((function.key, each.key, at) for at, region in enumerate(each.regions) if _whole(region))


def _whole(region: Sequence[ModuleBlock]) -> bool:
    return bool(region) and all(block.operations for block in region)


def apply(module: IrModule, chosen: Sequence[tuple[int, int, int]]) -> IrModule:
    ((key, owner, number),) = chosen

    def instead(each: Operation) -> Sequence[Operation]:
        if each.key != key:
            return (each,)
        found = next((inner for inner in every(each) if inner.key == owner), None)
        if found is None:
            return (each,)
        body = tuple(_ended(block, found is each) for block in found.regions[number])
        takes = ", ".join(value.type for value in body[0].arguments)
        properties = (("sym_name", each.setting("sym_name")), (FUNCTION, f"({takes}) -> ()"))
        return (Operation(each.key, _PLAIN, properties=properties, regions=(body,)),)

    return changed(module, instead)


def _ended(block: ModuleBlock, is_body: bool) -> ModuleBlock:
    """The block with a return of nothing where it left the region."""
    end = block.operations[-1]
    if end.successors or (is_body and end.name not in RETURNS):
        return block
    return block.with_end(Operation(end.key, _RETURN))


FAMILY = Family("bodies", find, apply, alone=True)

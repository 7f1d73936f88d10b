"""Functions: they go with the calls of them, one stands for another, less is returned, a body stands for all of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shrinkray_gpu.intermediate.model import FUNCTION, IrModule, ModuleBlock, Operation, every
from shrinkray_gpu.intermediate.rewriting import changed, result_types, with_property, with_types, without
from shrinkray_gpu.intermediate.search import Family

RETURNS = ("tt.return", "func.return", "llvm.return")
_PLAIN, _RETURN = "tt.func", "tt.return"


def find(module: IrModule) -> Iterator[int]:
    """Declarations, too; one stays. Other operations of the module's own, such as global variables, count as well."""
    yield from (each.key for each in module.top.inner())


def apply(module: IrModule, chosen: Sequence[int]) -> IrModule:
    gone = set(chosen)
    if all(each.key in gone for each in module.functions):
        return module
    names = {each.symbol for each in module.top.inner() if each.key in gone} - {""}
    calls = {each.key for each in every(module.top) if names & {text for _, text in each.properties}}
    return without(module, gone | calls)


def find_twins(module: IrModule) -> Iterator[tuple[str, str]]:
    """The names of a function that is called, and of another one of its type."""
    kinds = {each.symbol: each.setting(FUNCTION) for each in module.functions}
    named = {text for each in every(module.top) for _, text in each.properties}
    for name in kinds:
        if name in named:
            yield from ((name, other) for other in kinds if other != name and kinds[other] == kinds[name])


def merge(module: IrModule, chosen: Sequence[tuple[str, str]]) -> IrModule:
    """All calls of the one are calls of the other, and the one is gone."""
    ((name, other),) = chosen
    if all(each.symbol != other for each in module.functions):
        return module  # it has become another one itself

    def renamed(each: Operation) -> Sequence[Operation]:
        if each.is_function and each.symbol == name:
            return ()
        return (with_property(each, "callee", other) if each.setting("callee") == name else each,)

    return changed(module, renamed)


def uncalled(module: IrModule) -> list[Operation]:
    """Functions that nobody calls: their types are their own."""
    names = {text for each in every(module.top) for _, text in each.properties}
    free = (each for each in module.functions if each.symbol not in names)
    return [each for each in free if each.regions and each.regions[0]]


def find_returned(module: IrModule) -> Iterator[tuple[int, int]]:
    """Functions by their keys, and the number of the result."""
    for function in module.functions:
        yield from ((function.key, at) for at in range(len(result_types(function))))


def return_less(module: IrModule, chosen: Sequence[tuple[int, int]]) -> IrModule:
    gone: dict[int, set[int]] = {}
    for key, at in chosen:
        gone.setdefault(key, set()).add(at)

    names = {each.symbol: gone[each.key] for each in module.functions if each.key in gone}

    def lighter(each: Operation) -> Sequence[Operation]:
        if each.setting("callee") in names:
            left_out = names[each.setting("callee")]
            return (replace(each, results=tuple(one for at, one in enumerate(each.results) if at not in left_out)),)
        if each.key not in gone or not each.is_function or not each.regions[0]:
            return (each,)
        left = [kind for at, kind in enumerate(result_types(each)) if at not in gone[each.key]]
        fewer = each.with_blocks(lambda block: _returning_less(block, gone[each.key]))
        return (with_types(fewer, [value.type for value in fewer.regions[0][0].arguments], left),)

    return changed(module, lighter)


def _returning_less(block: ModuleBlock, gone: set[int]) -> ModuleBlock:
    """The block whose return gives no results of these numbers."""
    end = block.operations[-1]
    if end.name not in RETURNS:
        return block
    return block.with_end(replace(end, operands=tuple(key for at, key in enumerate(end.operands) if at not in gone)))


def find_bodies(module: IrModule) -> Iterator[tuple[int, int, int]]:
    """Functions and operations in them by their keys, and the region that is to be the body: of a loop, a branch, a
    partition of warps. Some regions see nothing from outside, so what is missing in them cannot come in as an argument;
    as the body of a function it can."""
    for function in uncalled(module):
        if function.name != _PLAIN:
            yield function.key, function.key, 0
        for each in every(function):
            if each is not function:
                yield from ((function.key, each.key, at) for at, region in enumerate(each.regions) if _whole(region))


def _whole(region: Sequence[ModuleBlock]) -> bool:
    return bool(region) and all(block.operations for block in region)


def take_body(module: IrModule, chosen: Sequence[tuple[int, int, int]]) -> IrModule:
    """The function is one of Triton's own, which takes values of all types: it stands for one of LLVM's, too."""
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


FAMILY = Family("functions", find, apply)
MERGED = Family("functions of one type", find_twins, merge, alone=True)
RETURNED = Family("returned values", find_returned, return_less)
BODIES = Family("bodies", find_bodies, take_body, alone=True)

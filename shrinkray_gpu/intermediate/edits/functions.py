"""Functions go, with the calls of them; declarations, too. One stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shrinkray_gpu.intermediate.model import FUNCTION, IrModule, Operation, every
from shrinkray_gpu.intermediate.rewriting import changed, with_property, without
from shrinkray_gpu.intermediate.search import Family


def find(module: IrModule) -> Iterator[int]:
    """Other operations of the module's own, such as global variables, count as well."""
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


FAMILY = Family("functions", find, apply)
MERGED = Family("functions of one type", find_twins, merge, alone=True)

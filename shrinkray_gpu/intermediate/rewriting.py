"""A module with some operations changed, and closed again: what is used and made nowhere becomes an argument.

An argument of the function dominates everything in it. So any set of operations can go, and the rest still has all its
operands. That is what makes nearly every try a valid program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from shrinkray_gpu.intermediate.generic_text import split
from shrinkray_gpu.intermediate.model import FUNCTION, IrModule, IrValue, Operation, blocks, every, types

Change = Callable[[Operation], Sequence[Operation]]
"""What stands in the place of an operation, whose regions were changed before."""


def changed(module: IrModule, change: Change, values: Mapping[int, int] | None = None) -> IrModule:
    """The module with `change` made of each operation below the top, and operands replaced as `values` says; closed.

    The same object if nothing changed.
    """
    top = _walked(module.top, change, _chased(values or {}))
    return closed(replace(module, top=top), module) if top is not module.top else module


def _walked(operation: Operation, change: Change, values: Mapping[int, int]) -> Operation:
    """The operation with its inner ones changed."""
    different = False
    regions = []
    for region in operation.regions:
        new_blocks = []
        for block in region:
            inner: list[Operation] = []
            for each in block.operations:
                walked = _walked(each, change, values)
                made = change(walked)
                different = different or len(made) != 1 or made[0] is not each
                inner += made
            new_blocks.append(replace(block, operations=tuple(inner)))
        regions.append(tuple(new_blocks))
    used = tuple(values.get(key, key) for key in operation.operands)
    if not different and used == operation.operands:
        return operation
    return replace(operation, operands=used, regions=tuple(regions) if different else operation.regions)


def _chased(values: Mapping[int, int]) -> dict[int, int]:
    """Each value that is replaced, with what it is in the end."""
    found = {}
    for key in values:
        at, seen = key, {key}
        while at in values and values[at] not in seen:
            at = values[at]
            seen.add(at)
        found[key] = at
    return found


def without(module: IrModule, keys: set[int]) -> IrModule:
    """The module without these operations."""
    return changed(module, lambda each: () if each.key in keys else (each,))


def closed(module: IrModule, before: IrModule) -> IrModule:
    """The module whose functions take as arguments what they use and do not make, and whose calls hand that over.

    `before`: the module of which it was made, in which calls and functions agree.
    """
    kinds = {**types(module), **types(before)}
    known = _arguments(before)
    while True:
        inner = tuple(_closed(each, kinds) if each.is_function else each for each in module.top.inner())
        block = module.top.regions[0][0]
        module = replace(module, top=replace(module.top, regions=((replace(block, operations=inner),),)))
        now = _arguments(module)
        if all(known.get(name, now[name]) == now[name] for name in now):
            return module
        module = replace(module, top=_walked(module.top, partial(_called_with, known, now), {}))
        known = {**known, **now}


def _arguments(module: IrModule) -> dict[str, tuple[int, ...]]:
    """The keys of each function's arguments, by the text that a call names it with."""
    return {
        each.symbol: tuple(value.key for value in each.regions[0][0].arguments)
        for each in module.functions
        if each.regions and each.regions[0]
    }


def _called_with(
    known: Mapping[str, Sequence[int]], now: Mapping[str, Sequence[int]], operation: Operation
) -> Sequence[Operation]:
    """A call with what its function takes by now. A new argument is a value of the caller's with the same key: it takes
    an argument for that itself, unless the function calls itself."""
    callee = operation.setting("callee")
    if callee not in now or known.get(callee, now[callee]) == now[callee]:
        return (operation,)
    given = dict(zip(known[callee], operation.operands))
    return (replace(operation, operands=tuple(given.get(key, key) for key in now[callee])),)


def _closed(function: Operation, kinds: Mapping[int, str]) -> Operation:
    if not function.regions or not function.regions[0]:
        return function
    made = {value.key for each in every(function) for value in each.results}
    made |= {value.key for block in blocks(function) for value in block.arguments}
    missing: dict[int, IrValue] = {}
    for each in every(function):
        for key in each.operands:
            if key not in made:
                missing[key] = IrValue(key, kinds[key])
    if not missing:
        return function
    entry = function.regions[0][0]
    return with_arguments(function, (*entry.arguments, *missing.values()))


def with_arguments(function: Operation, arguments: Sequence[IrValue]) -> Operation:
    """The function with these arguments; what was said of those it had stays with them."""
    region = function.regions[0]
    entry = region[0]
    said = dict(zip((value.key for value in entry.arguments), attributes_of_arguments(function)))
    changed_entry = replace(entry, arguments=tuple(arguments))
    whole = replace(function, regions=((changed_entry, *region[1:]), *function.regions[1:]))
    whole = with_types(whole, [value.type for value in arguments], result_types(function))
    return with_attributes_of_arguments(whole, [said.get(value.key, "{}") for value in arguments])


def attributes_of_arguments(function: Operation) -> list[str]:
    """A dictionary's text for each argument."""
    count = len(function.regions[0][0].arguments) if function.regions and function.regions[0] else 0
    said = function.setting("arg_attrs")
    return split(said.strip()[1:-1]) if said else ["{}"] * count


def with_attributes_of_arguments(function: Operation, said: Sequence[str]) -> Operation:
    needed = any(each.strip() != "{}" for each in said)
    return with_property(function, "arg_attrs", f"[{', '.join(said)}]" if needed else None)


def result_types(function: Operation) -> list[str]:
    text = function.setting(FUNCTION)
    after = text[len(_taken(text)) :].strip().removeprefix("->").strip()
    return split(after[1:-1]) if after.startswith("(") and after.endswith(")") else split(after)


def _taken(text: str) -> str:
    """`(a, b)` of `(a, b) -> c`."""
    depth = 0
    for at, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if not depth:
            return text[: at + 1]
    return text


def with_types(function: Operation, takes: Sequence[str], gives: Sequence[str]) -> Operation:
    return with_property(function, FUNCTION, f"({', '.join(takes)}) -> ({', '.join(gives)})")


def with_property(operation: Operation, name: str, value: str | None) -> Operation:
    """The operation with a property set; without it where the value is None."""
    rest = [(own, value if own == name else text) for own, text in operation.properties if own != name or value]
    if value and name not in dict(operation.properties):
        rest.append((name, value))
    return replace(operation, properties=tuple((own, text or "") for own, text in rest))

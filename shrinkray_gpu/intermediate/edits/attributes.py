"""What is said of arguments, of operations and of the module, where it may be left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shrinkray_gpu.intermediate.generic_text import split
from shrinkray_gpu.intermediate.model import IrModule, Operation, every
from shrinkray_gpu.intermediate.rewriting import (
    attributes_of_arguments,
    changed,
    with_attributes_of_arguments,
    with_property,
)
from shrinkray_gpu.intermediate.search import Family

_OPTIONAL = ("noinline", "sym_visibility", "res_attrs")
"""Properties without which an operation is still whole."""
Place = tuple[int, str, str]
"""An operation by its key, which kind of attribute, and its name; of an argument's: its number before the name."""
_OF_TARGET = ("ttg.", "triton_gpu.")
"""What begins so tells passes how many warps there are, and for which target they are. It stays: on a module without it
a pass that was mended may fail for that reason. The second one is of Triton 3.0 and 3.1."""


def find(module: IrModule) -> Iterator[Place]:
    yield from ((module.top.key, "own", name) for name, _ in module.top.attributes if not name.startswith(_OF_TARGET))
    for each in every(module.top):
        if each.key == module.top.key:
            continue
        yield from ((each.key, "own", name) for name, _ in each.attributes)
        yield from ((each.key, "property", name) for name, _ in each.properties if name in _OPTIONAL)
        if each.is_function:
            for at, said in enumerate(attributes_of_arguments(each)):
                yield from ((each.key, "argument", f"{at} {_name(entry)}") for entry in _entries(said))


def apply(module: IrModule, chosen: Sequence[Place]) -> IrModule:
    places = set(chosen)
    keys = {key for key, _, _ in places}

    def plainer(each: Operation) -> Sequence[Operation]:
        return (_plainer(each, places),) if each.key in keys else (each,)

    smaller = changed(module, plainer)
    top = _plainer(smaller.top, places)
    return replace(smaller, top=top) if top != smaller.top else smaller


def _plainer(operation: Operation, places: set[Place]) -> Operation:
    kept = tuple(each for each in operation.attributes if (operation.key, "own", each[0]) not in places)
    made = replace(operation, attributes=kept)
    for name in _OPTIONAL:
        if (operation.key, "property", name) in places:
            made = with_property(made, name, None)
    if operation.is_function and any(key == operation.key and kind == "argument" for key, kind, _ in places):
        said = []
        for at, entries in enumerate(attributes_of_arguments(operation)):
            left = [
                entry
                for entry in _entries(entries)
                if (operation.key, "argument", f"{at} {_name(entry)}") not in places
            ]
            said.append("{" + ", ".join(left) + "}")
        made = with_attributes_of_arguments(made, said)
    return made


def _entries(dictionary: str) -> list[str]:
    return [entry for entry in split(dictionary.strip()[1:-1]) if entry]


def _name(entry: str) -> str:
    return entry.partition("=")[0].strip()


FAMILY = Family("attributes", find, apply)

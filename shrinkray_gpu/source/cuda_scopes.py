"""What names stand for in CUDA C++ that is put somewhere else, and what its own variables are called there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain, count

from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.source.cuda import Source, declarator_name, words
from shrinkray_gpu.source.cuda_classes import ClassParts, names_in

_BINDERS = ("parameter_declaration", "for_range_loop")
"""What gives a name to something within a body, beside a declaration."""


class Stuck(Exception):
    """An object is used as a whole, or by a method that is more than one expression where one is needed."""


@dataclass(frozen=True, eq=False)
class NameMeanings:
    """What names stand for in a text: fields and parameters, and the class whose methods can be called by name."""

    names: Mapping[str, str] = field(default_factory=dict)
    record: ClassParts | None = None
    depth: int = 0

    def beside(self, more: Mapping[str, str]) -> NameMeanings:
        return NameMeanings({**self.names, **more}, self.record, self.depth + 1)


class FreshNames:
    """Of a function that gets variables of others: no two are called the same."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken

    def of(self, name: str) -> str:
        """The name, or one like it that nothing has in the function."""
        found = next(each for each in chain([name], (f"{name}{n}" for n in count(2))) if each not in self.taken)
        self.taken.add(found)
        return found

    def of_body(self, source: Source, body: Node, scope: NameMeanings) -> dict[str, str]:
        """What the variables of a body are called. A variable of the caller's that is given to it would be another one
        by the same name. Raises Stuck where one is called as what is given."""
        made = {source.of(name) for each in body.walk() if each.kind == "declaration" for name in names_in(each)}
        bound = [declarator_name(each.child("declarator")) for each in body.walk() if each.kind in _BINDERS]
        others = {source.of(name) for name in bound if name is not None}
        if (made | others) & scope.names.keys() or others & {*chain(*map(words, scope.names.values()))}:
            raise Stuck
        return {name: self.of(name) for name in sorted(made)}

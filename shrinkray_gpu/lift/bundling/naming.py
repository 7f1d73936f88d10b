"""A name of its own for every global of the one file: the one it had, where no other has it and no local hides it."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterator, Mapping, Sequence

import libcst as cst
from libcst.metadata import GlobalScope, Scope

from shrinkray_gpu.lift.bundling.meaning import Meanings
from shrinkray_gpu.lift.bundling.trouble import Unmergeable
from shrinkray_gpu.lift.bundling.units import Unit
from shrinkray_gpu.lift.bundling.variable import Variable
from shrinkray_gpu.source.kernels import is_kernel


def name_table(meanings: Meanings, order: Sequence[Unit]) -> dict[Variable, str]:
    """The name of each variable that is mentioned at all."""
    return _Names(meanings, order).choose()


class _Names:
    def __init__(self, meanings: Meanings, order: Sequence[Unit]) -> None:
        self.meanings = meanings
        self.at = {unit: number for number, unit in enumerate(order)}
        self.pinned = {unit for unit in order if unit.reflects}
        self.pinned |= {unit for unit in meanings.objects if meanings.lives(unit)}
        self.free = {name for unit in order for name in unit.free}
        self.words = {word for unit in order for word in unit.words}
        self.hidden = {unit: _locals(unit, meanings) for unit in order}
        self.taken: dict[str, Variable] = {}

    def choose(self) -> dict[Variable, str]:
        found = {id(each): each for each in self.meanings.variables.values() if each.seen or each.written}
        variables = [*found.values(), *self.meanings.objects.values()]
        for each in sorted(variables, key=self._urgency):
            name = next(name for name in self._wishes(each) if self._fits(each, name))
            if name != each.name and (each.fixed or (each.unit in self.pinned and each.module is None)):
                why = "it finds its globals by name" if each.unit in self.pinned else "an import of a library binds it"
                raise Unmergeable(each.unit.name, f"its `{each.name}` is something else in another module, and {why}")
            self.taken[name] = each
        return {each: name for name, each in self.taken.items()}

    def _urgency(self, each: Variable) -> tuple[int, int, str]:
        """Kernels keep their names, since these are part of what is compiled and of what a fault is told by."""
        kernel = any(
            isinstance(node, cst.FunctionDef) and is_kernel(each.unit.program, node) for node in each.definitions
        )
        defined = any(isinstance(node, (cst.FunctionDef, cst.ClassDef)) for node in each.definitions)
        ranks = (each.fixed, each.unit in self.pinned and not each.module, kernel, each.unit.main, defined)
        return next((rank for rank, yes in enumerate(ranks) if yes), len(ranks)), self.at[each.unit], each.name

    def _wishes(self, each: Variable) -> Iterator[str]:
        yield each.name
        owner = "script" if each.unit.main else each.unit.last
        longer = f"{owner.strip('_')}{'' if each.name.startswith('_') else '_'}{each.name}"
        names = [longer, *(f"{longer}_{number}" for number in range(2, 1000))]
        yield from (name for name in names if name not in self.words and not keyword.iskeyword(name))

    def _fits(self, each: Variable, name: str) -> bool:
        if name in self.taken or name in self.free:
            return False
        if hasattr(builtins, name) and each.name not in each.unit.globals:
            return False  # an attribute that is assigned from outside: until then there is none
        return not any(
            name in self.hidden[unit].get(scope, ()) for unit, node in each.seen for scope in unit.around(node)
        )


def _locals(unit: Unit, meanings: Meanings) -> Mapping[Scope, set[str]]:
    """The names that each scope but that of the module binds, and still binds in the one file."""
    found: dict[Scope, set[str]] = {}
    for binding in unit.bindings:
        if binding.scope is not None and not isinstance(binding.scope, GlobalScope):
            if binding not in meanings.aliases:
                found.setdefault(binding.scope, set()).add(binding.name)
    return found

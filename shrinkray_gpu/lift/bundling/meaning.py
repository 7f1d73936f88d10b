"""Which global of which module every name stands for.

`from mod import f` makes a variable of its own: what is assigned to `mod.f` later does not change it. Where nothing is
ever assigned later, the two are one; so they are in the one file. Otherwise the import becomes an assignment. In the
same way `mod.f` is the global `f` of `mod`, and a module that is used otherwise (passed on, looked into) is an object.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import libcst as cst
from libcst.metadata import ClassScope, GlobalScope

from shrinkray_gpu.lift.bundling.imports import Import
from shrinkray_gpu.lift.bundling.reading import Reader
from shrinkray_gpu.lift.bundling.trouble import Unmergeable
from shrinkray_gpu.lift.bundling.units import Unit
from shrinkray_gpu.lift.bundling.variable import LocalModule, NameMeaning, Variable
from shrinkray_gpu.source.names_read import is_target
from shrinkray_gpu.source.scoping import Binding, variables_by_place
from shrinkray_gpu.source.tree import ancestors, dotted_text, every

_UNKNOWABLE = frozenset({"__path__", "__spec__", "__loader__", "__cached__"})
_WRITERS = frozenset({"setattr", "delattr", "patch", "object", "multiple", "setitem", "reload"})


class Meanings:
    """All of them, for the modules that are merged."""

    def __init__(self, reader: Reader, merged: Mapping[str, Unit], base: Path | None = None) -> None:
        """`base`: the folder from which modules below it name their own files."""
        self.reader, self.merged, self.base = reader, merged, base
        self.units = list(merged.values())
        self.variables: dict[tuple[Unit, str], Variable] = {}
        self.libraries: dict[str, Variable] = {}
        self.objects: dict[Unit, Variable] = {}
        self.literals: list[tuple[Unit, cst.CSTNode, str | None]] = []
        self.stores: list[tuple[Unit, cst.Attribute, Variable]] = []
        """`mod.name = value`: in a function it asks for `global name`."""
        self.aliases: set[Binding] = set()
        """Variables that are another one in the one file; nothing binds them there."""
        self._known: dict[tuple[Unit, str], NameMeaning | None] = {}
        self._keys: dict[str, str] = {}
        for unit in self.units:
            self._module(unit)
        grown = 0
        while grown < len(self.objects):
            grown = len(self.objects)
            for unit in list(self.objects):
                for variable in self.members(unit).values():
                    variable.seen.append((unit, unit.program.module))
        self._objects()

    # What a name means

    def resolve(self, unit: Unit, name: str) -> NameMeaning | None:
        """The global `name` of a merged module, or its submodule; None if it has neither."""
        if (unit, name) not in self._known:
            binding = unit.globals.get(name)
            full = None if unit.main else self.reader.submodule(unit.name, name)
            if binding is not None:
                # `from . import name` asks for itself: it is the module then
                self._known[unit, name] = LocalModule(full) if full is not None else self.variable(unit, name)
                self._known[unit, name] = self.meaning(unit, binding)
            else:
                if full is not None and name in self._stored:
                    raise Unmergeable(full, f"some statement assigns to `{unit.last}.{name}`")
                self._known[unit, name] = LocalModule(full) if full is not None else None
        return self._known[unit, name]

    def meaning(self, unit: Unit, binding: Binding) -> NameMeaning | None:
        """What a variable of a module or function is; None: its own local one."""
        each = self.target(unit, binding)
        world = isinstance(binding.scope, GlobalScope)
        plain = not (binding.declared or self._deleted(unit, binding) or (world and binding.name in self._stored))
        if each is not None and plain and not isinstance(binding.scope, ClassScope):
            found = self.reach(each)
            if isinstance(found, LocalModule) and found.name in self.merged:
                return found
            if isinstance(found, Variable) and self._settled(found, unit):
                return found
        return self._own(unit, binding) if world else None

    def target(self, unit: Unit, binding: Binding) -> Import | None:
        """What the variable is imported as, if that is all that it ever is."""
        brought = [unit.imports_by_alias.get(place) for place in binding.places]
        first = brought[0]
        if first is None or any(each is None for each in brought):
            return None
        if len({self._key(each) for each in brought if each is not None}) > 1:
            return None
        return first

    def _key(self, each: Import) -> str:
        """What an import binds, by full name, where it comes from; ours may hand on what they got from a library."""
        if each.key not in self._keys:
            self._keys[each.key] = each.key
            found = None if each.whole else self.reach(each)
            if isinstance(found, Variable) and found.key:
                self._keys[each.key] = found.key
        return self._keys[each.key]

    def reach(self, each: Import) -> NameMeaning | None:
        """What an import binds; None: something of a library, or nothing."""
        first, *rest = each.module.split(".")
        if self.reader.finder.find(first) is None:
            return None
        if each.whole:
            return LocalModule(first)
        found: NameMeaning | None = LocalModule(each.module)
        if each.name is not None:
            found = self._attribute(LocalModule(each.module), each.name)
            unit = self.merged.get(each.module)
            full = self.reader.submodule(each.module, each.name)
            if full is not None and unit is not None and each.alias in unit.imports_by_alias:
                return LocalModule(full)  # a package that imports its own module, where nothing else has that name yet
            return found
        if rest:  # `import a.b as c` takes what the attribute `b` of `a` is by then
            found = LocalModule(first)
            for part in rest:
                found = self._attribute(found, part) if isinstance(found, LocalModule) else None
        return found

    def _attribute(self, module: LocalModule, name: str) -> NameMeaning | None:
        unit = self.merged.get(module.name)
        if unit is not None:
            return self.resolve(unit, name)
        full = self.reader.submodule(module.name, name)
        return LocalModule(full) if full is not None else None

    def _own(self, unit: Unit, binding: Binding) -> Variable:
        variable = self.variable(unit, binding.name)
        each = self.target(unit, binding)
        if each is None or binding.declared or binding.name in self._stored or self._deleted(unit, binding):
            variable.fixed = variable.fixed or self._bound_by_path(unit, binding)
            return variable
        found = self.reach(each)
        if found is None or (isinstance(found, LocalModule) and found.name not in self.merged):
            variable = self.libraries.setdefault(each.key, variable)
            variable.key = each.key
            if self._bound_by_path(unit, binding):
                variable.fixed, variable.name = True, binding.name
            self.variables[unit, binding.name] = variable
        return variable

    def _bound_by_path(self, unit: Unit, binding: Binding) -> bool:
        brought = (unit.imports_by_alias.get(place) for place in binding.places)
        return any(each is not None and each.whole and "." in each.module for each in brought)

    def variable(self, unit: Unit, name: str) -> Variable:
        return self.variables.setdefault((unit, name), Variable(unit, name))

    def object(self, unit: Unit) -> Variable:
        """The variable that holds a merged module."""
        if unit.main:
            raise Unmergeable(unit.name, "it is used as an object")
        return self.objects.setdefault(unit, Variable(unit, unit.last, module=unit))

    def _objects(self) -> None:
        """What the objects need: their members, where these are modules, and the library that makes them."""
        for unit in self.objects:
            key = "sys" if self.lives(unit) else "types"  # what makes the object, see `writing`
            library = self.libraries.setdefault(key, Variable(unit, key, key))
            library.seen.append((unit, unit.program.module))
            self.variables.setdefault((unit, f"import {key}"), library)

    def members(self, unit: Unit) -> dict[str, Variable]:
        """The attributes of a module as an object, and the globals that they are."""
        found = {}
        inner = (name.rpartition(".")[2] for name in self.merged if name.rpartition(".")[0] == unit.name)
        for name in dict.fromkeys((*unit.globals, *inner)):
            meaning = self.resolve(unit, name)
            if isinstance(meaning, Variable):
                found[name] = meaning
            elif isinstance(meaning, LocalModule) and meaning.name in self.merged and name in self._words:
                found[name] = self.object(self.merged[meaning.name])
        return found

    @cached_property
    def _words(self) -> frozenset[str]:
        """Names of attributes that the program mentions, also as strings."""
        names = {each.attr.value for unit in self.units for each in every(unit.program, cst.Attribute)}
        strings = (each.evaluated_value for unit in self.units for each in every(unit.program, cst.SimpleString))
        return frozenset(names.union(each for each in strings if isinstance(each, str)))

    # What changes behind one's back

    @cached_property
    def _stored(self) -> frozenset[str]:
        """Attributes that are assigned to on something imported. Taken by name, whatever it is an attribute of."""
        return frozenset(
            node.attr.value
            for unit in self.units
            for node in every(unit.program, cst.Attribute)
            if is_target(node, unit.program.parents)
            and dotted_text(node).partition(".")[0] in {each.name for each in unit.bindings if each.is_import}
        )

    @cached_property
    def stored_anywhere(self) -> frozenset[str]:
        return frozenset(
            node.attr.value
            for unit in self.units
            for node in every(unit.program, cst.Attribute)
            if is_target(node, unit.program.parents) and dotted_text(node.value) not in ("self", "cls")
        )

    @cached_property
    def _written_by_name(self) -> bool:
        calls = (call for unit in self.units for call in every(unit.program, cst.Call))
        return any(dotted_text(call.func).rpartition(".")[2] in _WRITERS for call in calls)

    def _deleted(self, unit: Unit, binding: Binding) -> bool:
        return any(isinstance(unit.program.parents[name], cst.Del) for name in binding.reads)

    def _settled(self, variable: Variable, reader: Unit) -> bool:
        """Whether the variable has its last value by the time that another module imports it."""
        unit, name = variable.unit, variable.name
        binding = unit.globals.get(name)
        if variable.key:
            return name not in self._stored
        if binding is None or binding.declared or name in self._stored or self._deleted(unit, binding):
            return False
        once = len(binding.places) == 1 and not any(
            isinstance(above, (cst.For, cst.While)) for above in ancestors(unit.program, binding.names[0])
        )
        return once or reader not in self._reached(unit)

    def _reached(self, unit: Unit) -> list[Unit]:
        """All that a module leads to."""
        found = [unit]
        for each in found:
            for one in (one for group in each.imports.values() for one in group):
                for name in self.reader.modules_of(each, one):
                    inner = self.merged.get(name)
                    if inner is not None and inner not in found:
                        found.append(inner)
        return found[1:]

    def lives(self, unit: Unit) -> bool:
        """Whether a module used as an object may change, be changed through it, or be used before it is through."""
        names = unit.globals
        if any(self.units.index(user) <= self.units.index(unit) for user, _ in self.objects[unit].seen):
            return True
        if self._written_by_name or self.stored_anywhere.intersection(names):
            return True
        return any(binding.declared for binding in names.values())

    # Who mentions what

    def _ambiguous(self, unit: Unit) -> None:
        """`package.name` is the module of that name or a variable, whichever came last: `from .name import name` is
        common and clear, the rest is not."""
        for name, binding in unit.globals.items():
            full = f"{unit.name}.{name}"
            if full not in self.merged:
                continue
            for place in binding.places:
                each = unit.imports_by_alias.get(place)
                if each is None or (each.module != full and self.reach(each) != LocalModule(full)):
                    raise Unmergeable(unit.name, f"its `{name}` is a module and something else as well")

    def _module(self, unit: Unit) -> None:
        self._ambiguous(unit)
        for binding in unit.bindings:
            world = isinstance(binding.scope, GlobalScope)
            found = self.resolve(unit, binding.name) if world else self.meaning(unit, binding)
            if isinstance(found, LocalModule):
                self.aliases.add(binding)
                for read in binding.reads:
                    self._climb(unit, read, found)
            elif found is not None and (not world or found is not self.variables.get((unit, binding.name))):
                self.aliases.add(binding)
                for read in binding.reads:
                    self._mention(found, unit, read)
            else:
                self._stays(unit, binding, found)
        for group in unit.imports.values():
            for each in group:
                self._assigned(unit, each)
        self._about_itself(unit)

    def _stays(self, unit: Unit, binding: Binding, variable: Variable | None) -> None:
        each = self.target(unit, binding)
        module = self.reach(each) if each is not None else None
        reads = list(binding.reads)
        if isinstance(module, LocalModule) and module.name not in self.merged:
            reads = [read for read in reads if not self._climb(unit, read, module)]
        if variable is None:
            return
        variable.definitions.extend(binding.places)
        for place, name in zip(binding.places, binding.names):
            self._mention(variable, unit, name, write=place not in unit.imports_by_alias)
        for read in (*reads, *binding.declared):
            self._mention(variable, unit, read)

    def _mention(self, variable: Variable, unit: Unit, node: cst.CSTNode, *, write: bool = True) -> None:
        variable.seen.append((unit, node))
        if write:
            variable.written.append((unit, node))

    def _climb(self, unit: Unit, read: cst.Name, module: LocalModule) -> bool:
        """Follow `read.a.b` from a module to the variable that it ends in. False: it stays as it stands."""
        parents = unit.program.parents
        node: cst.CSTNode = read
        found: NameMeaning | None = module
        above: cst.CSTNode = parents[node]
        while isinstance(found, LocalModule) and isinstance(above, cst.Attribute) and above.value is node:
            name = above.attr.value
            inner = self.merged.get(found.name)
            stored = is_target(above, parents)
            next_one = self._attribute(found, name)
            if next_one is None and inner is not None:
                if name in ("__name__", "__file__", "__doc__"):
                    self.literals.append((unit, above, _about(inner, name, self.base)))
                    return True
                if stored or name in self._stored:
                    next_one = self.variable(inner, name)
            if next_one is None:
                break
            node, found, above = above, next_one, parents[above]
        if isinstance(found, Variable):
            self._mention(found, unit, node)
            if isinstance(node, cst.Attribute) and is_target(node, parents):
                self.stores.append((unit, node, found))
            return True
        assert found is not None
        if found.name not in self.merged:
            return False
        owner = self.merged[found.name]
        named = _asked_by_name(unit, node)
        if named is not None:
            call, name = named
            variable = self.resolve(owner, name)
            if isinstance(variable, Variable):
                self._mention(variable, unit, call)
                return True
        self._mention(self.object(owner), unit, node)
        return True

    def _assigned(self, unit: Unit, each: Import) -> None:
        """An import that becomes an assignment reads a variable where it stands."""
        binding = self.binding(unit, each)
        if binding in self.aliases:
            return
        source = self.reach(each)
        if isinstance(source, LocalModule):
            source = self.object(self.merged[source.name]) if source.name in self.merged else None
        if source is not None:
            self._mention(source, unit, each.statement, write=False)

    def binding(self, unit: Unit, each: Import) -> Binding | None:
        return variables_by_place(unit.program).get(each.alias)

    def _about_itself(self, unit: Unit) -> None:
        if unit.main:
            return
        for node in unit.free_nodes:
            if node.value in _UNKNOWABLE:
                raise Unmergeable(unit.name, f"it reads {node.value}")
            if node.value in ("__name__", "__file__", "__package__", "__doc__"):
                self.literals.append((unit, node, _about(unit, node.value, self.base)))


def _about(unit: Unit, name: str, base: Path | None) -> str | None:
    """What a module knows of itself."""
    if name == "__name__":
        return unit.name
    if name == "__package__":
        return unit.name if unit.package else unit.name.rpartition(".")[0]
    if name == "__file__":
        if unit.path is None:
            return None
        near = base is not None and unit.path.is_relative_to(base.resolve())
        return os.path.relpath(unit.path, base.resolve()) if base is not None and near else str(unit.path)
    return unit.docstring


def _asked_by_name(unit: Unit, node: cst.CSTNode) -> tuple[cst.Call, str] | None:
    """`getattr(node, "name")`."""
    parent = unit.program.parents[node]
    call = unit.program.parents[parent] if isinstance(parent, cst.Arg) else None
    if not isinstance(call, cst.Call) or dotted_text(call.func) != "getattr" or "getattr" not in unit.free:
        return None
    if len(call.args) != 2 or call.args[0] is not parent:
        return None
    name = call.args[1].value
    value = name.evaluated_value if isinstance(name, cst.SimpleString) else None
    return (call, value) if isinstance(value, str) else None

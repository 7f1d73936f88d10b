"""Reads the modules that a script imports, also by a name in a string, and what these import in turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator

import libcst as cst

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.lift.bundling.imports import Import
from shrinkray_gpu.lift.bundling.module_files import Finder, ModuleFiles
from shrinkray_gpu.lift.bundling.pruning import prune, public
from shrinkray_gpu.lift.bundling.stars import library_names, without_stars
from shrinkray_gpu.lift.bundling.trouble import Unmergeable
from shrinkray_gpu.lift.bundling.units import Unit
from shrinkray_gpu.reduction.program import Program, read_program
from shrinkray_gpu.source.tree import ancestors, docstring, dotted_text, every

MAIN = "__main__"
_LOADERS = frozenset({"import_module", "__import__", "run_module", "find_spec", "reload"})
_PATCHERS = frozenset({"patch", "setattr", "delattr", "resolve_name"})


class Reader:
    """`units` holds what was read, by full name; `bad` why a module of ours cannot be merged. `whole`: the packages
    that are read; of any other one only the modules in it. None: all are read."""

    def __init__(self, finder: Finder, whole: Collection[str] | None = None) -> None:
        self.finder, self.whole = finder, whole
        self.units: dict[str, Unit] = {}
        self.bad: dict[str, str] = {}
        self._public: dict[str, tuple[str, ...] | None] = {}
        self._reading: list[str] = []

    def read_all(self, found: ModuleFiles, program: Program, shown: str) -> Unit:
        """The script, and all that it leads to."""
        main = self._unit(found, program, shown)
        waiting = deque([main])
        seen = {MAIN}
        while waiting:
            unit = waiting.popleft()
            for each in (each for group in unit.imports.values() for each in group):
                if self.is_missing(each) and not _may_fail(unit, each):
                    self.bad.setdefault(each.module, "it lies nowhere below the folders that are searched")
                for name in self.modules_of(unit, each):
                    if name not in seen:
                        seen.add(name)
                        if (found_unit := self.read(name)) is not None:
                            waiting.append(found_unit)
        for unit in self.units.values():
            for name, front in _modules_in_strings(unit, lambda name: self.finder.find(name) is not None):
                for inner in [other for other in self.units if other.startswith(name)] if front and name else [name]:
                    if inner:
                        self.bad.setdefault(inner, f"{unit.shown} loads or changes it by its name in a string")
        return main

    def read(self, name: str) -> Unit | None:
        """The module of this name, if it is one of ours that can be read."""
        if name in self.units:
            return self.units[name]
        found = self.finder.find(name)
        if found is None or name in self.bad:
            return None
        if found.is_compiled:
            self.bad[name] = "it is compiled code"
        elif MAIN in self.units and found.path is not None and found.path == self.units[MAIN].path:
            self.bad[name] = "it is the script itself, imported a second time"
        else:
            shown = self.finder.display_path(found.path or found.folders[0])
            try:
                passed = found.path is None or found.package and self.whole is not None and name not in self.whole
                program = Program.from_text("") if passed or found.path is None else read_program(found.path)
                return self._unit(found, program, shown)
            except UsageError as error:
                self.bad[name] = str(error)
        return None

    def modules_of(self, unit: Unit, each: Import) -> Iterator[str]:
        """The modules of ours that an import loads, in order."""
        for name in each.module_names:
            if self.finder.find(name) is not None:
                yield name
        if each.name is not None and (inner := self.submodule(each.module, each.name)) is not None:
            owner = self.units.get(each.module)
            bound = owner.globals.get(each.name) if owner is not None else None
            if bound is None or owner is unit:
                yield inner

    def packages_asked(self) -> set[str]:
        """The packages of which a module wants more than a module in them."""
        brought = (each for unit in self.units.values() for group in unit.imports.values() for each in group)
        asked = {each.module for each in brought if each.name is None or not self.submodule(each.module, each.name)}
        return {name for name in asked if (found := self.finder.find(name)) is not None and found.package}

    def is_missing(self, each: Import) -> bool:
        """Whether the import names a module of one of our packages that is not there."""
        first = each.module_names[0]
        return self.finder.find(first) is not None and self.finder.find(each.module) is None

    def submodule(self, module: str, name: str) -> str | None:
        """The full name of this module in that package."""
        full = f"{module}.{name}"
        return full if module and self.finder.find(full) is not None else None

    def _unit(self, found: ModuleFiles, program: Program, shown: str) -> Unit:
        name = found.name
        first = docstring(program.module)
        text = getattr(first.value, "evaluated_value", None) if first is not None else None
        futures = frozenset(
            dotted_text(alias.name)
            for each in every(program, cst.ImportFrom)
            if dotted_text(each.module) == "__future__" and not isinstance(each.names, cst.ImportStar)
            for alias in each.names
        )
        self._public[name] = public(program.text)
        self._reading.append(name)
        dotted_name = "" if name == MAIN else name
        plain = prune(program, main=name == MAIN)
        try:
            plain = without_stars(plain, dotted_name, found.package, self._exported)
        except Unmergeable as trouble:
            self.bad.setdefault(name, trouble.why)
        self._reading.pop()
        unit = self.units[name] = Unit(name, found.path, shown, found.package, plain, futures, text)
        if "__getattr__" in unit.globals and name != MAIN:
            self.bad.setdefault(name, "it has a __getattr__ for the names that it does not define")
        return unit

    def _exported(self, module: str, free: frozenset[str]) -> tuple[str, ...]:
        """The names that `from module import *` binds; of a library those of `free` that it knows."""
        if self.finder.find(module) is None:
            return library_names(module, free)
        if module in self._reading:
            raise Unmergeable(module, f"`from {module} import *` in a circle of imports")
        unit = self.read(module)
        if unit is None or module in self.bad:
            raise Unmergeable(module, f"`from {module} import *`, and {module} stays what it is")
        listed = self._public[module]
        if listed is not None:
            return listed
        names = dict.fromkeys(unit.globals)
        for each in (each for group in unit.imports.values() for each in group):
            inner = each.module.removeprefix(f"{module}.")
            if inner != each.module:  # a submodule becomes an attribute as soon as anything imports it
                names.setdefault(inner.partition(".")[0])
        return tuple(name for name in names if not name.startswith("_"))


def _may_fail(unit: Unit, each: Import) -> bool:
    """Whether the program goes on without it."""
    return any(isinstance(above, (cst.Try, cst.With)) for above in ancestors(unit.program, each.statement))


def _modules_in_strings(unit: Unit, known: Callable[[str], bool]) -> Iterator[tuple[str, bool]]:
    """The modules that calls in this one name, as in `import_module("pkg.mod")` and `patch("pkg.mod.name")`, as far as
    they are `known`; of a computed name its front, and True."""
    for call in every(unit.program, cst.Call):
        last = dotted_text(call.func).rpartition(".")[2]
        if not call.args or last not in _LOADERS | _PATCHERS:
            continue
        text, whole = _front(call.args[0].value)
        if text.startswith("."):
            package = unit.name if unit.package else unit.name.rpartition(".")[0]
            text = f"{package}{text}"
        if not whole:
            yield text, True
        while whole and text:
            if known(text):
                yield text, False
                break
            text = text.rpartition(".")[0] if last in _PATCHERS else ""


def _front(node: cst.BaseExpression) -> tuple[str, bool]:
    """What a string surely begins with, and whether that is all of it."""
    if isinstance(node, cst.SimpleString) and isinstance(node.evaluated_value, str):
        return node.evaluated_value, True
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Add, cst.Modulo)):
        return _front(node.left)[0].partition("%")[0], False
    if isinstance(node, cst.FormattedString) and node.parts and isinstance(node.parts[0], cst.FormattedStringText):
        return node.parts[0].value, False
    return "", True

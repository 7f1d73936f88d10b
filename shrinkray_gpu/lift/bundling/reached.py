"""Of the modules that a script imports only what it reaches: the definitions that its own need, and no package whole.

An `__init__.py` of a library imports all of it, some of it by names in strings. What one call needs lies in a few
modules. Here a name of a package stands for where it is defined, and what nothing needs is left out. That may leave out
what a module does on import: whoever uses this runs the result, and compares.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from shrinkray_gpu.lift.bundling.module_files import Finder

MAIN = ""
_OWN = frozenset({"__file__", "__path__", "__spec__", "__loader__"})
_ImportNode = ast.Import | ast.ImportFrom


class NotReached(Exception):
    """Why the text does not tell what is needed."""


class _Found(NamedTuple):
    """Where a name is defined; a module itself has no name."""

    module: str
    name: str = ""


@dataclass(eq=False)
class _Module:
    name: str
    text: str
    package: bool
    statements: list[ast.stmt] = field(default_factory=list)
    bound: dict[str, list[ast.stmt]] = field(default_factory=lambda: defaultdict(list))
    """By name the statements of the top level that bind it."""
    kept: dict[ast.stmt, set[str]] = field(default_factory=dict)
    """Those that are needed; of an import the names that are."""
    brought: dict[tuple[_ImportNode, str], list[_Found]] = field(default_factory=dict)
    """What an import of ours brings by that name; of `*` all that is needed of it."""

    @property
    def main(self) -> bool:
        return self.name == MAIN


class ReachedModules:
    """The script and what it needs, once `read` is done."""

    def __init__(self, finder: Finder) -> None:
        self.finder = finder
        self.alive: dict[str, _Module] = {}
        self.module = cache(self._module)

    def read(self, text: str) -> str:
        """The script, which imports each name from where it is defined. Raises NotReached or SyntaxError."""
        script = _parsed(MAIN, text, package=False)
        self._whole(script)
        return _written(script)

    def write(self, folder: Path) -> None:
        """The modules, below a folder. Packages of which nothing is needed are empty."""
        for name, module in self.alive.items():
            if module.main:
                continue
            place = folder.joinpath(*name.split("."))
            path = place / "__init__.py" if module.package else place.with_suffix(".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_written(module), encoding="utf-8")
        for path in [*folder.rglob("*.py")]:
            for above in path.relative_to(folder).parents:
                if above.parts and not (folder / above / "__init__.py").exists():
                    (folder / above / "__init__.py").write_text("")

    def _module(self, name: str) -> _Module | None:
        """The module of this name, if it is one of ours."""
        found = self.finder.find(name)
        if found is None:
            return None
        if found.is_compiled:
            raise NotReached(f"{name} is compiled code")
        text = found.path.read_text(encoding="utf-8") if found.path is not None else ""
        return _parsed(name, text, package=found.package)

    def _whole(self, module: _Module) -> None:
        self._alive(module)
        for each in module.statements:
            if module.main or not _is_for_its_own_run(each):
                self._keep(module, each, {name for name, places in module.bound.items() if each in places})

    def _alive(self, module: _Module) -> None:
        """What it does on import it does where anything of it is needed."""
        if module.name in self.alive:
            return
        self.alive[module.name] = module
        for each in module.statements:
            if not _binds(each) and not _says_nothing(each):
                self._keep(module, each, set())

    def _need(self, found: _Found) -> None:
        module = self.module(found.module)
        assert module is not None
        if not found.name:
            return self._whole(module)
        self._alive(module)
        for each in module.bound[found.name]:
            self._keep(module, each, {found.name})

    def _keep(self, module: _Module, statement: ast.stmt, names: set[str]) -> None:
        before = module.kept.get(statement)
        if before is not None and names <= before:
            return
        module.kept[statement] = names | (before or set())
        if isinstance(statement, _ImportNode):
            for alias in statement.names:
                if _bound_by(statement, alias) in names or alias.name == "*":
                    self._bring(module, statement, alias)
            return
        if before is not None:
            return
        fallible = any(isinstance(node, ast.Try) for node in ast.walk(statement))
        for node in ast.walk(statement):
            if isinstance(node, _ImportNode):
                for alias in node.names:
                    self._bring(module, node, alias, fallible=fallible)
            elif isinstance(node, ast.Name):
                if node.id in _OWN and not module.main:
                    raise NotReached(f"{module.name} asks where it lies")
                self._read(module, node.id)

    def _read(self, module: _Module, name: str) -> None:
        if name in module.bound:
            for each in module.bound[name]:
                self._keep(module, each, {name})
            return
        for star, origin in _stars(module):
            if found := self._defined(origin, name):
                self._keep(module, star, set())
                module.brought.setdefault((star, "*"), []).append(found)
                self._need(found)
                return

    def _bring(self, module: _Module, node: _ImportNode, alias: ast.alias, *, fallible: bool = False) -> None:
        """Follow one name of an import, if it is of ours. `fallible`: it may fail, and the program goes on."""
        if isinstance(node, ast.Import):
            if self.module(alias.name) is not None:
                self._need(_Found(alias.name))
            return
        origin = _origin(module, node)
        if alias.name == "*" or self.module(origin) is None:
            return
        found = self._defined(origin, alias.name)
        if found is None and fallible:
            return
        if found is None:
            raise NotReached(f"nobody sees where {origin} has {alias.name} from")
        module.brought[node, alias.name] = [found]
        self._need(found)

    def _defined(self, origin: str, name: str, seen: tuple[str, ...] = ()) -> _Found | None:
        """Where `from origin import name` has it from."""
        module = self.module(origin)
        if module is None or origin in seen:
            return None
        places = module.bound.get(name, [])
        if len(places) == 1 and isinstance(statement := places[0], _ImportNode):
            alias = next(each for each in statement.names if _bound_by(statement, each) == name)
            if isinstance(statement, ast.ImportFrom):
                inner = _origin(module, statement)
                if self.module(inner) is not None:
                    return self._defined(inner, alias.name, (*seen, origin))
            elif alias.asname and self.module(alias.name) is not None:
                return _Found(alias.name)
        if places:
            return _Found(origin, name)
        if self.module(f"{origin}.{name}") is not None:
            return _Found(f"{origin}.{name}")
        starred = (self._defined(other, name, (*seen, origin)) for _, other in _stars(module))
        return next(filter(None, starred), None)


def _parsed(name: str, text: str, *, package: bool) -> _Module:
    module = _Module(name, text, package, ast.parse(text).body)
    for each in module.statements:
        for bound in _binds(each):
            module.bound[bound].append(each)
    return module


def _binds(statement: ast.stmt) -> set[str]:
    """The names of the module that a statement of its top level binds."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, _ImportNode):
        return {_bound_by(statement, alias) for alias in statement.names}
    found = {statement.id} if isinstance(statement, ast.Name) and isinstance(statement.ctx, ast.Store) else set()
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            found |= _binds(child)  # type: ignore[arg-type]
    return found


def _bound_by(node: _ImportNode, alias: ast.alias) -> str:
    return alias.asname or (alias.name.split(".")[0] if isinstance(node, ast.Import) else alias.name)


def _origin(module: _Module, node: ast.ImportFrom) -> str:
    """The full name of the module that the import names."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    parts = parts[: len(parts) - node.level + module.package]
    return ".".join([*parts, *filter(None, [node.module])])


def _stars(module: _Module) -> Iterator[tuple[ast.ImportFrom, str]]:
    for each in module.statements:
        if isinstance(each, ast.ImportFrom) and each.names[0].name == "*":
            yield each, _origin(module, each)


def _says_nothing(statement: ast.stmt) -> bool:
    """Whether it is a docstring, or there for the module's own run."""
    text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return text or isinstance(statement, ast.Pass) or _is_for_its_own_run(statement)


def _is_for_its_own_run(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.If):
        return False
    return any(isinstance(each, ast.Name) and each.id == "__name__" for each in ast.walk(statement.test))


def _written(module: _Module) -> str:
    """Its text without what is not needed. Raises NotReached where two statements share a line."""
    lines = module.text.encode().splitlines(keepends=True)
    out: list[str] = []
    end = 0
    for each in module.statements:
        first = min([each.lineno, *(one.lineno for one in getattr(each, "decorator_list", ()))])
        if first <= end:
            raise NotReached(f"{module.name or 'the script'} has two statements in line {first}")
        future = isinstance(each, ast.ImportFrom) and each.module == "__future__"
        if module.main:
            out += [line.decode() for line in lines[end : first - 1]]  # comments, which may be marks
        end = each.end_lineno or first
        if not (each in module.kept or future):
            continue
        edits = [
            (node, "; ".join(found))
            for node in ast.walk(each)
            if isinstance(node, _ImportNode) and (found := _imports(module, each, node)) is not None
        ]
        text = _edited(lines, first, end, edits)
        out.append(text if text.endswith("\n") else text + "\n")
    out += [line.decode() for line in lines[end:]] if module.main else []
    return "".join(out)


def _imports(module: _Module, statement: ast.stmt, node: _ImportNode) -> list[str] | None:
    """What becomes of an import, a statement each; None: it stays as it is."""
    names = module.kept.get(statement, set()) if node is statement else None
    wanted = [each for each in node.names if names is None or each.name == "*" or _bound_by(node, each) in names]
    if isinstance(node, ast.Import):
        return None if len(wanted) == len(node.names) else [ast.unparse(ast.Import(wanted))]
    if (node, "*") in module.brought:
        return sorted({_line(found, found.name) for found in module.brought[node, "*"]})
    ours = any((node, each.name) in module.brought for each in wanted)
    if len(wanted) == len(node.names) and not ours:
        return None
    found: list[str] = []
    for each in wanted:
        brought = module.brought.get((node, each.name))
        plain = ast.ImportFrom(node.module, [each], node.level)
        found.append(_line(brought[0], each.asname or each.name) if brought else ast.unparse(plain))
    return found or ["pass"]


def _line(found: _Found, bound: str) -> str:
    module, _, last = found.module.rpartition(".")
    if not found.name and not module:
        return f"import {last}" + ("" if bound == last else f" as {bound}")
    origin, name = (found.module, found.name) if found.name else (module, last)
    return f"from {origin} import {name}" + ("" if bound == name else f" as {bound}")


def _edited(lines: Sequence[bytes], first: int, end: int, edits: Sequence[tuple[_ImportNode, str]]) -> str:
    """Lines `first` to `end`, with these nodes in other words."""
    starts = [0]
    for line in lines[first - 1 : end]:
        starts.append(starts[-1] + len(line))
    text = b"".join(lines[first - 1 : end])
    for node, words in sorted(edits, key=lambda edit: -edit[0].lineno):
        begin = starts[node.lineno - first] + node.col_offset
        stop = starts[(node.end_lineno or node.lineno) - first] + (node.end_col_offset or 0)
        text = text[:begin] + words.encode() + text[stop:]
    return text.decode()

"""The text: every module with the new names in it, cut where other modules run, and put together in that order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from shrinkray_gpu.lift.bundling.imports import Import
from shrinkray_gpu.lift.bundling.meaning import Meanings
from shrinkray_gpu.lift.bundling.order import Order
from shrinkray_gpu.lift.bundling.trouble import Unmergeable
from shrinkray_gpu.lift.bundling.units import Unit
from shrinkray_gpu.lift.bundling.variable import LocalModule, Variable
from shrinkray_gpu.reduction.edit import Edit, Insert, Remove, Replace
from shrinkray_gpu.reduction.positions import lay_out
from shrinkray_gpu.reduction.rendering.render import effective, render
from shrinkray_gpu.source.tree import ancestors, docstring, statements

_MARK = re.compile(r'^([ \t]*)"@@shrink here: (\d+)@@"\n', re.MULTILINE)


@dataclass(frozen=True)
class _Part:
    """A stretch of the one file that comes from one module."""

    unit: Unit
    text: str


class BundleWriter:
    """`number` gives the modules in the order in which their text begins."""

    def __init__(self, meanings: Meanings, order: Order, names: Mapping[Variable, str], units: Sequence[Unit]) -> None:
        self.meanings, self.order, self.names = meanings, order, names
        self.units = list(units)
        self.present: set[tuple[str, str]] = set()
        """Library imports that have surely run by now: what they import, and as what."""
        self.lines: dict[cst.CSTNode, list[str]] = {}
        """What becomes of each import statement."""
        self.makers: dict[Unit, list[str]] = {}
        """The statements that make a module an object."""

    def _settle(self, unit: Unit) -> None:
        """Go through the imports in the order in which they will run: what is there already is not imported again."""
        spans = unit.program.layout.outer
        events: list[tuple[int, int, cst.CSTNode]] = [(spans[each][0], 1, each) for each in unit.imports]
        events += [(spans[node][0], 0, node) for node in self.order.before if node in spans]
        early = unit in self.meanings.objects and self.meanings.lives(unit)
        if early:
            self.makers[unit] = self._maker(unit)
        for _, after, node in sorted(events, key=lambda event: event[:2]):
            if after:
                lines = [line for each in unit.imports[node] for line in self._import(unit, each)]  # type: ignore[index]
                self.lines[node] = _joined(lines)
            else:
                for other in self.order.before[node]:
                    self._settle(other)
        if unit in self.meanings.objects and not early:
            self.makers[unit] = self._maker(unit)
        for other in self.order.after.get(unit, ()):
            self._settle(other)

    def write(self, main: Unit) -> str:
        self._settle(main)
        out = ""
        last = main
        for part in self._parts(main):
            text = part.text.strip("\n")
            if not text.strip() or (not part.unit.main and not _has_code(text)):
                continue
            if part.unit is not last:
                text = f"# {part.unit.shown}\n{text}"
            out += (("\n" if part.unit is last else "\n\n") if out else "") + text + "\n"
            last = part.unit
        return out

    def _parts(self, unit: Unit) -> Iterator[_Part]:
        """The pieces of a module with those of others between them."""
        if unit in self.meanings.objects and self.meanings.lives(unit):
            yield _Part(unit, "\n".join(self.makers[unit]) + "\n")
        text, at = self._rendered(unit), 0
        for mark in _MARK.finditer(text):
            if mark[1]:
                continue
            yield _Part(unit, self._nested(text[at : mark.start()]))
            at = mark.end()
            yield from self._parts(self.units[int(mark[2])])
        yield _Part(unit, self._nested(text[at:]))
        if unit in self.meanings.objects and not self.meanings.lives(unit):
            yield _Part(unit, "\n".join(self.makers[unit]) + "\n")
        for later in self.order.after.get(unit, ()):
            yield from self._parts(later)

    def _nested(self, text: str) -> str:
        """The same with the modules in it that run within a block."""

        def put(mark: re.Match[str]) -> str:
            unit = self.units[int(mark[2])]
            pieces = [part.text.strip("\n") for part in self._parts(unit)]
            inner = f"# {unit.shown}\n" + "".join(f"{piece}\n" for piece in pieces if piece.strip())
            if not any(_has_code(piece) for piece in pieces):
                return ""
            layout = lay_out(cst.parse_module(inner))
            return layout.reindent(0, len(inner), "", mark[1])

        return _MARK.sub(put, text)

    def _rendered(self, unit: Unit) -> str:
        """One module, with a mark where another one goes."""
        edits = [*self._marks(unit), *self._imports(unit), *self._uses(unit), *self._declarations(unit)]
        if len(effective(unit.program, edits)) < len(edits):
            raise Unmergeable(unit.name, "a name in it stands where its new one cannot")
        return render(unit.program, edits).text

    def _marks(self, unit: Unit) -> Iterator[Edit]:
        if unit.main:
            wanted = sorted({name for each in self.units for name in each.futures} - unit.futures)
            first = _first(unit)
            if wanted and first is not None:
                yield Edit("futures", (Insert(first, ((f"from __future__ import {', '.join(wanted)}",),)),))
        for node, others in self.order.before.items():
            if node in unit.program.parents:
                for other in others:
                    yield Edit("mark", (Insert(node, ((f'"@@shrink here: {self.units.index(other)}@@"',),)),))

    def _uses(self, unit: Unit) -> Iterator[Edit]:
        for variable, name in self.names.items():
            for owner, node in variable.written:
                if owner is unit and not (isinstance(node, cst.Name) and node.value == name):
                    yield Edit("name", (Replace(node, (name,)),))
        for owner, node, value in self.meanings.literals:
            if owner is unit:
                yield Edit("literal", (Replace(node, (_literal(unit, node, value),)),))

    def _declarations(self, unit: Unit) -> Iterator[Edit]:
        """`global name` for what a function assigns to an attribute of a module."""
        wanted: dict[cst.CSTNode, dict[str, None]] = {}
        for owner, node, variable in self.meanings.stores:
            if owner is unit:
                for above in ancestors(unit.program, node):
                    if isinstance(above, (cst.FunctionDef, cst.ClassDef)):
                        wanted.setdefault(above, {})[self.names[variable]] = None
                        break
        for around, names in wanted.items():
            body = around.body  # type: ignore[attr-defined]
            inner = [each for each in statements(body) if each is not docstring(body)]
            yield Edit("global", (Insert(inner[0], ((f"global {', '.join(names)}",),)),))

    # Imports

    def _imports(self, unit: Unit) -> Iterator[Edit]:
        for statement, brought in unit.imports.items():
            if not brought or brought[0].module == "__future__":
                continue
            lines = self.lines[statement]
            was = _joined([each.text(each.bound) for each in brought])
            relative = isinstance(statement, cst.ImportFrom) and statement.relative
            if lines == was and not relative:
                continue
            changes = [Insert(statement, tuple((line,) for line in lines))] if lines else []
            yield Edit("import", (*changes, Remove(statement)))

    def _import(self, unit: Unit, each: Import) -> list[str]:
        """What becomes of one name of an import statement, as lines."""
        binding = self.meanings.binding(unit, each)
        if binding in self.meanings.aliases:
            return []
        found = self.meanings.reach(each)
        variable = self.meanings.variables.get((unit, each.bound))
        world = binding is not None and binding.name in unit.globals and unit.globals[binding.name] is binding
        bound = self.names.get(variable, each.bound) if world and variable is not None else each.bound
        if isinstance(found, Variable):
            return [f"{bound} = {self.names[found]}"] if bound != self.names[found] or not world else []
        ours = self.meanings.merged
        if isinstance(found, LocalModule) and found.name in ours:
            return [f"{bound} = {self.names[self.meanings.object(ours[found.name])]}"]
        if each.module in ours and each.name is not None:
            return [f'raise ImportError("cannot import name {each.name!r} from {each.module!r}")']
        if self.meanings.reader.is_missing(each) and each.module_names[0] in ours:
            return [f'raise ModuleNotFoundError("No module named {each.module!r}")']
        if each.whole and each.module in ours:
            return [] if each.bound in ours else [f"import {each.bound}"]
        line = each.text(bound)
        if world and variable is not None and variable.key and each.statement in self.order.straight:
            if (line, bound) in self.present:
                return []
            self.present.add((line, bound))
        return [line]

    def _maker(self, unit: Unit) -> list[str]:
        """A module as an object, for those who want one."""
        name = self.names[self.meanings.objects[unit]]
        members = {own: self.names[found] for own, found in self.meanings.members(unit).items() if found in self.names}
        lives = self.meanings.lives(unit)
        key = "sys" if lives else "types"
        library = self.names[self.meanings.libraries[key]]
        line = f"import {key}" + ("" if library == key else f" as {library}")
        before = [] if (line, library) in self.present else [line, ""]
        self.present.add((line, library))
        if lives:
            wrong = next((own for own, new in members.items() if own != new), None)
            others = self.meanings.stored_anywhere.difference(unit.globals).intersection(self.names.values())
            wrong = wrong or min(others, default=None)
            if wrong is not None:
                raise Unmergeable(unit.name, f"it is changed as an object, and its `{wrong}` is elsewhere")
            return [*before, f"{name} = {library}.modules[__name__]", *self._attached(unit)]
        late = [own for own in members if own not in unit.globals and self._later(unit, own)]
        inner = ", ".join(f"{own}={new}" for own, new in members.items() if own not in late)
        return [*before, f"{name} = {library}.SimpleNamespace({inner})", *self._attached(unit)]

    def _later(self, unit: Unit, name: str) -> bool:
        inner = self.meanings.merged.get(f"{unit.name}.{name}")
        return inner is not None and self.units.index(inner) > self.units.index(unit)

    def _attached(self, unit: Unit) -> list[str]:
        """A submodule that is loaded later becomes an attribute of its package then."""
        above = self.meanings.merged.get(unit.name.rpartition(".")[0])
        if above not in self.meanings.objects or self.meanings.lives(above) or unit.last in above.globals:
            return []
        if not self._later(above, unit.last):
            return []
        return [f"{self.names[self.meanings.objects[above]]}.{unit.last} = {self.names[self.meanings.objects[unit]]}"]


def _joined(lines: Sequence[str]) -> list[str]:
    """`from a import b` and `from a import c` next to each other are one statement."""
    out: list[str] = []
    for line in lines:
        head, sep, tail = line.partition(" import ")
        if sep and line.startswith("from ") and out and out[-1].startswith(f"{head} import "):
            out[-1] += f", {tail}"
        elif line.startswith("import ") and out and out[-1].startswith("import "):
            out[-1] += f", {line.removeprefix('import ')}"
        else:
            out.append(line)
    return out


def _first(unit: Unit) -> cst.CSTNode | None:
    """The first statement after the docstring."""
    body = unit.program.module.body
    first = docstring(unit.program.module)
    for entry in body:
        if not (isinstance(entry, cst.SimpleStatementLine) and first is not None and first in entry.body):
            return entry
    return None


def _has_code(text: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines())


def _literal(unit: Unit, node: cst.CSTNode, value: str | None) -> str:
    text = repr(value)
    for above in ancestors(unit.program, node):
        if isinstance(above, cst.FormattedString) and "'" in above.start and value is not None:
            if '"' in value or "\\" in value:
                raise Unmergeable(unit.name, "it names itself in an f-string")
            return f'"{value}"'
    return text

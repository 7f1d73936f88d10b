"""bundle: a script and the modules of its own that it imports become one file that does the same.

Text in, text out: nothing is imported or run. How it is done is told in `bundling/`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import libcst as cst

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.lift.bundling.data import data_files, search_roots
from shrinkray_gpu.lift.bundling.meaning import Meanings
from shrinkray_gpu.lift.bundling.module_files import Finder, ModuleFiles
from shrinkray_gpu.lift.bundling.naming import name_table
from shrinkray_gpu.lift.bundling.order import Walk
from shrinkray_gpu.lift.bundling.reading import MAIN, Reader
from shrinkray_gpu.lift.bundling.trouble import Unmergeable
from shrinkray_gpu.lift.bundling.units import Unit
from shrinkray_gpu.lift.bundling.writing import BundleWriter
from shrinkray_gpu.reduction.program import Program


@dataclass(frozen=True)
class Bundle:
    """One file in the place of many."""

    text: str
    modules: tuple[str, ...] = ()
    """The modules that are in it now, in the order in which they run."""
    data: tuple[Path, ...] = ()
    """Files that it opens by a path that stands in it, as far as they lie below the roots."""
    obstacles: tuple[str, ...] = ()
    """Why a module of ours is still imported, one line each: the file needs it beside it."""


def bundle(
    entry: Path,
    text: str,
    *,
    roots: Sequence[Path],
    cwd: Path | None = None,
    relative: bool = False,
    bare: bool = False,
) -> Bundle:
    """Merge the modules below `roots` (where Python would look, in that order) into `text`, the script at `entry`.
    `cwd` is what relative paths of data files start from, if that is none of the roots. `relative`: what modules below
    it know of their own files starts from there, too, so that no path of this machine stands in the result. `bare`:
    a package of which only modules are wanted does not run itself, as Python would have it do on the way."""
    program = Program.from_text(text)
    try:
        finder = Finder(search_roots(Unit(MAIN, entry.resolve(), entry.name, False, program), roots))
        reader, main = _read(finder, entry, program, set() if bare else None)
    except (cst.ParserSyntaxError, UsageError, SyntaxError) as error:
        return Bundle(text, obstacles=(f"{entry.name}: {str(error).splitlines()[0]}",))
    obstacles = dict(reader.bad)
    folders = [*([cwd] if cwd is not None else []), *finder.roots]
    while True:
        merged = _merged(reader, obstacles)
        if len(merged) < 2:
            alone = data_files([main], folders)
            return Bundle(program.text, data=alone, obstacles=_told(obstacles, ()))
        try:
            result, modules = _one_file(reader, main, merged, cwd if relative else None)
            ast.parse(result)
            compile(result, str(entry), "exec", dont_inherit=True)
        except Unmergeable as trouble:
            again = trouble.module in obstacles
            obstacles[MAIN if again else trouble.module] = str(trouble) if again else trouble.why
            continue
        except SyntaxError as error:
            obstacles[MAIN] = f"merged it would not be Python ({error.msg})"
            continue
        kept = [unit.name for unit in modules if unit.path is not None and unit.program.text.strip()]
        data = data_files([main, *modules], folders)
        return Bundle(result, tuple(kept), data, _told(obstacles, _ordinary(reader, obstacles)))


def _read(finder: Finder, entry: Path, program: Program, whole: set[str] | None) -> tuple[Reader, Unit]:
    """`whole`: packages that are read, and more of them where that turns out to be wanted."""
    while True:
        reader = Reader(finder, whole)
        main = reader.read_all(ModuleFiles(MAIN, entry.resolve()), program, entry.name)
        if whole is None or not (more := reader.packages_asked() - whole):
            return reader, main
        whole = whole | more


def modules(entry: Path, text: str, *, roots: Sequence[Path]) -> dict[str, Path]:
    """The files of the modules below the roots that the script at `entry` leads to, by where they lie below these,
    whether they could be merged or not. Raises UsageError and what libcst raises for text that is not Python."""
    program = Program.from_text(text)
    finder = Finder(search_roots(Unit(MAIN, entry.resolve(), entry.name, False, program), roots))
    reader = Reader(finder)
    reader.read_all(ModuleFiles(MAIN, entry.resolve()), program, entry.name)
    found = [finder.find(name) for name in (*reader.units, *reader.bad) if name != MAIN]
    paths = [one.path for one in found if one is not None and one.path is not None]
    return {finder.display_path(path): path for path in paths if path != entry.resolve()}


def _one_file(
    reader: Reader, main: Unit, merged: Mapping[str, Unit], base: Path | None
) -> tuple[str, list[Unit]]:
    walk = Walk(main, dict(merged), reader.modules_of)
    order = walk.run()
    units = sorted(walk.seen, key=lambda unit: walk.seen[unit])
    meanings = Meanings(reader, {unit.name: unit for unit in units}, base)
    names = name_table(meanings, [main, *(unit for unit in units if unit is not main)])
    return BundleWriter(meanings, order, names, units).write(main), [unit for unit in units if unit is not main]


def _ordinary(reader: Reader, obstacles: Mapping[str, str]) -> set[str]:
    """The modules that stay imports: those with an obstacle, the packages that they are in, and all that these import,
    since a module that is there twice has its state twice."""
    found = list(obstacles)
    for name in found:
        above = name.rpartition(".")[0]
        more = [above] if above else []
        unit = reader.units.get(name)
        if unit is not None:
            more += [
                inner for group in unit.imports.values() for each in group for inner in reader.modules_of(unit, each)
            ]
            if unit.package and unit.program.text.strip():  # what is in a package cannot be loaded before it
                more += [inner for inner in reader.units if inner.startswith(f"{name}.")]
        found += [each for each in more if each not in found]
    return set(found)


def _merged(reader: Reader, obstacles: Mapping[str, str]) -> dict[str, Unit]:
    stay = _ordinary(reader, obstacles)
    return {name: unit for name, unit in reader.units.items() if name not in stay or name == MAIN and MAIN not in stay}


def _told(obstacles: Mapping[str, str], ordinary: set[str] | tuple[str, ...]) -> tuple[str, ...]:
    lines = [f"{'the script' if name == MAIN else name}: {why}" for name, why in obstacles.items()]
    more = sorted(name for name in ordinary if name not in obstacles and name != MAIN)
    return (*lines, *(f"{name}: a module that stays imported needs it" for name in more))

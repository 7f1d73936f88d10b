"""Which file a module is, for the modules below the roots: Python's own search, without an import."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_LIBRARIES = frozenset({"torch", "triton", "numpy", "helion", *sys.stdlib_module_names})
"""A folder without `__init__.py` that happens to have such a name hides no library."""
_EARLY = frozenset(
    {*sys.builtin_module_names, *"os io abc codecs encodings stat posixpath genericpath site types warnings".split()}
)
"""Loaded before any script: no file of ours can take their place."""
_INSTALLED = frozenset({"site-packages", "dist-packages"})


@dataclass(frozen=True)
class ModuleFiles:
    """A module. `path` is None for a package without `__init__.py`; `folders` are where a package's modules lie."""

    name: str
    path: Path | None
    folders: tuple[Path, ...] = ()

    @property
    def package(self) -> bool:
        return bool(self.folders)

    @property
    def is_compiled(self) -> bool:
        return self.path is not None and self.path.suffix != ".py"


class Finder:
    """Searches the roots in order, as `sys.path` would be."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(dict.fromkeys(root.resolve() for root in roots))
        self.find = cache(self._find)

    def _find(self, name: str) -> ModuleFiles | None:
        """The module of this full name, or None if it is not one of ours."""
        above, _, last = name.rpartition(".")
        if not last.isidentifier():
            return None
        if not above:
            found = None if last in _EARLY else _search(self.roots, name, last)
            return None if found is not None and found.path is None and last in _LIBRARIES else found
        package = self.find(above)
        return _search(package.folders, name, last) if package is not None and package.package else None

    def display_path(self, path: Path) -> str:
        """The path as a person would name it."""
        for root in self.roots:
            if path.is_relative_to(root):
                return path.relative_to(root).as_posix()
        return path.name


def _search(folders: Sequence[Path], name: str, last: str) -> ModuleFiles | None:
    portions = []
    for folder in folders:
        if _INSTALLED.intersection(folder.parts):
            continue
        own = folder / last
        if (own / "__init__.py").is_file():
            return ModuleFiles(name, own / "__init__.py", (own,))
        compiled = sorted([*folder.glob(f"{last}.*.so"), *folder.glob(f"{last}.so"), *folder.glob(f"{last}.*.pyd")])
        if compiled:
            return ModuleFiles(name, compiled[0])
        if (folder / f"{last}.py").is_file():
            return ModuleFiles(name, folder / f"{last}.py")
        if own.is_dir():
            portions.append(own)
    return ModuleFiles(name, None, tuple(portions)) if portions else None

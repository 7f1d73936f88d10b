"""What the import statements of a module bring: one Import for each name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from shrinkray_gpu.source.tree import dotted_text

Statement = cst.Import | cst.ImportFrom


@dataclass(frozen=True, eq=False)
class Import:
    """`import module as bound`, or `from module import name as bound`."""

    statement: Statement
    alias: cst.ImportAlias
    module: str
    """The full name: relative ones are resolved."""
    name: str | None
    bound: str
    whole: bool = False
    """`import a.b` without `as`: it binds `a`."""

    @property
    def key(self) -> str:
        """What it binds, by full name."""
        if self.whole:
            return self.bound
        return self.module if self.name is None else f"{self.module}.{self.name}"

    def text(self, bound: str) -> str:
        """The statement that brings this name alone, under the name `bound`."""
        if self.name is None:
            plain = bound == (self.bound if self.whole else self.module)
            return f"import {self.module}" + ("" if plain else f" as {bound}")
        return f"from {self.module} import {self.name}" + ("" if bound == self.name else f" as {bound}")

    @property
    def module_names(self) -> tuple[str, ...]:
        """The modules that this makes Python load, in order; the last one of `from a import b` is left to the caller:
        whether `b` is a module depends on what `a` defines."""
        parts = self.module.split(".")
        return tuple(".".join(parts[: n + 1]) for n in range(len(parts)))


def absolute(statement: cst.ImportFrom, module: str, package: bool) -> str:
    """The full name of the module that a `from` import in `module` names; empty if it leads out of the package."""
    name = dotted_text(statement.module)
    level = len(statement.relative)
    if not level:
        return name
    parts = module.split(".") if module else []
    parts = parts if package else parts[:-1]
    if level - 1 >= len(parts):
        return ""
    parts = parts[: len(parts) - (level - 1)]
    return ".".join([*parts, name] if name else parts)


def imports_of(statement: Statement, module: str, package: bool) -> Iterator[Import]:
    """The names that a statement of `module` brings; none for `import *`."""
    if isinstance(statement.names, cst.ImportStar):
        return
    for alias in statement.names:
        name = dotted_text(alias.name)
        bound = dotted_text(alias.asname.name) if alias.asname is not None else ""
        if isinstance(statement, cst.ImportFrom):
            yield Import(statement, alias, absolute(statement, module, package), name, bound or name)
        else:
            yield Import(statement, alias, name, None, bound or name.split(".")[0], whole=not bound)

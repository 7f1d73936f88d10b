"""What a name of a bundled program may stand for: a global of the one file, or a module of the program's own."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from shrinkray_gpu.lift.bundling.units import Unit


@dataclass(eq=False)
class Variable:
    """A global of the one file."""

    unit: Unit
    name: str
    key: str = ""
    """Full name of what a library import binds: imports of the same thing by two modules are one variable."""
    fixed: bool = False
    """`import a.b` binds `a` and nothing else."""
    module: Unit | None = None
    """It holds this module as an object."""
    written: list[tuple[Unit, cst.CSTNode]] = field(default_factory=list)
    """The nodes in whose place its name goes."""
    seen: list[tuple[Unit, cst.CSTNode]] = field(default_factory=list)
    """Where no local variable may have its name."""
    definitions: list[cst.CSTNode] = field(default_factory=list)


@dataclass(frozen=True)
class LocalModule:
    """A module of ours, merged or not."""

    name: str


NameMeaning = Variable | LocalModule

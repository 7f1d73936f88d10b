"""`from module import *` written as the names that it brings, so that everything after it knows them."""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Callable

import libcst as cst

from shrinkray_gpu.lift.bundling.imports import absolute
from shrinkray_gpu.lift.bundling.trouble import Unmergeable
from shrinkray_gpu.lift.bundling.units import Unit
from shrinkray_gpu.reduction.edit import Edit, Insert, Remove
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render
from shrinkray_gpu.source.tree import every, source

LOADED = "_shrink_loaded"
_HARMLESS = frozenset("math cmath operator typing itertools functools collections dataclasses enum os.path re".split())
"""Modules of the standard library that may be imported here to see what they define."""


def without_stars(
    program: Program, module: str, package: bool, exported: Callable[[str, frozenset[str]], tuple[str, ...]]
) -> Program:
    """The program with all names spelled out. `exported(module, free)` knows them."""
    free: frozenset[str] | None = None
    edits = []
    for statement in every(program, cst.ImportFrom):
        if not isinstance(statement.names, cst.ImportStar):
            continue
        if free is None:
            free = Unit(module, None, "", package, program).free
        names = exported(absolute(statement, module, package), free)
        head = source(program, statement).rpartition("import")[0]
        loaded = f"import {absolute(statement, module, package)} as {LOADED}"  # no name, but it runs
        text = f"{head}import {', '.join(names)}" if names else loaded
        edits.append(Edit("star", (Insert(statement, ((text,),)), Remove(statement))))
    return render(program, edits)


def library_names(module: str, free: frozenset[str]) -> tuple[str, ...]:
    """Which of these names a library module defines. A name that may be a builtin or its own cannot be told apart
    without running it, save in the standard library."""
    if module in _HARMLESS and module.split(".")[0] in sys.stdlib_module_names:
        known = importlib.import_module(module)
        listed = getattr(known, "__all__", [name for name in vars(known) if not name.startswith("_")])
        return tuple(sorted(free.intersection(listed)))
    if any(hasattr(builtins, name) for name in free):
        raise Unmergeable(module, f"`from {module} import *` may bind any name")
    return tuple(sorted(free))

"""Modules named in strings: `import_module("pkg.mod")`, `patch("pkg.mod.name")`. They must be modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from shrinkray_gpu.lift.bundling.units import Unit
from shrinkray_gpu.source.tree import dotted_text, every

_LOADERS = frozenset({"import_module", "__import__", "run_module", "find_spec", "reload"})
_PATCHERS = frozenset({"patch", "setattr", "delattr", "resolve_name"})


def modules_in_strings(unit: Unit, known: Callable[[str], bool]) -> Iterator[tuple[str, bool]]:
    """The modules that calls in this one name, as far as they are `known`; of a computed name its front, and True."""
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

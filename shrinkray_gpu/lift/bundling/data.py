"""Data files that a program names by paths which stand in its text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import libcst as cst

from shrinkray_gpu.lift.bundling.units import Unit
from shrinkray_gpu.source.scoping import Binding, variables_by_read
from shrinkray_gpu.source.tree import dotted_text, every

_SAME = frozenset({"Path", "PurePath", "str", "fspath", "abspath", "realpath", "normpath", "expanduser"})
_LONGEST = 1000
_KINDS = (cst.SimpleString, cst.ConcatenatedString, cst.BinaryOperation, cst.Call)
_CODE = frozenset({".py", ".pyc", ".so", ".pyd"})


def data_files(units: Sequence[Unit], roots: Sequence[Path]) -> tuple[Path, ...]:
    """The files below the roots that any of these modules names, in the order of the text."""
    roots = [root.resolve() for root in roots]
    found: dict[Path, None] = {}
    for unit in units:
        for path in _Paths(unit).all():
            for candidate in [path] if path.is_absolute() else [root / path for root in roots]:
                file = _file(candidate)
                if file is not None and file.suffix not in _CODE and any(file.is_relative_to(root) for root in roots):
                    found.setdefault(file)
                    break
    return tuple(found)


def search_roots(script: Unit, roots: Sequence[Path]) -> list[Path]:
    """Where the script's modules are looked for, with the folders that it puts on `sys.path` itself."""
    first: list[Path] = []
    last: list[Path] = []
    paths = _Paths(script)
    for call in every(script.program, cst.Call):
        name = dotted_text(call.func)
        if name in ("sys.path.insert", "sys.path.append") and call.args:
            folder = paths.value(call.args[-1].value)
            if folder is not None:
                (first if name.endswith("insert") else last).append(folder)
    return [*reversed(first), *roots, *last]


def _file(path: Path) -> Path | None:
    try:
        return path.resolve() if path.is_file() else None
    except (OSError, ValueError):  # too long for a path, or with a null in it
        return None


class _Paths:
    """Evaluates what can be: literals, `__file__`, and what `os.path` and `pathlib` make of them."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.known = variables_by_read(unit.program)
        self.values: dict[cst.CSTNode, Path | None] = {}
        self.under_way: set[Binding] = set()

    def all(self) -> Iterator[Path]:
        for node in every(self.unit.program, *_KINDS):
            value = self.value(node)
            if value is not None:
                yield value

    def value(self, node: cst.CSTNode) -> Path | None:
        if node not in self.values:
            self.values[node] = None
            self.values[node] = self._value(node)
        return self.values[node]

    def _value(self, node: cst.CSTNode) -> Path | None:
        match node:
            case cst.SimpleString() | cst.ConcatenatedString():
                text = node.evaluated_value
                return Path(text) if isinstance(text, str) and 0 < len(text) < _LONGEST and "\0" not in text else None
            case cst.Name(value="__file__"):
                return self.unit.path
            case cst.Name():
                return self._variable(node)
            case cst.BinaryOperation(operator=cst.Divide()):
                return _joined([self.value(node.left), self.value(node.right)])
            case cst.Attribute(attr=cst.Name(value="parent")):
                value = self.value(node.value)
                return value.parent if value is not None else None
            case cst.Subscript(value=cst.Attribute(attr=cst.Name(value="parents")) as parents):
                value, index = self.value(parents.value), _index(node)
                return value.parents[index] if value is not None and index < len(value.parents) else None
            case cst.Call():
                return self._call(node)
        return None

    def _variable(self, node: cst.Name) -> Path | None:
        """A variable that is assigned once."""
        binding = self.known.get(node)
        if binding is None or len(binding.places) != 1 or binding in self.under_way:
            return None
        parent = self.unit.program.parents[binding.names[0]]
        above = self.unit.program.parents[parent]
        if not isinstance(parent, cst.AssignTarget) or not isinstance(above, cst.Assign):
            return None
        self.under_way.add(binding)
        found = self.value(above.value)
        self.under_way.discard(binding)
        return found

    def _call(self, node: cst.Call) -> Path | None:
        arguments = [self.value(each.value) for each in node.args]
        last = dotted_text(node.func).rpartition(".")[2]
        if last in _SAME or last == "join":
            return _joined(arguments) if arguments and dotted_text(node.func) != "str.join" else None
        if last == "dirname" and len(arguments) == 1:
            return arguments[0].parent if arguments[0] is not None else None
        if isinstance(node.func, cst.Attribute):
            value, name = self.value(node.func.value), node.func.attr.value
            if value is None:
                return None
            if name in ("resolve", "absolute", "expanduser", "as_posix") and not arguments:
                return value
            if name == "joinpath":
                return _joined([value, *arguments])
            if name == "with_name" and len(arguments) == 1 and arguments[0] is not None:
                return value.parent / arguments[0]
            if name == "with_suffix" and len(arguments) == 1 and arguments[0] is not None and value.name:
                return value.parent / f"{value.stem}{arguments[0]}"
        return None


def _joined(parts: Sequence[Path | None]) -> Path | None:
    known = [part for part in parts if part is not None]
    return Path(*known) if known and len(known) == len(parts) else None


def _index(node: cst.Subscript) -> int:
    inner = node.slice[0].slice
    if isinstance(inner, cst.Index) and isinstance(inner.value, cst.Integer):
        return inner.value.evaluated_value
    return 1 << 30

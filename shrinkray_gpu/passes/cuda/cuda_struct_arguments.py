"""CUDA: a struct that functions and kernels take by value gives way to its fields, at each call.

A shape, a view, a set of options: `k<<<...>>>(data, shape)` becomes `k<<<...>>>(data, shape.width, shape.height)`, and
`shape.at(x, y)` in the kernel what it returns. Then what no field is read for can go, and the object itself.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_change import NativeChange, Put
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import (
    Source,
    declarator_name,
    function_of,
    is_a_file,
    is_inside,
    is_overloaded,
    sources,
    statements,
)
from shrinkray_gpu.source.cuda_classes import ClassParts, class_parts, is_one_return

_MOST = 8
"""Fields."""
_DEEPEST = 12
_WHOLE = re.compile(r"[\w.]+|\([^()]*\)")
_PLACE = re.compile(r"[\w.]+|\w+->\w+")
"""What can be named once for each field."""

_DOES = re.compile(r"\+\+|--|[^=<>!]=[^=]|\w\(")
"""What is not the same twice."""


class _NoFields(Exception):
    """A struct is used as a whole, or by more than one expression."""


@dataclass(frozen=True)
class _Named:
    names: Mapping[str, str]
    """What names stand for: in a method its parameters and the fields."""
    prefix: str | None = None
    """Of the fields of the object whose method this is."""
    depth: int = 0


def find(program: Program) -> Iterator[Edit]:
    for source in sources(program) if is_a_file(program) else ():
        for node in source.tree.root.walk():
            record = class_parts(source, node)
            if record is not None and _is_plain(record):
                yield from _edits(source, record)


def _is_plain(record: ClassParts) -> bool:
    simple = all(each.declarator.kind == "field_identifier" for each in record.fields.values())
    return simple and 0 < len(record.fields) <= _MOST and not record.constructors and not record.parameters


def _edits(source: Source, record: ClassParts) -> Iterator[Edit]:
    takers: dict[str, set[int]] = defaultdict(set)
    owners: dict[Node, dict[str, str]] = {}
    changes: list[NativeChange] = []
    functions = source.tree.nodes("function_definition")
    for function in functions:
        declarator = function_of(function)
        name, listed = declarator_name(declarator), declarator.child("parameters") if declarator is not None else None
        if name is None or listed is None or function.child("body") is None:
            continue
        for number, each in enumerate(listed.members):
            own = _taken(source, record, each)
            if own is None:
                continue
            if is_overloaded(source, source.of(name)):
                return
            takers[source.of(name)].add(number)
            owners.setdefault(function, {})[own] = f"{own}_"
            fields = ", ".join(f"{field.kind} {own}_{name}" for name, field in record.fields.items())
            changes.append(Put(each, (fields,)))
    if not changes:
        return
    try:
        for function in functions:
            body = function.child("body")
            if body is not None and (
                function in owners or any(is_inside(use, body) for each in takers for use in source.names[each])
            ):
                text = _OpenedText(source, record, takers, owners.get(function, {})).of(body, _Named({}))
                changes.append(Put(body, (text,)))
    except _NoFields:
        return
    yield source.edit(f"fields of {record.name} as arguments", *changes, weight=len(changes))


def _taken(source: Source, record: ClassParts, parameter: Node) -> str | None:
    """The name of a parameter that is such a struct, by value or as one that nobody writes to."""
    kind, declared = parameter.child("type"), parameter.child("declarator")
    own = declarator_name(declared)
    if kind is None or declared is None or own is None or source.of(kind) != record.name:
        return None
    constant = "const" in source.of(parameter).split()
    if parameter.child("default_value") is not None or declared.kind not in ("identifier", "reference_declarator"):
        return None
    return source.of(own) if declared.kind == "identifier" or constant else None


class _OpenedText:
    """The text of a function with fields in the place of the structs that it takes and hands on."""

    def __init__(
        self, source: Source, record: ClassParts, takers: Mapping[str, set[int]], owners: Mapping[str, str]
    ) -> None:
        self.source, self.record, self.takers, self.owners = source, record, takers, owners

    def of(self, node: Node, scope: _Named) -> str:
        if node.kind == "call_expression" and (text := self._called(node, scope)) is not None:
            return text
        if node.kind == "field_expression":
            argument, name = node.child("argument"), node.child("field")
            prefix = self._prefix(argument, scope)
            if argument is None or name is None or prefix is None:
                return self.of(argument, scope) + self.source.text[argument.last : node.last] if argument else ""
            if self.source.of(name) not in self.record.fields:
                raise _NoFields
            return prefix + self.source.of(name)
        if node.kind == "identifier":
            text = self.source.of(node)
            if scope.prefix is None and text in self.owners:
                raise _NoFields
            return scope.names.get(text, text)
        out, at = "", node.first
        for each in node.children:
            out += self.source.text[at : each.first] + self.of(each, scope)
            at = each.last
        return out + self.source.text[at : node.last]

    def _prefix(self, node: Node | None, scope: _Named) -> str | None:
        if node is None or node.kind == "this":
            return scope.prefix
        return self.owners.get(self.source.of(node)) if scope.prefix is None and node.kind == "identifier" else None

    def _called(self, call: Node, scope: _Named) -> str | None:
        """A method's value; a call with the fields of each struct that it hands on. None of another call."""
        function, given = call.child("function"), call.child("arguments")
        if function is None or given is None:
            return None
        if function.kind == "field_expression":
            prefix, name = self._prefix(function.child("argument"), scope), function.child("field")
        else:
            prefix, name = scope.prefix, function
        method = self.record.methods.get(self.source.of(name)) if prefix is not None and name is not None else None
        if method is not None and prefix is not None:
            return self._value(method, [self.of(each, scope) for each in given.members], prefix, scope)
        places = self.takers.get(self.source.of(function).partition("<")[0].rpartition("::")[2].strip())
        if places is None:
            return None
        texts = [
            self._handed(each, scope) if n in places else self.of(each, scope) for n, each in enumerate(given.members)
        ]
        head = "".join(
            self.of(each, scope) if each is not function else self.source.of(each) for each in call.members[:-1]
        )
        return f"{head}({', '.join(texts)})"

    def _handed(self, node: Node, scope: _Named) -> str:
        prefix, text = self._prefix(node, scope), self.source.of(node)
        if prefix is None and not _PLACE.fullmatch(text):
            raise _NoFields
        return ", ".join((prefix or f"{text}.") + each for each in self.record.fields)

    def _value(self, method: Node, given: list[str], prefix: str, scope: _Named) -> str:
        declarator, body = function_of(method), method.child("body")
        listed = declarator.child("parameters") if declarator is not None else None
        if body is None or listed is None or not is_one_return(method) or len(listed.members) != len(given):
            raise _NoFields
        if scope.depth > _DEEPEST or any(_DOES.search(each) for each in given):
            raise _NoFields
        names = [declarator_name(each.child("declarator")) for each in listed.members]
        bound = {self.source.of(own): _operand(text) for own, text in zip(names, given, strict=True) if own is not None}
        fields = {each: prefix + each for each in self.record.fields}
        inner = _Named({**fields, **bound}, prefix, scope.depth + 1)
        return _operand(self.of(statements(body)[0].members[0], inner))


def _operand(text: str) -> str:
    return text if _WHOLE.fullmatch(text) else f"({text})"

"""A struct that a kernel takes by value, from its bytes: its fields as C++ lays them out, and an initialiser.

Pointers among them are no constants: each becomes a parameter of the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shrinkray_gpu.lift.cuda.as_cu import NotPlain, number
from shrinkray_gpu.reduction.native.native_tree import Node, Tree
from shrinkray_gpu.source.cuda import declarator_name

POINTER = 8
SIZES = {
    "bool": 1, "char": 1, "signed char": 1, "unsigned char": 1, "int8_t": 1, "uint8_t": 1, "short": 2,
    "unsigned short": 2, "int16_t": 2, "uint16_t": 2, "half": 2, "__half": 2, "__nv_bfloat16": 2, "int": 4,
    "unsigned": 4, "unsigned int": 4, "int32_t": 4, "uint32_t": 4, "float": 4, "long": 8, "unsigned long": 8,
    "long long": 8, "unsigned long long": 8, "int64_t": 8, "uint64_t": 8, "size_t": 8, "double": 8,
}  # fmt: skip
"""Bytes of what a field may be, which is its alignment too."""
_SPOKEN = {"half": "__half", "unsigned": "unsigned int", "size_t": "unsigned long", "uint64_t": "unsigned long"}


@dataclass
class StructInitialiser:
    """An initialiser in braces, and what it names: each pointer's declaration, its field, and where it points to."""

    text: str = ""
    pointers: list[tuple[str, str, Mapping[str, Any]]] = field(default_factory=list)


def initialiser(tree: Tree, argument: Mapping[str, Any], taken: set[str]) -> StructInitialiser:
    """Of an argument whose bytes are known (`raw`). `taken`: names that no parameter may have; grows. Raises NotPlain
    where the struct is none that is only fields, or its bytes are not as many as its fields take."""
    name = re.sub(r"<.*", "", argument["type"]).rpartition("::")[2]
    data, made = bytes.fromhex(argument["raw"]), StructInitialiser()
    items: list[str] = []
    at, widest = 0, 1
    for kind, own, count in _fields(tree, name):
        size = POINTER if kind.endswith("*") else SIZES[kind]
        at, widest = -(-at // size) * size, max(widest, size)
        values = []
        for _ in range(count or 1):
            values.append(_value(kind, own, data[at : at + size], argument["pointers"].get(str(at)), taken, made, name))
            at += size
        items.append(values[0] if count is None else f"{{{', '.join(values)}}}")
    if -(-at // widest) * widest != len(data):
        raise NotPlain(f"its struct {name} has {len(data)} bytes, and its fields are not known to take as many")
    made.text = f"{{{', '.join(items)}}}"
    return made


def _value(
    kind: str,
    own: str,
    data: bytes,
    about: Mapping[str, Any] | None,
    taken: set[str],
    made: StructInitialiser,
    struct: str,
) -> str:
    if not kind.endswith("*"):
        spoken = _SPOKEN.get(kind, kind)
        return number({"type": spoken, "bytes": data.hex()}, {"kernel": struct})
    if about is None:
        if any(data):
            raise NotPlain(f"the field {own} of its struct {struct} points to no tensor")
        return "nullptr"
    word = f"{own}_ptr"
    while word in taken:
        word += "_"
    taken.add(word)
    made.pointers.append((f"{kind} {word}", own, about))
    return word


def _fields(tree: Tree, name: str) -> list[tuple[str, str, int | None]]:
    """Type, name and length (of an array) of each."""
    found = [
        node
        for node in tree.nodes("struct_specifier")
        if (own := node.child("name")) is not None and tree.text_of(own) == name and node.child("body") is not None
    ]
    body = found[0].child("body") if len(found) == 1 else None
    if body is None or any(each.kind == "base_class_clause" for each in found[0].children):
        raise NotPlain(f"its struct {name} is not written out in the script")
    fields = []
    for member in body.members:
        kind = member.child("type")
        declarators = [each for each in member.children if each.field == "declarator"]
        if member.kind != "field_declaration" or kind is None or not declarators or member.child("default_value"):
            raise NotPlain(f"its struct {name} has more than fields")
        typed = tree.text_of(kind)
        constant = "const " if re.search(r"\bconst\b", tree.text[member.first : declarators[0].first]) else ""
        for declarator in declarators:
            fields.append(_field(tree, declarator, typed, constant, name))
    return fields


def _field(tree: Tree, declarator: Node, typed: str, constant: str, name: str) -> tuple[str, str, int | None]:
    own = declarator_name(declarator)
    if own is not None and declarator.kind == "pointer_declarator" and tree.text_of(declarator).count("*") == 1:
        return f"{constant}{typed}*", tree.text_of(own), None
    if own is not None and typed in SIZES:
        if declarator is own:
            return typed, tree.text_of(own), None
        length = re.fullmatch(rf"{tree.text_of(own)}\s*\[\s*(\d+)\s*\]", tree.text_of(declarator))
        if length:
            return typed, tree.text_of(own), int(length[1])
    raise NotPlain(f"its struct {name} has a field of the type {typed}")

"""A class of a CUDA C++ source by its parts: fields, methods, constructors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.source.cuda import Source, declarator_name, enclosing, function_of, is_inside, statements


@dataclass(frozen=True, eq=False)
class ClassField:
    kind: str
    """Its type as it is written."""
    declarator: Node
    default: Node | None


@dataclass(frozen=True, eq=False)
class ClassParts:
    """A class, and what of it can be put in the place of its objects."""

    name: str
    definition: Node
    parameters: tuple[str, ...]
    """Of the template, if it is one."""
    fields: Mapping[str, ClassField]
    methods: Mapping[str, Node]
    constructors: tuple[Node, ...]


def class_parts(source: Source, node: Node) -> ClassParts | None:
    """The class that a node defines; None for one with bases, static members, or methods of the same name that do
    not the same (a `get()` often stands there once more, as `const`)."""
    name, body = node.child("name"), node.child("body")
    if node.kind not in ("struct_specifier", "class_specifier") or name is None or body is None:
        return None
    if any(each.kind == "base_class_clause" for each in node.children) or name.kind != "type_identifier":
        return None
    template = node.parent if node.parent is not None and node.parent.kind == "template_declaration" else None
    listed = template.child("parameters") if template is not None else None
    parameters = [next((part for part in reversed(each.members)), None) for each in listed.members] if listed else []
    fields: dict[str, ClassField] = {}
    methods: dict[str, Node] = {}
    constructors: list[Node] = []
    for each in body.members:
        if each.kind == "function_definition":
            own = declarator_name(function_of(each))
            if own is None or each.child("body") is None:
                continue
            if source.of(own) == source.of(name):
                if "~" not in source.text[each.first : own.last]:
                    constructors.append(each)
            elif source.of(own) in methods and not _alike(source, each, methods[source.of(own)]):
                return None
            else:
                methods[source.of(own)] = each
        elif each.kind == "field_declaration":
            if "static" in source.of(each).split():
                return None
            fields.update(_fields(source, each))
    if any(each is None for each in parameters):
        return None
    names = tuple(source.of(each) for each in parameters if each is not None)
    return ClassParts(source.of(name), template or node, names, fields, methods, tuple(constructors))


def _alike(source: Source, one: Node, other: Node) -> bool:
    """Whether two methods take and do the same."""
    parts = [(source.of(each.child("body") or each), [*map(source.of, _parameters(each))]) for each in (one, other)]
    return parts[0] == parts[1]


def _fields(source: Source, node: Node) -> Iterator[tuple[str, ClassField]]:
    kind = node.child("type")
    declarators = [number for number, each in enumerate(node.children) if each.field == "declarator"]
    for number in declarators:
        declarator = node.children[number]
        own = declarator_name(declarator)
        if kind is None or own is None or any(each.kind == "function_declarator" for each in declarator.walk()):
            continue
        behind = node.children[number + 1 : number + 3]
        default = next((each for each in behind if each.field == "default_value"), None)
        yield source.of(own), ClassField(source.text[node.first : kind.last], declarator, default)


def names_in(declaration: Node) -> list[Node]:
    """What a declaration of variables, a field's or a parameter's declares."""
    names = [declarator_name(each) for each in declaration.children if each.field == "declarator"]
    return [each for each in names if each is not None]


def constructor_for(source: Source, record: ClassParts, given: Sequence[Node]) -> Node | None:
    """The constructor that takes what is given; of several the one whose parameters' types are most like theirs."""
    fitting = [each for each in record.constructors if _takes(source, record, each, len(given))]
    return max(fitting, key=lambda each: _likeness(source, each, given), default=None)


def _parameters(constructor: Node) -> list[Node]:
    declarator = function_of(constructor)
    listed = declarator.child("parameters") if declarator is not None else None
    return listed.members if listed is not None else []


def _takes(source: Source, record: ClassParts, constructor: Node, count: int) -> bool:
    members = _parameters(constructor)
    least = sum(each.kind == "parameter_declaration" for each in members)
    copies = len(members) == 1 and re.search(rf"\b{record.name}\b", source.of(members[0])) is not None
    return least <= count <= len(members) and not copies


def _likeness(source: Source, constructor: Node, given: Sequence[Node]) -> int:
    """How many words the types of parameters and arguments share, as far as the arguments' last names tell them."""
    total = 0
    for parameter, node in zip(_parameters(constructor), given):  # noqa: B905 (the rest has defaults)
        wanted = set(re.findall(r"\w+", source.of(parameter)))
        own = next((each for each in reversed([*node.walk()]) if each.kind.endswith("identifier")), node)
        kind = _type_of(source, own)
        if kind is not None:
            total += len(wanted & set(re.findall(r"\w+", source.of(kind))))
        else:
            total += any(each.kind == "primitive_type" for each in parameter.walk())
    return total


def _type_of(source: Source, name: Node) -> Node | None:
    """The type that a variable or field of this name is declared with, in this function if it is. What stands behind a
    point is a field."""
    function = enclosing(name, "function_definition")
    places = source.names.get(source.of(name), [])
    if name.kind == "field_identifier":
        places = [use for use in places if use.kind == name.kind]
    for use in sorted(places, key=lambda use: function is None or not is_inside(use, function)):
        up = enclosing(use, "declaration", "field_declaration", "parameter_declaration")
        if up is not None and up.child("type") is not None and use in names_in(up):
            return up.child("type")
    return None


def declares_objects(source: Source, node: Node, record: ClassParts) -> bool:
    """Whether it declares objects of the class itself, in a block."""
    kind, parent = node.child("type"), node.parent
    if node.kind != "declaration" or kind is None or parent is None or parent.kind != "compound_statement":
        return False
    name = kind.child("name") if kind.kind == "template_type" else kind
    if name is None or source.of(name) != record.name:
        return False
    kinds = ("identifier", "init_declarator", "function_declarator")
    declarators = [each for each in node.children if each.field == "declarator"]
    return all(each.kind in kinds and (each.child("declarator") or each).kind == "identifier" for each in declarators)


def is_one_return(method: Node) -> bool:
    """Whether a method is one expression."""
    body = method.child("body")
    inside = statements(body) if body is not None else []
    return len(inside) == 1 and inside[0].kind == "return_statement" and bool(inside[0].members)


def is_written(use: Node) -> bool:
    """Whether a name stands where it gets another value."""
    up = use.parent
    if up is None:
        return False
    if up.kind == "assignment_expression":
        return up.child("left") is use
    return up.kind == "update_expression"

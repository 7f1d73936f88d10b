"""CUDA: macros, aliases, constants and variables give way to what they stand for, wherever they are read.

What is written to, or whose address is taken, stays. Whether the program gets smaller by it is no concern here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_change import Drop, Part, Put
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import Source, declarator_name, depth, enclosing, is_inside, outermost, sources

_SCOPES = ("compound_statement", "translation_unit", "declaration_list", "for_statement")

_MAKES = ("compound_literal_expression", "call_expression")


def find(program: Program) -> Iterator[Edit]:
    for source in sources(program):
        for node in source.tree.root.walk():
            if node.kind == "preproc_def":
                yield from _macro(source, node)
            elif node.kind == "preproc_function_def":
                yield from _call_like_macro(source, node)
            elif node.kind == "alias_declaration":
                yield from _alias(source, node)
            elif node.kind == "init_declarator" and node.parent is not None and node.parent.kind == "declaration":
                yield from _variable(source, node.parent, node)
            elif node.kind == "field_declaration":
                yield from _member(source, node)
            elif node.kind == "assignment_expression":
                yield from _first_value(source, node)


def find_steady(program: Program) -> Iterator[Edit]:
    """Of these only variables that are read once, and whose values are the same wherever they are read: they name
    nothing that is written to, and call nothing."""
    for source in sources(program):
        for node in source.tree.nodes("init_declarator"):
            value, declaration = node.child("value"), node.parent
            if value is None or declaration is None or declaration.kind != "declaration":
                continue
            function = enclosing(node, "function_definition")
            name = declarator_name(node)
            if function is None or len(source.uses(name, function)) != 1:
                continue
            named = (use for each in value.walk() if each.kind == "identifier" for use in source.uses(each, function))
            calls = any(each.kind in ("call_expression", "new_expression") for each in value.walk())
            if not calls and not any(_written(source, use) for use in named):
                yield from _variable(source, declaration, node)


def _macro(source: Source, node: Node) -> Iterator[Edit]:
    name, value = node.child("name"), node.child("value")
    if name is None or value is None:
        return
    text = re.sub(r"//.*|/\*.*?\*/", "", source.of(value)).strip()
    uses = source.uses(name)
    if text and uses and all(use.kind != "preproc_arg" for use in uses):
        changes = [Put(use, (text,)) for use in uses]
        yield source.edit(f"inline macro {source.of(name)}", Drop(node), *changes, weight=4)


def _call_like_macro(source: Source, node: Node) -> Iterator[Edit]:
    name, value, parameters = node.child("name"), node.child("value"), node.child("parameters")
    if name is None or value is None or parameters is None:
        return
    names = [source.of(each) for each in parameters.members]
    text = source.of(value).replace("\\\n", " ").strip()
    if "#" in text or "..." in source.of(parameters):
        return
    changes: list[Drop | Put] = [Drop(node)]
    for use in source.uses(name):
        call = use.parent
        given = call.child("arguments") if call is not None and call.kind == "call_expression" else None
        if call is None or given is None or call.child("function") is not use or len(given.members) != len(names):
            return
        parts = re.split(r"\b(\w+)\b", text)
        by: list[Part] = [given.members[names.index(part)] if part in names else part for part in parts]
        if re.match(r"do\b", text):  # a statement, where one stands
            if call.parent is None or call.parent.kind != "expression_statement":
                return
            changes.append(Put(call, tuple(by)))
        else:
            changes.append(Put(call, ("(", *by, ")")))
    if len(changes) > 1:
        yield source.edit(f"inline macro {source.of(name)}", *changes, weight=8)


def _alias(source: Source, node: Node) -> Iterator[Edit]:
    name, kind = node.child("name"), node.child("type")
    if name is None or kind is None or (node.parent is not None and node.parent.kind == "template_declaration"):
        return
    uses = source.uses(name)
    made = (use for use in uses if use.parent is not None and use.parent.kind in _MAKES)
    if uses and (re.fullmatch(r"[\w:<>]+", source.of(kind)) or not any(made)):  # `unsigned long{1}` says nothing
        changes = [Put(use, (kind,)) for use in uses]
        yield source.edit(f"inline alias {source.of(name)}", Drop(node), *changes, weight=5)


def _variable(source: Source, declaration: Node, node: Node) -> Iterator[Edit]:
    declarator, value = node.child("declarator"), node.child("value")
    name = declarator_name(declarator)
    if declarator is None or name is None or value is None or value.kind in ("initializer_list", "argument_list"):
        return
    if any(each.kind in ("array_declarator", "function_declarator") for each in declarator.walk()):
        return
    scope = enclosing(declaration, *_SCOPES)
    uses = [use for use in source.uses(name, scope) if scope is not None and use.kind == "identifier"]
    if not uses or any(_written(source, use) for use in uses) or declaration.field == "initializer":
        return
    changes = [Put(use, (value,)) for use in uses]
    yield source.edit(f"inline variable {source.of(name)}", Drop(node), *changes, level=depth(declaration), weight=4)


def _first_value(source: Source, node: Node) -> Iterator[Edit]:
    """`int n; ... n = 3;` is `int n = 3;` there, where nothing names it in between."""
    left, right, statement = node.child("left"), node.child("right"), node.parent
    block = statement.parent if statement is not None else None
    if left is None or right is None or statement is None or block is None or left.kind != "identifier":
        return
    if block.kind != "compound_statement" or source.text[left.last : right.first].strip() != "=":
        return
    places = [use for use in source.names[source.of(left)] if is_inside(use, block)]
    for declaration in (each for each in block.members if each.kind == "declaration"):
        kind = declaration.child("type")
        for each in (part for part in declaration.children if part.field == "declarator"):
            if kind is not None and declarator_name(each) is places[0] and places[1:2] == [left]:
                if each.kind in ("identifier", "pointer_declarator"):
                    declared = f"{source.text[declaration.first : kind.last]} {source.of(each)} = "
                    put = Put(statement, (declared, right, ";"))
                    yield source.edit(f"declare {source.of(left)} where it is set", Drop(each), put, level=depth(node))


def _written(source: Source, use: Node) -> bool:
    up = use.parent
    if up is None:
        return True
    if up.kind == "assignment_expression":
        return up.child("left") is use
    return up.kind == "update_expression" or (up.kind == "pointer_expression" and source.of(up).startswith("&"))


def _member(source: Source, node: Node) -> Iterator[Edit]:
    """`static constexpr int N = 4;` of a struct: `S<...>::N` and, within the struct, `N`."""
    name, value = node.child("declarator"), node.child("default_value")
    if name is None or value is None or name.kind != "field_identifier" or "static" not in source.of(node):
        return
    owner = enclosing(node, "struct_specifier", "class_specifier")
    if owner is None:
        return
    changes = []
    for use in source.uses(name):
        up = use.parent
        if up is not None and up.kind == "qualified_identifier" and up.child("name") is use:
            changes.append(Put(outermost(up, "qualified_identifier"), (value,)))
        elif is_inside(use, owner) or use.kind == "identifier":
            changes.append(Put(use, (value,)))
    yield source.edit(f"inline member {source.of(name)}", Drop(node), *changes, weight=6)

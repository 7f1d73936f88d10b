"""CUDA: a function whose result nobody reads returns nothing, here and where it is declared.

Bindings return a tensor that the script prints the shape of; without the print that tensor, and all that it was made
of, may go. Whether the script reads the result is for the oracle to say; a call in the source that does keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shrinkray_gpu.reduction.edit import Change, Edit, Within
from shrinkray_gpu.reduction.native.native_change import Drop, Put
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import Source, declarator_name, enclosing, function_of, is_inside, sources, statements


def find(program: Program) -> Iterator[Edit]:
    everything = sources(program)
    for source in everything:
        for node in source.tree.nodes("function_definition"):
            kind, declarator, body = node.child("type"), function_of(node), node.child("body")
            name = declarator_name(declarator)
            if kind is None or declarator is None or name is None or body is None or source.of(name) == "main":
                continue
            if re.search(r"\bvoid\b", source.text[node.first : declarator.first]):
                continue
            if node.child("declarator") is not declarator:  # a pointer or a reference
                continue
            elsewhere = _elsewhere(everything, source, source.of(name), node)
            if elsewhere is None:
                continue
            changes: list[Change] = [Within(source.literal, Put(kind, ("void",))), *elsewhere]
            weight = 1
            for given in body.walk():
                if given.kind == "return_statement" and given.members:
                    last = given.parent is body and body.members[-1] is given
                    change = Drop(given) if last else Put(given, ("return;",))
                    changes.append(Within(source.literal, change))
                    weight += source.weight([given])
            yield Edit(f"{source.of(name)} returns nothing", tuple(changes), weight=weight)


def find_named(program: Program) -> Iterator[Edit]:
    """What a method of several statements returns gets a name before the statement that reads it, so that its class can
    be opened. No pass: alone it makes the program larger."""
    for source in sources(program):
        for call in source.tree.nodes("call_expression"):
            function, statement = call.child("function"), enclosing(call, "expression_statement")
            member = function.child("field") if function is not None and function.kind == "field_expression" else None
            if member is None or statement is None or statement.members == [call]:
                continue
            method = _method(source, source.of(member))
            if method is not None:
                kind, name = source.of(method), f"{source.of(member)}_value"
                put = Put(statement, (f"{{ {kind} {name} = {source.of(call)};\n", statement, "\n}"))
                yield source.edit(f"name {name}", put, Put(call, (name,)))


def _method(source: Source, name: str) -> Node | None:
    """The type that the one method of this name returns, if it is of several statements."""
    found = [node for node in source.tree.nodes("function_definition") if _is_named(source, node, name)]
    body, kind = (found[0].child("body"), found[0].child("type")) if len(found) == 1 else (None, None)
    if body is None or kind is None or len(statements(body)) < 2 or enclosing(body, "field_declaration_list") is None:
        return None
    return None if source.of(kind) in ("void", "auto") else kind


def _is_named(source: Source, node: Node, name: str) -> bool:
    own = declarator_name(function_of(node))
    return own is not None and source.of(own) == name


def _elsewhere(everything: list[Source], own: Source, name: str, node: Node) -> list[Change] | None:
    """The same change for its declarations; None where a call reads the result."""
    changes: list[Change] = []
    for source in everything:
        for use in source.names.get(name, ()):
            if source is own and is_inside(use, node):
                continue
            call = enclosing(use, "call_expression")
            if call is not None and call.parent is not None and call.parent.kind != "expression_statement":
                return None
            for up in use.above():
                kind = up.child("type")
                if up.kind == "declaration" and kind is not None and up.child("declarator") is use.parent:
                    changes.append(Within(source.literal, Put(kind, ("void",))))
    return changes

"""CUDA: a function that is called once gives way to its body, where the call is a statement or the body one `return`.

Parameters become the arguments where these are names or numbers, and variables of the block otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_change import Drop, Part, Put
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import Source, declarator_name, function_of, is_inside, sources, statement_of, statements

_SIMPLE = frozenset({"identifier", "number_literal", "true", "false", "qualified_identifier", "this"})


def find(program: Program) -> Iterator[Edit]:
    for source in sources(program):
        for node in source.tree.nodes("function_definition"):
            yield from _of(source, node)


def _of(source: Source, node: Node) -> Iterator[Edit]:
    declarator, body = function_of(node), node.child("body")
    name = declarator_name(declarator) if declarator is not None else None
    if declarator is None or body is None or name is None or "__global__" in source.text[node.first : body.first]:
        return
    item = node
    while item.parent is not None and item.parent.kind == "template_declaration":
        item = item.parent
    uses = [use for use in source.names[source.of(name)] if use is not name]
    if len(uses) != 1 or is_inside(uses[0], item):
        return
    place = uses[0]
    while place.parent is not None and place.parent.kind in ("template_function", "qualified_identifier"):
        place = place.parent
    call = place.parent
    if call is None or call.kind != "call_expression" or call.child("function") is not place:
        return
    given, listed = call.child("arguments"), declarator.child("parameters")
    user = statement_of(call)
    if given is None or listed is None or user is None or len(given.members) != len(listed.members):
        return
    made = _bound(source, node, listed, given)
    if made is None:
        return
    declarations, puts = made
    what = f"inline function {source.of(name)}"
    weight = 10 + 2 * len(given.members)
    inside = statements(body)
    returns = [each for each in body.walk() if each.kind == "return_statement"]
    if not returns and user.kind == "expression_statement" and user.members == [call]:
        yield source.edit(what, Drop(item), Put(user, ("{\n", *declarations, body, "\n}")), *puts, weight=weight)
        if not declarations:
            yield source.edit(what, Drop(item), Put(user, (body,)), *puts, weight=weight)
    elif len(returns) == 1 and inside and inside[-1] is returns[0] and returns[0].members:
        value = returns[0].members[0]
        before = tuple(inside[:-1])
        changes: list[Drop | Put] = [Drop(item), Put(call, (value,)), *puts]
        if before or declarations:
            changes.append(Put(user, (*declarations, before, "\n", user)))
        yield source.edit(what, *changes, weight=weight)


def _bound(source: Source, node: Node, listed: Node, given: Node) -> tuple[list[Part], list[Put]] | None:
    """Declarations of the parameters that become variables, and the others put where they are read."""
    declarations: list[Part] = []
    puts: list[Put] = []
    for parameter, argument in zip(listed.members, given.members, strict=True):
        declared = parameter.child("declarator")
        own = declarator_name(declared) if declared is not None else None
        if declared is None or own is None:
            continue
        if source.of(own) == source.of(argument):
            continue
        uses = [
            use
            for use in source.names[source.of(own)]
            if use is not own and is_inside(use, node) and use.kind == "identifier"
        ]
        if argument.kind in _SIMPLE or len(uses) <= 1:
            puts += [Put(use, (argument,)) for use in uses]
        elif declared.kind in ("identifier", "pointer_declarator", "reference_declarator"):
            declarations += [source.text[parameter.first : declared.last], " = ", argument, ";\n"]
        else:
            puts += [Put(use, (argument,)) for use in uses]
    return declarations, puts

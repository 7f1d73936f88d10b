"""CUDA: a function that is called once gives way to its body, where the call is a statement or the body one `return`.

So does one that is a short `return`, wherever it is called.

Parameters become the arguments where these are names or numbers, and variables of the block otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_change import Drop, Part, Put
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import (
    Source,
    arguments_of,
    declarator_name,
    enclosing,
    function_of,
    is_inside,
    is_operand,
    outermost,
    sources,
    statement_of,
    statements,
    words,
)
from shrinkray_gpu.source.cuda_classes import is_written, names_in
from shrinkray_gpu.source.cuda_scopes import FreshNames
from shrinkray_gpu.source.cuda_templates import template_arguments

_SHORT = 12
"""Tokens of what is put in at each of some calls."""
_SIMPLE = frozenset({"identifier", "number_literal", "true", "false", "qualified_identifier", "this"})


def find(program: Program) -> Iterator[Edit]:
    for source in sources(program):
        callers: dict[Node, FreshNames] = {}
        for node in source.tree.nodes("function_definition"):
            yield from _of(source, node, callers)


def find_instances(program: Program) -> Iterator[Edit]:
    """Templates of functions and kernels that have the same arguments at all uses: these are put in."""
    for source in sources(program):
        for node in source.tree.nodes("function_definition"):
            item, name = outermost(node, "template_declaration"), declarator_name(function_of(node))
            uses = source.uses(name) if item is not node else []
            told = [template_arguments(source, item, use) for use in uses]
            if name is None or not told or not told[0] or any(each != told[0] for each in told):
                continue
            if any(_names_a_parameter(source, text, use) for use in uses for text in told[0].values()):
                continue
            puts = [Put(use, (text,)) for own, text in told[0].items() for use in _names(source, own, node)]
            around = ((use, use.parent) for use in uses)
            calls = [Put(up, (use,)) for use, up in around if up is not None and up.kind == "template_function"]
            yield source.edit(f"the one instance of {source.of(name)}", Put(item, (node,)), *puts, *calls, weight=8)


def _names_a_parameter(source: Source, text: str, use: Node) -> bool:
    """Whether the text names a parameter of a template around a place."""
    lists = [up.child("parameters") for up in use.above() if up.kind == "template_declaration"]
    names = (declarator_name(each) or each for listed in lists if listed is not None for each in listed.members)
    return bool({source.of(each).rpartition(" ")[2] for each in names} & {*words(text)})


def _of(source: Source, node: Node, callers: dict[Node, FreshNames]) -> Iterator[Edit]:
    declarator, body = function_of(node), node.child("body")
    name = declarator_name(declarator)
    if declarator is None or body is None or name is None or "__global__" in source.text[node.first : body.first]:
        return
    item = outermost(node, "template_declaration")
    uses = source.uses(name)
    if len(uses) > 1:
        yield from _short(source, item, declarator, body, uses)
        return
    given = arguments_of(uses[0]) if len(uses) == 1 and not is_inside(uses[0], item) else None
    call, listed = given.parent if given is not None else None, declarator.child("parameters")
    if given is None or call is None or call.kind != "call_expression":
        return
    user = statement_of(call)
    if listed is None or user is None or len(given.members) != len(listed.members):
        return
    if user.parent is None or user.parent.kind not in ("compound_statement", "case_statement"):
        return  # as the list of initialisers of a constructor
    types = template_arguments(source, item, uses[0])
    caller = enclosing(user, "function_definition")
    if types is None or caller is None:
        return
    fresh = callers.setdefault(caller, FreshNames(set(words(source.of(caller)))))
    declarations, puts = _bound(source, node, listed, given, fresh)
    puts += [Put(use, (text,)) for own, text in types.items() for use in _names(source, own, node)]
    what = f"inline function {source.of(name)}"
    weight = 10 + 2 * len(given.members)
    inside = statements(body)
    returns = [each for each in body.walk() if each.kind == "return_statement"]
    renamed = _renamed(source, node, body, fresh)
    if not returns and user.kind == "expression_statement" and user.members == [call]:
        puts += [put for own in renamed.values() for put in own]
        yield source.edit(what, Drop(item), Put(user, ("{\n", *declarations, body, "\n}")), *puts, weight=weight)
        if not declarations:
            yield source.edit(what, Drop(item), Put(user, (body,)), *puts, weight=weight)
    elif len(returns) == 1 and inside and inside[-1] is returns[0] and returns[0].members:
        value = returns[0].members[0]
        before = tuple(inside[:-1])
        named = _as_declared(source, user, call, value, before)
        puts += [put for own, each in renamed.items() for put in each if named is None or own != source.of(value)]
        if named is not None:
            yield source.edit(what, Drop(item), Put(user, (*declarations, before)), *named, *puts, weight=weight)
            return
        changes: list[Drop | Put] = [Drop(item), Put(call, (value,)), *puts]
        if before or declarations:
            changes.append(Put(user, (*declarations, before, "\n", user)))
        yield source.edit(what, *changes, weight=weight)


def _short(source: Source, item: Node, declarator: Node, body: Node, uses: Sequence[Node]) -> Iterator[Edit]:
    """A function that is one short expression, at each of its calls."""
    inside, listed = statements(body), declarator.child("parameters")
    value = inside[0].members[0] if len(inside) == 1 and inside[0].members else None
    if listed is None or value is None or inside[0].kind != "return_statement" or source.weight([value]) > _SHORT:
        return
    names = [declarator_name(each.child("declarator")) for each in listed.members]
    changes: list[Drop | Put] = [Drop(item)]
    for use in uses:
        given = arguments_of(use)
        call = given.parent if given is not None else None
        if given is None or call is None or call.kind != "call_expression" or len(given.members) != len(names):
            return
        if is_inside(use, item):
            return
        types = template_arguments(source, item, use)
        if types is None:
            return
        bound = {source.of(own): source.of(each) for own, each in zip(names, given.members, strict=True) if own}
        bound |= types
        text = _substituted(source.of(value), bound)
        changes.append(Put(call, (f"({text})" if is_operand(call) else text,)))
    yield source.edit(f"inline function {source.of(declarator_name(declarator) or item)}", *changes, weight=10)


def _renamed(source: Source, node: Node, body: Node, fresh: FreshNames) -> dict[str, list[Put]]:
    """The variables of a function by other names, where the caller has one of that name."""
    found: dict[str, list[Put]] = {}
    for own in dict.fromkeys(source.of(name) for each in body.walk() for name in _declared(each)):
        if (name := fresh.of(own)) != own:
            found[own] = [Put(use, (name,)) for use in _names(source, own, node)]
    return found


def _declared(node: Node) -> list[Node]:
    if node.kind == "for_range_loop":
        return [name] if (name := declarator_name(node.child("declarator"))) is not None else []
    return names_in(node) if node.kind == "declaration" else []


def _names(source: Source, own: str, inside: Node) -> list[Node]:
    """Where a name stands that is no member of something; `T x(own)` is read as a function of a type."""
    kinds = ("identifier", "type_identifier")
    return [use for use in source.names[own] if use.kind in kinds and is_inside(use, inside)]


def _substituted(text: str, bound: Mapping[str, str]) -> str:
    whole = {own: given if re.fullmatch(r"[\w.]+", given) else f"({given})" for own, given in bound.items()}
    return re.sub(r"(?<![.\w])\w+", lambda found: whole.get(found[0], found[0]), text)


def _as_declared(source: Source, user: Node, call: Node, value: Node, before: tuple[Node, ...]) -> list[Put] | None:
    """`T x = f();` where f returns a variable of its own: that is called x from the start."""
    initial = call.parent
    if user.kind != "declaration" or initial is None or initial.kind != "init_declarator" or not before:
        return None
    own, text = declarator_name(initial), source.of(value)
    alone = sum(each.field == "declarator" for each in user.children) == 1
    if (
        own is None
        or not alone
        or value.kind != "identifier"
        or not any(text in source.declares(each) for each in before)
    ):
        return None
    places = [use for use in source.names[text] if any(is_inside(use, each) for each in before)]
    return [Put(use, (source.of(own),)) for use in places if use.kind != "field_identifier"]


def _bound(
    source: Source, node: Node, listed: Node, given: Node, fresh: FreshNames
) -> tuple[list[Part], list[Put]]:
    """Declarations of the parameters that become variables, and the others put where they are read."""
    declarations: list[Part] = []
    puts: list[Put] = []
    for parameter, argument in zip(listed.members, given.members, strict=True):
        declared = parameter.child("declarator")
        own = declarator_name(declared)
        if declared is None or own is None:
            continue
        uses = [use for use in _names(source, source.of(own), node) if use is not own]
        variable = declared.kind in ("identifier", "pointer_declarator", "reference_declarator")
        changes = declared.kind != "reference_declarator" and any(map(is_written, uses))
        if source.of(own) == source.of(argument) and not changes:
            continue
        if variable and (changes or argument.kind not in _SIMPLE and len(uses) > 1):
            name = fresh.of(source.of(own))
            around = source.text[parameter.first : own.first], source.text[own.last : declared.last]
            declarations += [around[0], name, around[1], " = ", argument, ";\n"]
            puts += [Put(use, (name,)) for use in uses if name != source.of(own)]
        else:
            puts += [Put(use, (argument,)) for use in uses]
    return declarations, puts

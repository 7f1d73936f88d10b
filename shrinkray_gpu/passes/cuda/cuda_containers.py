"""CUDA: a `std::vector` gives way to an array: of a list, of what is pushed into it, or made by `new`.

Where a function uses its elements, its data and its size, and never the whole. Its header goes with the last of them.
Of one that is filled and never read only the size stays. A copy of one that is never written is a clearing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from shrinkray_gpu.passes.cuda.cuda_unread import written_by
from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_change import Drop, NativeChange, Part, Put
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import Source, declarator_name, depth, enclosing, is_inside, sources, statement_of

_KINDS = ("vector", "std::vector")


def find(program: Program) -> Iterator[Edit]:
    for source in sources(program):
        for node in source.tree.nodes("declaration"):
            kind = node.child("type")
            named = next((each for each in kind.walk() if each.kind == "template_type"), None) if kind else None
            given = named.child("arguments") if named is not None else None
            function = enclosing(node, "function_definition")
            if kind is None or named is None or given is None or function is None or len(given.members) != 1:
                continue
            if source.text[kind.first : given.first].strip() not in _KINDS:
                continue
            declarators = [each for each in node.children if each.field == "declarator"]
            if len(declarators) == 1:
                yield from _of(source, function, node, source.of(given.members[0]), declarators[0])


def _of(source: Source, function: Node, node: Node, element: str, declarator: Node) -> Iterator[Edit]:
    name = declarator_name(declarator)
    if name is None or declarator.kind not in ("identifier", "init_declarator", "function_declarator"):
        return
    value = declarator.child("value") or declarator.child("parameters")
    uses = source.uses(name, function)
    pushes = [push for use in uses if (push := _push(source, use)) is not None]
    rest = [use for use in uses if not any(use in push.walk() for push in pushes)]
    own = source.of(name)
    changes: list[NativeChange] = []
    parts: tuple[Part, ...]
    if pushes and value is None and all(each.parent is node.parent for each in pushes):
        given = [call for push in pushes for call in push.members[0].child("arguments").members]  # type: ignore[union-attr]
        parts, size = _listed(element, own, given), str(len(given))
        changes += [Put(pushes[-1], parts), *map(Drop, [node, *pushes[:-1]])]
        if any(use.first < pushes[-1].first for use in rest):
            return
    elif pushes or value is None:
        return
    elif value.kind == "initializer_list":
        parts, size = _listed(element, own, value.members), str(len(value.members))
        changes.append(Put(node, parts))
    elif value.kind in ("argument_list", "parameter_list") and _is_zeros(source, value):
        yield from _cleared(source, node, own, uses, value.members[0])
        if len(value.members) > 1:
            return
        yield from _size_alone(source, node, own, uses, value.members[0])
        size = source.of(value.members[0])
        changes.append(Put(node, (f"{element}* {own} = new {element}[", value.members[0], "]();")))
    else:
        return
    for use in rest:
        change = _read(source, use, own, size)
        if change is None:
            return
        changes += change
    yield source.edit(f"array for vector {own}", *changes, level=depth(node), weight=4 + 4 * len(rest))


def _is_zeros(source: Source, given: Node) -> bool:
    """Whether a vector made of that has but zeros: it is given a size, and a number that is none."""
    return len(given.members) == 1 or (
        len(given.members) == 2 and re.fullmatch(r"0(\.0*)?[fF]?", source.of(given.members[1])) is not None
    )


def _cleared(source: Source, node: Node, own: str, uses: Sequence[Node], size: Node) -> Iterator[Edit]:
    """`cudaMemset(p, 0, bytes)` for a copy of it to the device, where nothing else is done with it."""
    changes: list[NativeChange] = []
    for use in uses:
        member, call = use.parent.child("field") if use.parent is not None else None, enclosing(use, "call_expression")
        if member is None or call is None or call.child("function") is not use.parent:
            return
        if source.of(member) == "size":
            changes.append(Put(call, (f"({source.of(size)})",)))
            continue
        copy = enclosing(call, "call_expression")
        function, given = (copy.child("function"), copy.child("arguments")) if copy is not None else (None, None)
        if copy is None or function is None or given is None or len(given.members) != 4:
            return
        if source.of(member) != "data" or source.of(function) != "cudaMemcpy" or given.members[1] is not call:
            return
        if source.of(given.members[3]) != "cudaMemcpyHostToDevice":
            return
        changes += [Put(function, ("cudaMemset",)), Put(call, ("0",)), Drop(given.members[3])]
    if any(isinstance(change, Drop) for change in changes):
        yield source.edit(f"clearing for copies of {own}", Drop(node), *changes, level=depth(node), weight=12)


def _size_alone(source: Source, node: Node, own: str, uses: Sequence[Node], size: Node) -> Iterator[Edit]:
    """Its size for it, where its elements are written at most."""
    written = (use for use in uses if use.parent is not None and use.parent.kind == "subscript_expression")
    gone = {statement for use in written if (statement := written_by(source, use)) is not None}
    changes: list[NativeChange] = []
    for use in (each for each in uses if not any(is_inside(each, statement) for statement in gone)):
        member, call = use.parent.child("field") if use.parent is not None else None, enclosing(use, "call_expression")
        if member is None or call is None or source.of(member) != "size" or call.child("function") is not use.parent:
            return
        changes.append(Put(call, (size,)))
    if changes:
        weight = 8 + source.weight(gone)
        what = f"size for vector {own}"
        yield source.edit(what, Drop(node), *map(Drop, gone), *changes, level=depth(node), weight=weight)


def _listed(element: str, own: str, members: list[Node]) -> tuple[Part, ...]:
    between: list[Part] = [part for each in members for part in (each, ", ")]
    return (f"{element} {own}[] = {{", *between[:-1], "};")


def _push(source: Source, use: Node) -> Node | None:
    """`v.push_back(x);`"""
    up, statement = use.parent, statement_of(use)
    member = up.child("field") if up is not None and up.kind == "field_expression" else None
    if member is None or source.of(member) not in ("push_back", "emplace_back") or statement is None:
        return None
    call = statement.members[0] if statement.kind == "expression_statement" and statement.members else None
    given = call.child("arguments") if call is not None else None
    return statement if given is not None and up is call.child("function") and len(given.members) == 1 else None  # type: ignore[union-attr]


def _read(source: Source, use: Node, own: str, size: str) -> list[NativeChange] | None:
    """A use of its elements, its data or its size, as that of an array; None where it is used otherwise."""
    up = use.parent
    if up is None or up.kind == "subscript_expression" or (up.kind == "for_range_loop" and use.field == "right"):
        return []
    if up.kind == "parameter_declaration" and (at := up.child("declarator")) is not None:
        return [] if at.kind == "abstract_array_declarator" else None  # `A a(v[0])` is read as a function
    member, call = up.child("field"), up.parent
    if up.kind != "field_expression" or member is None or call is None or call.kind != "call_expression":
        return None
    said = {"data": own, "begin": own, "size": size, "end": f"{own} + {size}", "front": f"{own}[0]"}
    text = said.get(source.of(member))
    return None if text is None else [Put(call, (text,))]

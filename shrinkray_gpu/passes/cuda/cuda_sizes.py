"""CUDA: for the size of an allocation, a copy or a clearing one part of it that the program computes.

Buffers that own their memory leave `max<size_t>(rows.size() * (columns + 31) / 32 * 32, 1) * sizeof(T)` behind, at each
place once. Sizes that are written alike change together, since a copy must fit what it fills. What is too small then
is seen as another access that is wrong, or by the control. A long one gets a name, also where a kernel is given it:
what is said of it at one place is not said of the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_change import Put
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import Source, enclosing, is_a_file, is_inside, sources, statement_of, words
from shrinkray_gpu.source.cuda_classes import is_written
from shrinkray_gpu.source.cuda_scopes import FreshNames

_SIZES = {"cudaMalloc": 1, "cudaMemcpy": 2, "cudaMemset": 2, "cudaMemcpyAsync": 2, "cudaMemsetAsync": 2}
"""Which argument it is."""
_MOST = 3
"""Parts offered for one size."""
_LONG = 5
"""Tokens of what may get a name."""
_GROWS = ("push_back", "emplace_back", "resize", "insert", "clear", "assign", "erase", "pop_back")


def find(program: Program) -> Iterator[Edit]:
    for source in sources(program) if is_a_file(program) else ():
        places: dict[str, list[Node]] = defaultdict(list)
        for call in source.tree.nodes("call_expression"):
            function, given = call.child("function"), call.child("arguments")
            at = _SIZES.get(source.of(function)) if function is not None else None
            if at is not None and given is not None and len(given.members) > at:
                places["".join(source.of(given.members[at]).split())].append(given.members[at])
        for text, nodes in places.items():
            yield from _named(source, text, nodes[0])
            for part in _parts(source, nodes[0])[:_MOST]:
                weight = len(nodes) * max(1, source.weight(nodes[:1]) - source.weight([part]))
                yield source.edit(
                    f"size {source.of(part)} for {text}", *(Put(each, (part,)) for each in nodes), weight=weight
                )


def _named(source: Source, text: str, size: Node) -> Iterator[Edit]:
    """A variable for a size, declared before its first place, where what it is computed of does not change any more."""
    function, amount = enclosing(size, "function_definition"), source.weight([size])
    if function is None or amount < _LONG:
        return
    alike = (each for each in function.walk() if each.kind == size.kind and "".join(source.of(each).split()) == text)
    nodes = sorted(alike, key=lambda each: each.first)
    first = statement_of(nodes[0])
    block = first.parent if first is not None else None
    if len(nodes) < 2 or first is None or block is None or not all(is_inside(each, block) for each in nodes):
        return
    if block.kind != "compound_statement" or first.kind not in ("expression_statement", "declaration"):
        return
    named = [use for each in size.walk() if each.kind == "identifier" for use in source.uses(each, function)]
    later = [use for use in named if use.first > nodes[0].first]
    if any(_changes(source, use) for use in later):
        return
    own = FreshNames(set(words(source.text))).of("bytes")
    puts = [Put(each, (own,)) for each in nodes]
    declared = Put(first, (f"size_t {own} = {source.of(size)};\n", first))
    weight = (len(nodes) - 1) * (amount - 1) - 4
    if weight > 0:
        yield source.edit(f"a name for {text}", declared, *puts, weight=weight)


def _changes(source: Source, use: Node) -> bool:
    up = use.parent
    member = up.child("field") if up is not None and up.kind == "field_expression" else None
    if member is not None:
        return source.of(member) in _GROWS or is_written(up)  # type: ignore[arg-type]
    if use.field == "declarator":  # another one
        return True
    return is_written(use) or (up is not None and up.kind == "pointer_expression" and source.of(up).startswith("&"))


def _parts(source: Source, size: Node) -> list[Node]:
    """Variables in it and results of calls without arguments, each once."""
    found: dict[str, Node] = {}
    for each in size.walk():
        if each is size or (each.kind != "identifier" and not _is_a_result(source, each)):
            continue
        if each.field in ("function", "argument", "name") or any(up.kind == "sizeof_expression" for up in each.above()):
            continue
        found.setdefault(source.of(each), each)
    return [*found.values()]


def _is_a_result(source: Source, node: Node) -> bool:
    function, given = node.child("function"), node.child("arguments")
    if node.kind != "call_expression" or function is None or given is None or given.members:
        return False
    member = function.child("field")
    return member is None or source.of(member) == "size"

"""CUDA: for the size of an allocation, a copy or a clearing one part of it that the program computes.

Buffers that own their memory leave `max<size_t>(rows.size() * (columns + 31) / 32 * 32, 1) * sizeof(T)` behind, at each
place once. Sizes that are written alike change together, since a copy must fit what it fills. What is too small then
is seen as another access that is wrong, or by the control.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_change import Put
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import Source, is_a_file, sources

_SIZES = {"cudaMalloc": 1, "cudaMemcpy": 2, "cudaMemset": 2, "cudaMemcpyAsync": 2, "cudaMemsetAsync": 2}
"""Which argument it is."""
_MOST = 3
"""Parts offered for one size."""


def find(program: Program) -> Iterator[Edit]:
    for source in sources(program) if is_a_file(program) else ():
        places: dict[str, list[Node]] = defaultdict(list)
        for call in source.tree.nodes("call_expression"):
            function, given = call.child("function"), call.child("arguments")
            at = _SIZES.get(source.of(function)) if function is not None else None
            if at is not None and given is not None and len(given.members) > at:
                places["".join(source.of(given.members[at]).split())].append(given.members[at])
        for text, nodes in places.items():
            for part in _parts(source, nodes[0])[:_MOST]:
                weight = len(nodes) * max(1, source.weight(nodes[:1]) - source.weight([part]))
                yield source.edit(
                    f"size {source.of(part)} for {text}", *(Put(each, (part,)) for each in nodes), weight=weight
                )


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

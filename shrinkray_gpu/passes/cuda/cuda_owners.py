"""CUDA: a `std::unique_ptr` gives way to the pointer that it owns, all of a source at once.

`p.get()` is `p` then, and what frees the memory goes with the last that names it. A plain pointer is what the other
passes know: what nothing reads, what an allocation fills, what a kernel is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_change import NativeChange, Put
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import Source, is_a_file, sources

_OWN = re.compile(r"\b(?:make_unique|shared_ptr|weak_ptr|get_deleter)\b|\.\s*(?:reset|release)\s*\(")
"""What is more than a pointer."""


def find(program: Program) -> Iterator[Edit]:
    for source in sources(program) if is_a_file(program) else ():
        if not _OWN.search(source.text):
            yield from _of(source)


def _of(source: Source) -> Iterator[Edit]:
    changes: list[NativeChange] = []
    for node in source.tree.nodes("template_type"):
        name, given = node.child("name"), node.child("arguments")
        if name is None or given is None or source.of(name) != "unique_ptr" or not given.members:
            continue
        element = re.sub(r"\s*\[\s*\]$", "", source.of(given.members[0]))
        outer = node.parent if node.parent is not None and node.parent.kind == "qualified_identifier" else node
        changes.append(Put(outer, (f"{element}*",)))
    if not changes:
        return
    for call in source.tree.nodes("call_expression"):
        function, given = call.child("function"), call.child("arguments")
        member = function.child("field") if function is not None and function.kind == "field_expression" else None
        inner = function.child("argument") if function is not None else None
        if member is not None and inner is not None and given is not None and not given.members:
            if source.of(member) == "get" and "->" not in source.of(function or call):
                changes.append(Put(call, (inner,)))
    yield source.edit("pointers for their owners", *changes, weight=20 + 4 * len(changes))

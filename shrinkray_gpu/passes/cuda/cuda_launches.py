"""CUDA: launches of one block, of few threads, without shared memory and stream.

One block runs at once, and what the host worked its grid out from is read no more: sizes, members, arguments.
"""

from __future__ import annotations

from collections.abc import Iterator

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_change import Drop, Put
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import Source, declared_names, enclosing, is_warp_wide, sources, statement_of

_THREADS = ("1", "32", "64", "128", "256")


def find(program: Program) -> Iterator[Edit]:
    for source in sources(program):
        for launch in source.tree.nodes("kernel_call_syntax"):
            where = f"at line {source.line(launch)}"
            given = launch.members
            if len(given) > 2:
                yield source.drop(f"remove launch options {where}", given[2:])
            if given:
                yield from _fewer(source, given[0], "one block", ("1",), where)
            if len(given) > 1:
                yield from _fewer(source, given[1], "few threads", _THREADS[is_warp_wide(source) :], where)


def _fewer(source: Source, given: Node, what: str, offers: tuple[str, ...], where: str) -> Iterator[Edit]:
    """Without the variable that held it, if nothing else reads that: `dim3 grid(n)`."""
    text = source.of(given)
    function = enclosing(given, "function_definition") or source.tree.root
    holders = {use: statement_of(use) for use in source.uses(given, function)}
    drops = [
        Drop(holder)
        for use, holder in holders.items()
        if len(holders) == 1 and holder is not None and declared_names(holder) == [use]
    ]
    for number in offers:
        if text == number:
            return
        yield source.edit(f"launch {what} {where}", Put(given, (number,)), *drops, weight=1 + 8 * len(drops))

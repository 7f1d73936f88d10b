"""Comparisons of a kernel that are too lax by one: `row > rows` where `row >= rows` mends the fault.

Such a guard is the cause, and the fault does without it. So a control moves by one what a comparison compares with. The
environment of a run says which. What mends the original must mend each candidate, at a comparison by the same sign.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from shrinkray_gpu.reduction.native.native_tree import Node, Tree, parse
from shrinkray_gpu.runner import cores
from shrinkray_gpu.source.cuda import enclosing

_SIGNS = ("<", "<=", ">", ">=")
_LOOPS = ("for_statement", "while_statement", "do_statement")
_CONDITIONS = ("if_statement", *_LOOPS)
_MOST = 16
"""Comparisons that are moved, as many as `moves` in machine.cpp."""
AT_ONCE = 8
"""Runs of the original beside each other. Each may take as much memory as a GPU gives the program."""
SHARE = 0.5
"""Of the right accesses, those that a step leaves at least. One that leaves fewer ends the kernel's work."""

Stepped = Callable[[Mapping[str, str]], "int | None"]
"""How many accesses of a run are right, in this environment; None where one is wrong."""


def movable(text: str) -> tuple[str, tuple[str, ...]]:
    """The text for the machine of `prelude.hpp`, and the signs of the comparisons that can be moved in it."""
    tree = parse(text)
    found = [node for node in tree.nodes("binary_expression") if _is_bound(tree, node)]
    found = sorted(found, key=lambda node: enclosing(node, *_LOOPS) is not None)[:_MOST]  # a loop may have no end then
    puts: list[tuple[int, str]] = []
    for index, node in enumerate(found):
        right = node.child("right")
        assert right is not None
        puts += [(right.first, f"shrink_cpu::moved({index}, "), (right.last, ")")]
    for at, put in sorted(puts, key=lambda each: each[0], reverse=True):
        text = text[:at] + put + text[at:]
    return text, tuple(_sign(tree, node) for node in found)


def _is_bound(tree: Tree, node: Node) -> bool:
    function = enclosing(node, "function_definition")
    body = function.child("body") if function is not None else None
    if function is None or body is None or _sign(tree, node) not in _SIGNS or node.child("right") is None:
        return False
    if not any(word in tree.text[function.first : body.first] for word in ("__global__", "__device__")):
        return False
    below, up = node, node.parent
    while up is not None and up.kind not in _CONDITIONS and up is not function:
        below, up = up, up.parent
    constant = up is not None and any(each.kind == "constexpr" for each in up.children)
    return up is not None and up.kind in _CONDITIONS and below.field == "condition" and not constant


def _sign(tree: Tree, node: Node) -> str:
    return tree.text_of(node.children[1])


def too_lax(signs: Sequence[str], stepped: Stepped, least: float) -> frozenset[str]:
    """The signs of the comparisons that mend the fault where they are stricter by one, and leave so many right
    accesses. They are tried beside each other."""
    with ThreadPoolExecutor(min(AT_ONCE, cores.usable()), thread_name_prefix="bounds") as threads:
        mended = threads.map(lambda index: _mends(index, stepped, least), range(len(signs)))
        return frozenset(itertools.compress(signs, mended))


def is_mended(wanted: str, signs: Sequence[str], stepped: Stepped) -> bool:
    """Whether a candidate is mended as the original is."""
    return any(_mends(index, stepped, 0.0) for index, sign in enumerate(signs) if sign == wanted)


def _mends(index: int, stepped: Stepped, least: float) -> bool:
    found = (stepped({"SHRINK_MOVED": str(index), "SHRINK_MOVED_BY": step}) for step in ("-1", "1"))
    return any(right is not None and right >= least for right in found)

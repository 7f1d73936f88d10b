"""Comparisons of a kernel that are too lax: `row > rows` where `row >= rows` mends the fault, or another parameter.

Such a guard is the cause, and the fault does without it. So a control moves by one what a comparison compares with, or
puts another integer of the function's parameters there. The environment of a run says which. What mends the original
must mend each candidate, at a comparison by the same sign; of another parameter, which may be gone, any step does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from shrinkray_gpu.reduction.native.native_tree import Node, Tree, parse
from shrinkray_gpu.runner import cores
from shrinkray_gpu.source.cuda import declarator_name, enclosing, function_of

_SIGNS = ("<", "<=", ">", ">=")
_LOOPS = ("for_statement", "while_statement", "do_statement")
_CONDITIONS = ("if_statement", *_LOOPS)
_MOST = 16
"""Comparisons that are moved, as many as `moves` in machine.cpp."""
_OTHER = 1 << 40
"""A step of so many and more stands for a parameter, by its number; see `moved` in prelude.hpp."""
AT_ONCE = 8
"""Comparisons beside each other, of those a run each."""
_WIDER = tuple(1 << power for power in range(0, 24, 2))
_INTEGERS = frozenset("int unsigned long short char size_t int32_t int64_t uint32_t uint64_t const".split())
SHARE = 0.5
"""Of the right accesses, those that a step leaves at least. One that leaves fewer ends the kernel's work."""

Stepped = Callable[[Mapping[str, str]], "int | None"]
"""How many accesses of a run are right, in this environment; None where one is wrong."""


@dataclass(frozen=True)
class MovableBound:
    """A comparison that can be moved."""

    sign: str
    others: int
    """How many parameters may stand in the place of what it compares with."""


def movable(text: str) -> tuple[str, tuple[MovableBound, ...]]:
    """The text for the machine of `prelude.hpp`, and what can be moved in it."""
    tree = parse(text)
    found = [node for node in tree.nodes("binary_expression") if _is_bound(tree, node)]
    found = sorted(found, key=lambda node: enclosing(node, *_LOOPS) is not None)[:_MOST]  # a loop may have no end then
    puts: list[tuple[int, str]] = []
    bounds: list[MovableBound] = []
    for index, node in enumerate(found):
        right = node.child("right")
        assert right is not None
        others = [name for name in _integers(tree, node) if name not in tree.text_of(node)]
        given = "".join(f", {name}" for name in others)
        puts += [(right.first, f"shrink_cpu::moved({index}, "), (right.last, f"{given})")]
        bounds.append(MovableBound(_sign(tree, node), len(others)))
    for at, put in sorted(puts, key=lambda each: each[0], reverse=True):
        text = text[:at] + put + text[at:]
    return text, tuple(bounds)


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


def _integers(tree: Tree, node: Node) -> Iterator[str]:
    """The parameters of the function around it that are integers."""
    declarator = function_of(enclosing(node, "function_definition") or node)
    listed = declarator.child("parameters") if declarator is not None else None
    for each in listed.members if listed is not None else ():
        kind, name = each.child("type"), each.child("declarator")
        if kind is not None and name is not None and declarator_name(name) is name:
            if _INTEGERS.issuperset(tree.text_of(kind).removeprefix("std::").split()):
                yield tree.text_of(name)


def _sign(tree: Tree, node: Node) -> str:
    return tree.text_of(node.children[1])


def too_lax(bounds: Sequence[MovableBound], stepped: Stepped, least: float) -> Iterator[str]:
    """What mends the fault, and leaves so many right accesses: `>` one step stricter, or `>` with another bound. The
    comparisons are tried beside each other."""

    def mended(index: int, bound: MovableBound) -> str:
        if _mends(index, (-1, 1), stepped, least):
            return f"{bound.sign} one step stricter"
        if _mends(index, range(_OTHER, _OTHER + bound.others), stepped, least):
            return f"{bound.sign} with another bound"
        return ""

    with ThreadPoolExecutor(min(AT_ONCE, cores.usable()), thread_name_prefix="bounds") as threads:
        yield from filter(None, threads.map(mended, itertools.count(), bounds))


def is_mended(wanted: str, bounds: Sequence[MovableBound], stepped: Stepped) -> bool:
    """Whether a candidate is mended as the original is."""
    sign, _, how = wanted.partition(" ")
    steps = (-1, 1) if how.startswith("one") else tuple(step for each in _WIDER for step in (-each, each))
    own = (index for index, bound in enumerate(bounds) if bound.sign == sign)
    return any(_mends(index, steps, stepped, 0.0) for index in own)


def _mends(index: int, steps: Sequence[int], stepped: Stepped, least: float) -> bool:
    found = (stepped({"SHRINK_MOVED": str(index), "SHRINK_MOVED_BY": str(step)}) for step in steps)
    return any(right is not None and right >= least for right in found)

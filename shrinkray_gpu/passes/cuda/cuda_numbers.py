"""CUDA: numbers to smaller ones, alone and with their equals, those of the Python text among them.

A tile of 64 stands in a template argument, in an array's extent and in the script's table: these move together.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.passes.python.numbers import COUPLED_FROM, MOST_JOINT, offers
from shrinkray_gpu.reduction.edit import Change, Edit, Replace, Within
from shrinkray_gpu.reduction.native.code import number
from shrinkray_gpu.reduction.native.native_change import Put
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import Source, is_a_file, is_inside, is_warp_wide, items_of, sources
from shrinkray_gpu.source.tree import every

_FLOAT = re.compile(r"[\d.]+(?:[eE][-+]?\d+)?[fF]?\Z")

_LARGE, _MOST_LARGE, _PARTS = 1000, 6, (16, 4)


def find_large(program: Program) -> Iterator[Edit]:
    """Of a .cu: what the host computes with, at once and one by one to a part: most of a try is work on its data."""
    for source in sources(program) if is_a_file(program) else ():
        large = [node for node in source.tree.nodes("number_literal") if _is_large(source, node)][:_MOST_LARGE]
        for part in _PARTS:
            changes = {node: Put(node, (str((number(source.of(node)) or 0) // part),)) for node in large}
            if len(large) > 1:
                yield source.edit(f"{len(large)} large numbers by {part}", *changes.values(), weight=part)
            for node, change in changes.items():
                yield source.edit(f"number {source.of(node)} by {part}", change)


def _is_large(source: Source, node: Node) -> bool:
    """Whether it is a size of the host's: no flag, no mask, and no extent that types and kernels are made of."""
    value = number(source.of(node))
    item = next((each for each in items_of(source.tree.root) if is_inside(node, each)), None)
    device = item is None or re.search(r"__global__|__device__|\bconstexpr\b|#", source.of(item)[:200]) is not None
    return value is not None and _LARGE <= value < 1 << 31 and source.of(node).isdecimal() and not device


def find(program: Program) -> Iterator[Edit]:
    places: dict[int, list[tuple[Source, Node]]] = defaultdict(list)
    singles: list[Edit] = []
    for source in sources(program):
        for node in source.tree.nodes("number_literal"):
            text = source.of(node)
            value = number(text)
            if value is None:
                if _FLOAT.match(text) and text not in ("0.0f", "1.0f", "0.0", "1.0", "0.f", "1.f"):
                    for plain in ("1.0f", "0.0f"):
                        singles.append(source.put(f"number {text} to {plain}", node, plain, level=2))
                continue
            if is_warp_wide(source) and node.parent is not None and node.parent.kind == "kernel_call_syntax":
                if node in node.parent.members[1:2]:
                    continue  # threads: `cuda_launches` knows how many may be left
            places[value].append((source, node))
            for smaller_value in offers(value):
                singles.append(source.put(f"number {text} to {smaller_value}", node, str(smaller_value), level=2))
    python: dict[int, list[cst.Integer]] = defaultdict(list)
    if places:
        for integer in every(program, cst.Integer):
            python[integer.evaluated_value].append(integer)
    for value, found in places.items():
        if value < COUPLED_FROM:
            continue
        for smaller in offers(value)[:MOST_JOINT]:
            changes: list[Change] = [Within(source.literal, Put(node, (str(smaller),))) for source, node in found]
            beside: list[Change] = [Replace(node, (str(smaller),)) for node in python[value]]
            if beside:
                yield Edit(f"number {value} to {smaller}, both languages", (*changes, *beside))
            if len(changes) > 1:
                yield Edit(f"number {value} to {smaller}, {len(changes)} places", tuple(changes), level=1)
    yield from singles

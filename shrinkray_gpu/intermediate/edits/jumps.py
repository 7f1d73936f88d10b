"""Jumps between blocks: which operands of a terminator go to which of its successors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from shrinkray_gpu.intermediate.model import Operation
from shrinkray_gpu.intermediate.rewriting import with_property

_SEGMENTS = "operandSegmentSizes"
JUMPS = ("cf.br", "llvm.br")
CHOICES = ("cf.cond_br", "llvm.cond_br")


def segments(operation: Operation) -> list[int]:
    """The sizes of the groups that the operands of an operation stand in; empty if it has none."""
    return [int(number) for number in re.findall(r"\d+", operation.setting(_SEGMENTS).partition(":")[2])]


def with_segments(operation: Operation, sizes: list[int]) -> Operation:
    return with_property(operation, _SEGMENTS, f"array<i32: {', '.join(map(str, sizes))}>")


def handed(operation: Operation) -> list[tuple[int, ...]]:
    """The operands for each successor of a jump or a choice between two; empty for other operations."""
    if operation.name in JUMPS:
        return [operation.operands]
    if operation.name not in CHOICES:
        return []
    _, first, second = segments(operation)
    return [operation.operands[1 : 1 + first], operation.operands[1 + first : 1 + first + second]]


def jump(operation: Operation, at: int) -> Operation:
    """A plain jump to one of its successors."""
    name = JUMPS[CHOICES.index(operation.name)]
    return Operation(operation.key, name, (), handed(operation)[at], (operation.successors[at],))


def without(operation: Operation, numbers: Mapping[str, set[int]]) -> Operation:
    """The jump that hands over fewer operands: those of these numbers, by the label of the block, are left out."""
    given = [
        tuple(key for at, key in enumerate(keys) if at not in numbers.get(label, set()))
        for label, keys in zip(operation.successors, handed(operation))
    ]
    return _leading(operation, operation.successors, given) if given else operation


def redirected(operation: Operation, at: int, further: Operation) -> Operation:
    """The jump whose successor of this number is the one of `further`, with what that hands over."""
    labels = tuple(further.successors[0] if place == at else label for place, label in enumerate(operation.successors))
    given = [further.operands if place == at else keys for place, keys in enumerate(handed(operation))]
    return _leading(operation, labels, given)


def _leading(operation: Operation, labels: tuple[str, ...], given: Sequence[tuple[int, ...]]) -> Operation:
    """The jump that leads to these blocks and hands each of them these operands."""
    if operation.name in JUMPS:
        return replace(operation, operands=given[0], successors=labels)
    changed = replace(operation, operands=(operation.operands[0], *given[0], *given[1]), successors=labels)
    return with_segments(changed, [1, len(given[0]), len(given[1])])

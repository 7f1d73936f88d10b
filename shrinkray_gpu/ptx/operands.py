"""What a statement reads and writes: registers and labels, by their names in its text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from shrinkray_gpu.ptx.ptx_text import CODE, REGISTERS, PtxModule, PtxStatement

NAME = re.compile(r"(?<![\w$%.])[%$_A-Za-z][\w$]*")
_DECLARED = re.compile(r"([%$\w]+)\s*(?:<\s*(\d+)\s*>)?")
_GUARD = re.compile(r"@!?\s*([%$\w]+)\s*")
_SILENT = frozenset(
    "st sust red bra brx ret exit trap brkpt bar barrier membar fence prefetch prefetchu cp griddepcontrol nanosleep "
    "discard applypriority setmaxnreg stmatrix pmevent multimem".split()
)
"""Instructions that make no value."""


@dataclass(frozen=True)
class PtxAccess:
    """Names that an instruction reads and writes; more than registers may be among them."""

    reads: frozenset[str]
    writes: frozenset[str]
    keeps: frozenset[str] = frozenset()
    """Of those that it writes, those whose value before matters: under a guard, and of an accumulator."""


@lru_cache(maxsize=200_000)
def split(text: str) -> tuple[str, str, tuple[str, ...]]:
    """Guard, opcode and operands: `@%p1`, `add.s32`, `%r1`, `%r2`, `4`."""
    guard = _GUARD.match(text)
    rest = text[guard.end() :] if guard else text
    opcode, _, tail = rest.partition(" ")
    operands, depth, at = [], 0, 0
    for index, letter in enumerate(tail):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            operands.append(tail[at:index].strip())
            at = index + 1
    if tail[at:].strip():
        operands.append(tail[at:].strip())
    return guard[0].strip() if guard else "", opcode, tuple(operands)


@lru_cache(maxsize=200_000)
def access(text: str) -> PtxAccess:
    """Of an instruction."""
    guard, opcode, operands = split(text)
    writes: set[str] = set()
    if has_result(opcode, operands):
        writes = set(NAME.findall(operands[0]))
        operands = operands[1:]
    keeps = writes if guard or opcode.startswith("wgmma.mma_async") else ()
    reads = NAME.findall(" ".join([guard.lstrip("@!"), *operands]))
    return PtxAccess(frozenset(reads), frozenset(writes), frozenset(keeps))


def has_result(opcode: str, operands: tuple[str, ...]) -> bool:
    """Whether the first operand is written."""
    if not operands or operands[0].startswith("["):
        return False
    first, *rest = opcode.split(".")
    if first == "call":
        return operands[0].startswith("(")
    if first in ("bar", "barrier", "multimem") and ({"popc", "and", "or"} & {*rest} or "ld_reduce" in rest):
        return True
    return first not in _SILENT and opcode.partition(".sync")[0] not in ("wgmma.fence", "wgmma.commit_group")


def registers(module: PtxModule) -> Mapping[str, str]:
    """The type of each register that its statements name: `.b32`."""
    single, families = {}, []
    for each in module:
        if each.kind == REGISTERS:
            *words, tail = each.text.split(" ", 2)
            kind = words[-1]
            if kind.startswith(".v"):  # a vector of registers
                kind, _, tail = tail.partition(" ")
            for name, number in _DECLARED.findall(tail):
                if number:
                    families.append((re.compile(rf"{re.escape(name)}\d+\Z"), kind))
                else:
                    single[name] = kind
    found = {}
    for each in module:
        if each.kind == CODE:
            one = access(each.text)
            for name in one.reads | one.writes:
                if name not in found:
                    kind = single.get(name) or next((kind for test, kind in families if test.match(name)), "")
                    if kind:
                        found[name] = kind
    return found


def names(statement: PtxStatement) -> frozenset[str]:
    """All names in its text."""
    return frozenset(NAME.findall(statement.text))

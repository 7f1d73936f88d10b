"""What a statement reads and writes: registers and labels, by their names in its text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from shrinkray_gpu.ptx.ptx_text import CLOSE, CODE, OPEN, REGISTERS, PtxModule, PtxStatement

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


class _Scope:
    """Registers that one block declares."""

    def __init__(self) -> None:
        self.kinds: dict[str, str] = {}
        self.families: list[tuple[re.Pattern[str], str]] = []

    def declare(self, text: str) -> None:
        *words, tail = text.split(" ", 2)
        kind = words[-1]
        if kind.startswith(".v"):  # a vector of registers
            kind, _, tail = tail.partition(" ")
        for name, number in _DECLARED.findall(tail):
            if number:
                self.families.append((re.compile(rf"{re.escape(name)}\d+\Z"), kind))
            else:
                self.kinds[name] = kind

    def kind(self, name: str) -> str:
        """Empty where it does not declare that."""
        if name not in self.kinds and (found := next((kind for test, kind in self.families if test.match(name)), "")):
            self.kinds[name] = found
        return self.kinds.get(name, "")


def registers(module: PtxModule) -> Mapping[tuple[int, str], str]:
    """The type of each register that a statement names, `.b32`, by the statement's key and the name: functions and
    blocks may each declare the same name in their own way."""
    scopes, found = [_Scope()], {}
    for each in module:
        if each.kind == OPEN:
            scopes.append(_Scope())
        elif each.kind == CLOSE and len(scopes) > 1:
            scopes.pop()
        elif each.kind == REGISTERS:
            scopes[-1].declare(each.text)
        elif each.kind == CODE:
            one = access(each.text)
            for name in one.reads | one.writes:
                if kind := next(filter(None, (scope.kind(name) for scope in reversed(scopes))), ""):
                    found[each.key, name] = kind
    return found


def names(statement: PtxStatement) -> frozenset[str]:
    """All names in its text."""
    return frozenset(NAME.findall(statement.text))

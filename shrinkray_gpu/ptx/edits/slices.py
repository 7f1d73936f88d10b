"""What makes nothing that is read goes, a store or a wait, together with all that was computed for it alone.

Why beside the statements: what belongs together is rarely a piece of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shrinkray_gpu.intermediate.search import Family
from shrinkray_gpu.ptx.operands import access, split
from shrinkray_gpu.ptx.ptx_text import CODE, PtxModule, PtxStatement

_PURE = frozenset(
    "mov add sub mul mad fma shl shr and or xor not neg bfe bfi cvt cvta setp set selp slct min max abs div rem prmt "
    "lop3 shf popc clz brev bfind copysign testp ex2 lg2 rcp sqrt rsqrt sin cos tanh".split()
)
"""Instructions that do nothing but make their result."""


def find(module: PtxModule) -> Iterator[int]:
    read = _read(module)
    yield from (each.key for each in module if each.kind == CODE and not access(each.text).writes & read)


def apply(module: PtxModule, chosen: Sequence[int]) -> PtxModule:
    gone = set(chosen)
    return without_unread(module, PtxModule(tuple(each for each in module if each.key not in gone)))


def without_unread(before: PtxModule, after: PtxModule) -> PtxModule:
    """Without computations whose results somebody read `before`, and nobody does `after` the change."""
    was_read = _read(before) | _kept(before)
    while True:
        read = _read(after) | _kept(after)
        kept = [each for each in after if not _is_unread(each, read, was_read)]
        if len(kept) == len(after.statements):
            return after
        after = PtxModule(tuple(kept))


def _is_unread(statement: PtxStatement, read: frozenset[str], was_read: frozenset[str]) -> bool:
    if statement.kind != CODE or not _is_pure(statement.text):
        return False
    made = access(statement.text).writes
    return bool(made & was_read) and not made & read


def _is_pure(text: str) -> bool:
    opcode = split(text)[1]
    return opcode.partition(".")[0] in _PURE or opcode.startswith("ld.param")


def _read(module: PtxModule) -> frozenset[str]:
    return frozenset().union(*(access(each.text).reads for each in module if each.kind == CODE))


def _kept(module: PtxModule) -> frozenset[str]:
    """What instructions that stay add to: under a guard, or as an accumulator."""
    code = [each for each in module if each.kind == CODE and not _is_pure(each.text)]
    return frozenset().union(*(access(each.text).keeps for each in code))


FAMILY = Family("slices", find, apply)

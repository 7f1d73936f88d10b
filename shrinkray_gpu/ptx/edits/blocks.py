"""A block inside of a function goes, and what is in it stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shrinkray_gpu.intermediate.search import Family
from shrinkray_gpu.ptx.ptx_text import FUNCTION, OPEN, PtxModule


def find(module: PtxModule) -> Iterator[int]:
    before = None
    for each in module:
        if each.kind == OPEN and (before is None or before.kind != FUNCTION):
            yield each.key
        before = each


def apply(module: PtxModule, chosen: Sequence[int]) -> PtxModule:
    gone = {*chosen, *(module.closing[key] for key in chosen if key in module.closing)}
    return module.with_statements([each for each in module if each.key not in gone])


FAMILY = Family("blocks", find, apply)

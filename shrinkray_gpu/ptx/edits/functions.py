"""Functions go, with their bodies, and so do prototypes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shrinkray_gpu.intermediate.search import Family
from shrinkray_gpu.ptx.ptx_text import FUNCTION, PtxModule


def find(module: PtxModule) -> Iterator[int]:
    functions = [each.key for each in module if each.kind == FUNCTION]
    if len(functions) > 1:
        yield from functions


def apply(module: PtxModule, chosen: Sequence[int]) -> PtxModule:
    gone, inside = set(chosen), module.function_of
    return module.with_statements(
        [
            each
            for each in module
            if each.key not in gone and (each.key not in inside or inside[each.key].key not in gone)
        ]
    )


FAMILY = Family("functions", find, apply)

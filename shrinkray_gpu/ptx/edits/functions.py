"""Functions with their bodies, what stands around a body, and blocks in it, whose contents stay."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from shrinkray_gpu.intermediate.search import Family
from shrinkray_gpu.ptx.operands import names
from shrinkray_gpu.ptx.ptx_text import FUNCTION, OPEN, PtxModule

_POINTER = re.compile(r" \.ptr(?: \.(?:global|shared|const|local))?(?: \.align \d+)?")


def find(module: PtxModule) -> Iterator[int]:
    """Functions, and prototypes; one stays."""
    functions = [each.key for each in module if each.kind == FUNCTION]
    if len(functions) > 1:
        yield from functions


def apply(module: PtxModule, chosen: Sequence[int]) -> PtxModule:
    gone, inside = set(chosen), module.function_of
    lost = gone | {key for key, function in inside.items() if function.key in gone}
    return module.with_statements([each for each in module if each.key not in lost])


def find_headers(module: PtxModule) -> Iterator[tuple[int, str]]:
    """Parameters that nobody reads, what is said of them, and directives."""
    for each in module:
        if each.kind == FUNCTION:
            yield from ((each.key, part) for part in (*each.parameters, *each.directives))


def lighten(module: PtxModule, chosen: Sequence[tuple[int, str]]) -> PtxModule:
    """A parameter that is read keeps its type only."""
    read = frozenset().union(*(names(each) for each in module if each.kind != FUNCTION))
    gone = set(chosen)
    made = []
    for each in module:
        if each.kind == FUNCTION:
            parameters = [
                (_POINTER.sub("", part) if _name(part) in read else "") if (each.key, part) in gone else part
                for part in each.parameters
            ]
            directives = [part for part in each.directives if (each.key, part) not in gone]
            each = replace(each, parameters=tuple(filter(None, parameters)), directives=tuple(directives))
        made.append(each)
    return module.with_statements(made)


def _name(parameter: str) -> str:
    return parameter.split()[-1].partition("[")[0]


def find_blocks(module: PtxModule) -> Iterator[int]:
    before = None
    for each in module:
        if each.kind == OPEN and (before is None or before.kind != FUNCTION):
            yield each.key
        before = each


def open_blocks(module: PtxModule, chosen: Sequence[int]) -> PtxModule:
    gone = {*chosen, *(module.closing[key] for key in chosen if key in module.closing)}
    return module.with_statements([each for each in module if each.key not in gone])


FAMILY = Family("functions", find, apply)
HEADERS = Family("headers of functions", find_headers, lighten)
BLOCKS = Family("blocks", find_blocks, open_blocks)

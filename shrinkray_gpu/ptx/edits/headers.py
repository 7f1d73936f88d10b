"""What stands around the body of a function: parameters that nobody reads, what is said of them, and directives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from shrinkray_gpu.intermediate.search import Family
from shrinkray_gpu.ptx.operands import names
from shrinkray_gpu.ptx.ptx_text import FUNCTION, PtxModule

_POINTER = re.compile(r" \.ptr(?: \.(?:global|shared|const|local))?(?: \.align \d+)?")


def find(module: PtxModule) -> Iterator[tuple[int, str]]:
    for each in module:
        if each.kind == FUNCTION:
            yield from ((each.key, part) for part in (*each.parameters, *each.directives))


def apply(module: PtxModule, chosen: Sequence[tuple[int, str]]) -> PtxModule:
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


FAMILY = Family("headers of functions", find, apply)

"""`@%p1` goes: the instruction always runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shrinkray_gpu.intermediate.search import Family
from shrinkray_gpu.ptx.operands import split
from shrinkray_gpu.ptx.ptx_text import CODE, PtxModule


def find(module: PtxModule) -> Iterator[int]:
    for each in module:
        if each.kind == CODE and split(each.text)[0]:
            yield each.key


def apply(module: PtxModule, chosen: Sequence[int]) -> PtxModule:
    bare = set(chosen)
    return module.with_statements(
        [
            replace(each, text=each.text[len(split(each.text)[0]) :].strip()) if each.key in bare else each
            for each in module
        ]
    )


FAMILY = Family("guards", find, apply)

"""CUDA: launches of one block, of few threads, without shared memory and stream.

One block runs at once, and what the host worked its grid out from is read no more: sizes, members, arguments.
"""

from __future__ import annotations

from collections.abc import Iterator

from shrinkray_gpu.passes.cuda.source import sources
from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.program import Program

_THREADS = ("1", "32", "64", "128", "256")


def find(program: Program) -> Iterator[Edit]:
    for source in sources(program):
        for launch in source.tree.nodes("kernel_call_syntax"):
            where = f"at line {source.line(launch)}"
            given = launch.members
            if len(given) > 2:
                yield source.drop(f"remove launch options {where}", given[2:])
            if given and source.of(given[0]) != "1":
                yield source.put(f"launch one block {where}", given[0], "1")
            if len(given) > 1 and source.of(given[1]) != "1":
                for threads in _THREADS:
                    if source.of(given[1]) == threads:
                        break
                    yield source.put(f"launch {threads} threads {where}", given[1], threads)

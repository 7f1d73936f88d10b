"""CUDA: a whole .cu made flat in one step, by what changes nothing that it does.

Objects give way to their fields, functions that are called once to their bodies, blocks, namespaces, macros and steady
variables to what they hold, and what nothing reads then goes. One by one these are thirty tries, nearly all of which
hold. The way ends where the program is smallest. Where the whole does not hold, half of the way may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice

from shrinkray_gpu.passes.cuda import (
    cuda_branches,
    cuda_constants,
    cuda_inlining,
    cuda_objects,
    cuda_owners,
    cuda_reports,
    cuda_results,
    cuda_struct_arguments,
    cuda_unreachable,
    cuda_unread,
)
from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render
from shrinkray_gpu.source.cuda import is_a_file, rewrite

MOST = 40
"""Steps of one way."""


def find(program: Program) -> Iterator[Edit]:
    if not is_a_file(program):
        return
    way = [each for each in islice(_way(program), MOST)]
    smallest = min(way, key=lambda each: each.size.tokens, default=program)
    count = way.index(smallest) + 1 if way else 0
    while count:
        reached = way[count - 1]
        (literal,), (made,) = program.literals, reached.literals
        edit = rewrite(literal, f"make flat, {count} steps", made.source, program.size.tokens - reached.size.tokens)
        yield replace(edit, rivals=(literal, "flat"))
        count //= 2


def _way(program: Program) -> Iterator[Program]:
    """The program after each step."""
    while True:
        before = program.text
        for found in _STEPS:
            edits = list(found(program))
            made = render(program, edits) if edits else program
            if made.text != program.text and made.literals:
                yield (program := made)
        if program.text == before:
            return


def _first(find: Callable[[Program], Iterable[Edit]]) -> Callable[[Program], Iterable[Edit]]:
    return lambda program: islice(find(program), 1)


def _named(find: Callable[[Program], Iterable[Edit]], *names: str) -> Callable[[Program], Iterable[Edit]]:
    return lambda program: (each for each in find(program) if each.what.startswith(names))


_STEPS: tuple[Callable[[Program], Iterable[Edit]], ...] = (
    cuda_reports.find_behind,
    _named(cuda_branches.find, "open "),
    _named(cuda_constants.find, "inline macro", "inline alias"),
    cuda_owners.find,
    cuda_results.find_named,
    _first(cuda_objects.find),
    _first(cuda_struct_arguments.find),
    cuda_inlining.find,
    cuda_inlining.find_instances,
    cuda_constants.find_steady,
    _named(cuda_unread.find, "remove unread variables:", "remove unread parameters:"),
    _named(cuda_unreachable.find, "remove all"),
    cuda_unreachable.find_needless,
)

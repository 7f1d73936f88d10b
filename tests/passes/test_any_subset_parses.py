"""Whatever the search draws from a pass's Edits is Python: the property that the whole search stands on.

It is stated here, once, for every pass and every sample. A new pass is in it as soon as it is in the schedule.
"""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

from shrinkray_gpu.passes import PASSES, Pass
from shrinkray_gpu.passes.kernel.typed import watchable
from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.program import Program, read_program
from shrinkray_gpu.reduction.rendering.render import effective, render

SAMPLES = sorted((Path(__file__).parent / "samples").glob("*.py"))
EACH = tuple(dict.fromkeys(PASSES))
VALUES = ("<fp32 [16]>", "3")
"""What a watched run may have seen of every expression: a block in a kernel, a number on the host. One more run ends
half way."""
STEPS = 3
ALONE, SUBSETS = 20, 12
"""Edits tried alone and random subsets, in each step."""


WASTED = {"cuda_traits": ["cuda_expressions: open parentheses at line 22"]}
"""By sample. The writer puts the parentheses of `(a - 1) / b` back, by precedence; the pass does not ask it."""


@cache
def sample(path: Path) -> Program:
    return read_program(path)


def edits(a_pass: Pass, program: Program) -> list[Edit]:
    if not a_pass.needs_values:
        return list(a_pass.find(program))
    count = len(watchable(program))
    runs = [*(dict.fromkeys(range(count), value) for value in VALUES), dict.fromkeys(range(count // 2), "")]
    return [edit for seen in runs for edit in a_pass.find(program, seen)]


@cache
def at_first(a_pass: Pass, path: Path) -> list[Edit]:
    """The offers for the sample as it is."""
    return edits(a_pass, sample(path))


EACH_SAMPLE = [pytest.param(path, id=path.stem, marks=pytest.mark.xdist_group(path.name)) for path in SAMPLES]
"""All about a sample in one process of pytest: what the passes offer for it is searched for once."""


@pytest.mark.parametrize("path", EACH_SAMPLE)
def test_any_subset_parses_through_accepted_steps(path: Path) -> None:
    for a_pass in EACH:
        rng = random.Random(path.stem)
        start, found = sample(path), at_first(a_pass, path)
        for _ in range(STEPS if found else 0):
            subsets = [found, *([edit] for edit in rng.sample(found, min(len(found), ALONE)))]
            subsets += [rng.sample(found, rng.randint(1, len(found))) for _ in range(SUBSETS)]
            for subset in subsets:
                after = render(start, subset[:200])
                assert after.parses, (a_pass.name, sorted(edit.what for edit in subset), after.text)
            start = render(start, rng.sample(found, len(found) // 3))
            found = edits(a_pass, start)
            if not found:
                break


@pytest.mark.parametrize("path", EACH_SAMPLE)
def test_no_offer_is_wasted(path: Path) -> None:
    """An edit that the renderer drops, or that gives the same text, would cost a try and say nothing."""
    program, wasted = sample(path), []
    for a_pass in EACH:
        for edit in at_first(a_pass, path):
            if not effective(program, [edit]) or render(program, [edit]).text == program.text:
                wasted.append(f"{a_pass.name}: {edit.what}")
    assert wasted == WASTED.get(path.stem, [])


def test_every_pass_has_a_sample_that_it_offers_something_for() -> None:
    assert [each.name for each in EACH if not any(at_first(each, path) for path in SAMPLES)] == []

"""Whatever the search draws from a pass's Edits is Python: the property that the whole search stands on."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

from shrinkray_gpu.passes import PASSES, Pass
from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.program import Program, read_program
from shrinkray_gpu.reduction.rendering.render import effective, render

SAMPLES = sorted((Path(__file__).parent / "samples").glob("*.py"))
SUBSETS = 20


@cache
def program(path: Path) -> Program:
    return read_program(path)


@cache
def edits(a_pass: Pass, path: Path) -> tuple[Edit, ...]:
    return tuple(a_pass.find(program(path)))


plain = [each for each in dict.fromkeys(PASSES) if not each.needs_values]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("a_pass", plain, ids=lambda a_pass: a_pass.name)
def test_any_subset_parses(a_pass: Pass, path: Path) -> None:
    found = edits(a_pass, path)
    rng = random.Random(path.stem)
    for size in [len(found), *(rng.randint(1, 1 + len(found)) for _ in range(SUBSETS))]:
        subset = rng.sample(found, min(size, len(found), 200))
        result = render(program(path), subset)
        assert result.parses, (sorted(edit.what for edit in subset), result.text)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("a_pass", plain, ids=lambda a_pass: a_pass.name)
def test_each_edit_alone_does_something_or_is_known_to_be_none(a_pass: Pass, path: Path) -> None:
    """An edit that the renderer drops is a wasted offer: no more than two, or one in twenty, are."""
    found = edits(a_pass, path)
    dropped = [edit.what for edit in found if not effective(program(path), [edit])]
    assert len(dropped) <= max(2, len(found) / 20), dropped
    for edit in found[:60]:
        assert edit.what in dropped or render(program(path), [edit]).text != program(path).text, edit.what


def test_every_pass_has_samples_that_it_offers_something_for() -> None:
    silent = [each.name for each in plain if not any(edits(each, path) for path in SAMPLES)]
    assert silent == []


def test_every_pass_says_why() -> None:
    assert all(each.why.endswith((".", ",")) or len(each.why) > 20 for each in PASSES)

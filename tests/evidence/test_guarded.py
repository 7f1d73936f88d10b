"""What a repro says of its own guards, in agreement with the guard level of its size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.evidence.guarded import report, unguarded_places
from shrinkray_gpu.job.conclusion import exposure_report
from shrinkray_gpu.reduction.program import Program, Region, read_program
from shrinkray_gpu.reduction.size import exposures
from shrinkray_gpu.start.given import Start

ROOT = Path(__file__).parents[2]
SAMPLES = sorted(
    [*ROOT.glob("corpus/**/*.py"), *ROOT.glob("tests/programs/*.py"), *ROOT.glob("tests/passes/samples/*")]
)

GUARDED = """\
import torch
import triton.language as tl

def kernel(p, q, n):
    i = tl.arange(0, 16)
    x = tl.load(p + i, mask=i < n, other=0.0)
    tl.store(q + i, x, mask=i < n)

out = torch.zeros(16)
"""
UNMASKED = GUARDED.replace("x, mask=i < n", "x")
PARTLY = GUARDED.replace(", other=0.0", "").replace("zeros", "empty")


def program(text: str) -> Program:
    return Program.from_text(text)


def places(text: str) -> list[str]:
    return [str(place) for place in unguarded_places(program(text))]


def test_places_are_told_with_their_lines() -> None:
    assert places(GUARDED) == []
    assert places(UNMASKED) == ["tl.store without a mask at line 7"]
    assert places(GUARDED.replace("p + i, mask=i < n, other=0.0", "p + i")) == ["tl.load without a mask at line 6"]
    uninitialised = "a tensor that starts uninitialised (torch.empty and its like) at line 9"
    assert places(PARTLY) == ["tl.load without other= at line 6", uninitialised]
    assert places(GUARDED.replace("zeros(16)", "zeros(0)")) == ["a tensor without elements at line 9"]
    assert places(GUARDED.replace("q + i, x", "q + i, x / 0.0")) == ["a division by a literal zero at line 7"]


def test_comments_and_long_strings_above_do_not_shift_the_line() -> None:
    text = '"""A\nlong\nstring."""  # tl.load(p + i)\n# tl.store(p + i, x)\nx = tl.load(\n    p + i\n)\n'
    assert places(text) == ["tl.load without a mask at line 5"]


def test_a_local_module_is_named() -> None:
    both = Program((Region("main.py", "x = 1\n"), Region("lib/ops.py", "\ntl.store(p + i, 1)\n")))
    assert [str(place) for place in unguarded_places(both)] == ["tl.store without a mask at lib/ops.py, line 2"]
    assert "at line lib/ops.py:2" in report(both, both)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.parent.name + "/" + path.name)
def test_the_places_add_up_to_the_guard_level(path: Path) -> None:
    read = read_program(path)
    assert sum(place.points for place in exposures(read.text)) == read.size.infinite + read.size.guards
    assert len(unguarded_places(read)) == len(exposures(read.text))


def test_some_sample_has_places_to_add_up() -> None:
    assert sum(len(unguarded_places(read_program(path))) for path in SAMPLES) > 10


def test_a_guarded_repro_says_so() -> None:
    assert report(program(UNMASKED), program(GUARDED)) == (
        "guarded, as far as the text shows: no mask, bound or initialised input is missing"
    )


def test_of_a_program_without_tensors_and_kernels_nothing_is_said() -> None:
    assert report(program("x = [1]\nprint(x[1])\n"), program("print([][1])\n")) == ""


def test_what_the_original_lacks_too_is_no_fault_of_the_search() -> None:
    assert report(program(UNMASKED), program(UNMASKED)) == (
        "not guarded: tl.store without a mask at line 7. The original lacks the same"
    )


def test_a_guard_that_is_gone_is_named() -> None:
    assert report(program(GUARDED), program(UNMASKED)) == (
        "not guarded: tl.store without a mask at line 7. The original is better guarded: "
        "tl.store without a mask (none there); the search found no smaller program that keeps the guard"
    )


def test_what_was_lacking_and_what_is_gone_are_told_apart() -> None:
    twice = PARTLY + "out = torch.empty(16)\n"
    assert report(program(PARTLY), program(twice)) == (
        "not guarded: tl.load without other= at line 6; a tensor that starts uninitialised (torch.empty and its like) "
        "at lines 9 and 10. The original lacks the same except for a tensor that starts uninitialised (torch.empty and "
        "its like) (1 there); the search found no smaller program that keeps the guard"
    )


def test_a_script_without_the_kernels_has_no_guard_that_could_be_gone() -> None:
    """Its kernels are in a module: what was lifted out of that is what the search began with."""
    original = program("import torch\nfrom mine.rows import run\n\nrun(torch.zeros(16))\n")
    start = Start(original.with_text(UNMASKED), lifted=True, alone=True)
    told = "not guarded: tl.store without a mask at line 7. The "
    assert exposure_report(start, original, UNMASKED) == f"{told}lifted script lacks the same"
    merged = replace(start, alone=False)
    assert exposure_report(merged, original, UNMASKED) == f"{told}program in one file lacks the same"
    own = replace(start, program=program(UNMASKED))
    assert exposure_report(own, program(UNMASKED), UNMASKED) == f"{told}original lacks the same"


def test_of_kernels_in_a_module_beside_it_nothing_is_claimed() -> None:
    original = program("import torch\nfrom mine.rows import run\n\nrun(torch.zeros(16))\n")
    told = (
        "guarded, as far as the text shows: no mask, bound or initialised input is missing; mine.rows, which it "
        "imports, was not looked at"
    )
    assert exposure_report(Start(original), original, original.text) == told

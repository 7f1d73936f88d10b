"""regressed:FIGURE:RELEASE, on runs as data: what counts as the original's regression, and what does not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import Answer, Oracle, parse
from shrinkray_gpu.runner.run import Compilation, Run
from tests.oracle.runs import failing, passing

YES, NO, UNKNOWN = Answer.FAULTS, Answer.PASSES, Answer.UNKNOWN
TTIR = 'module { tt.func @k() { %0 = tt.load %p\n%1 = "tt.reduce"(%0)\n tt.store %p, %1 } }'
OPTIONS = {"num_warps": 4, "num_stages": 3}


def read(*, spills: int = 0, registers: int = 32, instructions: int = 128) -> str:
    """What is read in a cubin."""
    return json.dumps({"local": spills, "registers": registers, "code": 16 * instructions, "shared": 0})


def kernel(name: str = "k", *, ttir: str = TTIR, options: Mapping[str, Any] = OPTIONS, **figures: int) -> Compilation:
    shared = figures.pop("shared", 0)
    ir = {"figures": read(**figures), "ptx": "", "ttir": ttir}
    return Compilation(name, "h", options=options, ir=ir, shared=shared)


def run(here: int, there: int, *more: tuple[Compilation, Compilation], name: str = "k", **how: Any) -> Run:
    """A run whose kernel spills so many bytes here and by the other release."""
    same = {key: value for key, value in how.items() if key == "options"}
    pairs = ((kernel(name, spills=here, **how), kernel(name, spills=there, **same)), *more)
    return passing(compiles=tuple(pair[0] for pair in pairs), elsewhere=tuple(pair[1] for pair in pairs))


def asked(figure: str = "spills") -> Oracle:
    return parse(f"regressed:{figure}:3.6.0", folder=Path())


ORIGINAL = run(400, 100)
BOUND = asked().calibrate(ORIGINAL)


def test_both_figures_are_told() -> None:
    verdict = asked().judge(ORIGINAL)
    assert verdict.answer is YES
    assert verdict.why == "kernel k: 400 bytes of spills a thread, 100 by Triton 3.6.0, 4.00 times"


def test_a_figure_against_none_is_counted_by_the_floor() -> None:
    assert asked().judge(run(216, 0)).why.endswith("216 bytes of spills a thread, 0 by Triton 3.6.0, 6.75 times")


@pytest.mark.parametrize(
    ("figure", "here", "there", "answer"),
    [
        ("registers", {"registers": 96}, {"registers": 64}, YES),
        ("registers", {"registers": 72}, {"registers": 64}, NO),
        ("instructions", {"instructions": 900}, {"instructions": 600}, YES),
        ("instructions", {"instructions": 600}, {"instructions": 900}, NO),
        ("shared", {"shared": 8192}, {"shared": 4096}, YES),
        ("spills", {"spills": 40}, {"spills": 0}, YES),
        ("spills", {"spills": 24}, {"spills": 0}, NO),
        ("spills", {"spills": 1000}, {"spills": 950}, NO),
    ],
)
def test_a_figure_regresses(figure: str, here: dict[str, int], there: dict[str, int], answer: Answer) -> None:
    seen = passing(compiles=(kernel(**here),), elsewhere=(kernel(**there),))
    assert asked(figure).judge(seen).answer is answer
    assert bool(asked(figure).refusal(seen)) is (answer is NO)


@pytest.mark.parametrize(
    ("candidate", "why"),
    [
        (run(320, 100), ""),
        (run(320, 100, name="renamed"), ""),
        (run(300, 100), "the original has 4.00 times"),
        (run(200, 400), "200 bytes of spills a thread, 400 by Triton 3.6.0"),
        (run(1000, 110), "more than in the original (400)"),
        (run(400, 90, options={**OPTIONS, "num_warps": 1}), "num_warps=1 for 4"),
        (run(400, 90, ttir=TTIR.replace("tt.reduce", "tt.scan")), "with tt.scan, which the original's kernel has not"),
    ],
)
def test_what_a_candidate_must_keep(candidate: Run, why: str) -> None:
    verdict = BOUND.judge(candidate)
    assert verdict.answer is (NO if why else YES)
    assert why in verdict.why


@pytest.mark.parametrize(
    ("candidate", "why"),
    [
        (run(100, 0), "100 bytes of spills a thread, whatever Triton 3.6.0 makes of it; the original has 4.00 times"),
        (run(0, 0), "0 bytes of spills a thread, whatever Triton 3.6.0 makes of it"),
        (run(1000, 0), "more than in the original (400)"),
        (run(400, 0, options={**OPTIONS, "num_warps": 1}), "num_warps=1 for 4"),
        (failing("ValueError", "x", compiles=ORIGINAL.compiles), "the original ends well"),
        (run(150, 0), ""),
        (run(100, 0, (kernel("other", spills=300), kernel("other"))), ""),
    ],
)
def test_its_own_figure_may_rule_a_candidate_out(candidate: Run, why: str) -> None:
    """Whatever the other compiler said, the answer would be no: so nobody asks it."""
    verdict = BOUND.judge(replace(candidate, elsewhere=None))
    assert verdict.answer is (NO if why else UNKNOWN)
    assert why in verdict.why
    if why:
        for there in (0, 10, 100, 1000):
            asked_too = tuple(kernel(one.kernel, spills=there) for one in candidate.compiles)
            assert BOUND.judge(replace(candidate, elsewhere=asked_too)).answer is NO


def test_the_same_ratio_of_next_to_nothing_is_another_difference() -> None:
    bound = asked().calibrate(run(4000, 1000))
    assert bound.judge(run(1200, 300)).answer is YES
    assert "next to nothing of the original's 4000 and 1000" in bound.judge(run(900, 220)).why


def test_under_a_control_the_regression_alone_is_asked_for() -> None:
    wider = run(900, 200, options={**OPTIONS, "num_warps": 1})
    assert BOUND.judge(wider).answer is NO
    assert BOUND.judge(replace(wider, turned={"num_warps": 1})).answer is YES
    assert BOUND.judge(replace(run(200, 200), turned={"num_warps": 1})).answer is NO


def test_another_kernel_of_the_program_does_not_stand_in() -> None:
    other = (kernel("other", spills=390), kernel("other", spills=100))
    bound = asked().calibrate(run(400, 100, other))
    assert bound.judge(run(390, 100, name="other")).answer is NO
    assert bound.judge(run(390, 100, name="renamed")).answer is YES


def test_an_original_that_ends_well_keeps_doing_so() -> None:
    seen = failing("ValueError", "x", compiles=ORIGINAL.compiles, elsewhere=ORIGINAL.elsewhere)
    assert BOUND.judge(seen).answer is NO
    assert asked().calibrate(seen).judge(seen).answer is YES


def test_what_nobody_knows_is_no_answer() -> None:
    assert asked().judge(replace(ORIGINAL, elsewhere=None)).answer is UNKNOWN
    assert asked().judge(replace(ORIGINAL, elsewhere_trouble="the other run was stopped after 3 s")).answer is UNKNOWN
    unread = replace(ORIGINAL.compiles[0], ir={"figures": "{}", "ptx": ""})
    assert asked().judge(replace(ORIGINAL, compiles=(unread,))).answer is UNKNOWN


def test_a_program_that_gives_each_release_other_options_shows_no_regression() -> None:
    def seen(options: Mapping[str, Any]) -> Run:
        return replace(ORIGINAL, elsewhere=(kernel(spills=100, options=options),))

    told = "kernel k: the program itself compiles it otherwise there, with num_warps=8 for 4"
    other = seen({**OPTIONS, "num_warps": 8})
    assert told in asked().refusal(other)
    for oracle in (asked(), BOUND):
        assert (oracle.judge(other).answer, oracle.judge(other).why) == (UNKNOWN, told)
    assert asked().judge(seen({"num_stages": 3, "maxnreg": None})).answer is YES  # one that only that release knows
    unharmed = (kernel("other", spills=900), kernel("other", spills=90))
    both = replace(other, compiles=(*other.compiles, unharmed[0]), elsewhere=(*(other.elsewhere or ()), unharmed[1]))
    assert asked().judge(both).answer is YES and not asked().refusal(both)


def test_both_compilers_must_have_the_kernel() -> None:
    assert "Triton 3.6.0 does not compile k" in asked().judge(replace(ORIGINAL, elsewhere=())).why
    assert asked().judge(replace(ORIGINAL, elsewhere=())).answer is NO
    assert asked().judge(passing(elsewhere=())).answer is NO


def test_local_memory_that_the_program_declares_is_no_spill() -> None:
    here = kernel(spills=400)
    here = replace(here, ir={**here.ir, "ptx": "\t.local .align 16 .b8 \t__local_depot0[390];\n"})
    assert asked().judge(replace(ORIGINAL, compiles=(here,))).answer is NO


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("regressed:spils:3.6.0", "did you mean regressed:spills:3.6.0?"),
        ("regressed:time:3.6.0", "known: spills, registers, instructions, shared."),
        ("regressed:spills", "write regressed:spills:3.6.0"),
        ("regressed:spills:main", "names no release of Triton"),
    ],
)
def test_what_cannot_be_asked(spec: str, told: str) -> None:
    with pytest.raises(UsageError, match="regressed") as refused:
        parse(spec, folder=Path())
    assert told in str(refused.value)


def test_two_releases_at_a_time_are_refused() -> None:
    with pytest.raises(UsageError, match="one other compiler at a time: choose triton=3.6.0 or triton=3.4.0"):
        asked().needs | parse("regressed:registers:3.4.0", folder=Path()).needs

"""build:, what nvcc says, and what a candidate must do beside having it said."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.oracle import Answer, parse
from shrinkray_gpu.runner.run import Build, Failure, Run
from tests.oracle.runs import passing

YES, NO = Answer.FAULTS, Answer.PASSES
SAID = "warning: mma.hpp(91): Warning: cannot perform wmma load or store on local memory\n"
ERROR = 'cuda.cu(7): error: identifier "x" is undefined\n'
ORIGINAL = passing(builds=(Build("fa", SAID, launched=("forward",)), Build("other", "", launched=("copy",))))
DIES = Failure("NameError", "name 'x' is not defined")

CASES = {
    "as the original": (ORIGINAL, YES),
    "of a kernel by another name": (passing(builds=(Build("fa", SAID, launched=("k",)),)), YES),
    "of nothing": (passing(builds=(Build("fa", "", launched=("k",)),)), NO),
    "where nothing is built": (passing(), NO),
    "of a kernel that is not launched": (passing(builds=(Build("fa", SAID, launched=()),)), NO),
    "where another build's kernel is launched": (
        passing(builds=(Build("fa", SAID, launched=()), Build("other", "", launched=("copy",)))),
        NO,
    ),
    "of what does not compile": (passing(builds=(Build("fa", SAID + ERROR, failed=True),)), NO),
    "and then the script dies": (
        Run("virtual", 1, failure=DIES, builds=(Build("fa", SAID, launched=("k",)),)),
        NO,
    ),
    "and then the host code crashes": (
        Run("virtual", None, signal=11, builds=(Build("fa", SAID, launched=("k",)),)),
        NO,
    ),
    "of a function that returns nothing": (
        passing(
            builds=(Build("fa", SAID + "cuda.cu(3): warning #940-D: missing return statement\n", launched=("k",)),)
        ),
        NO,
    ),
    "and of what is never used": (
        passing(builds=(Build("fa", SAID + 'cuda.cu(3): warning #177-D: variable "x"\n', launched=("k",)),)),
        YES,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_candidate_must_launch_what_it_builds_and_end_well(case: str) -> None:
    run, answer = CASES[case]
    oracle = parse("build:cannot perform wmma", folder=Path())
    assert oracle.judge(ORIGINAL).faults
    assert oracle.calibrate(ORIGINAL).judge(run).answer is answer


def test_an_original_that_failed_to_build_is_asked_for_no_launch() -> None:
    original = Run("virtual", 1, failure=Failure("RuntimeError", "Error building"), builds=(Build("fa", ERROR, True),))
    oracle = parse("build:identifier .* is undefined", folder=Path()).calibrate(original)
    assert oracle.judge(original).faults
    assert not oracle.judge(passing(builds=(Build("fa", SAID, launched=("k",)),))).faults


def test_what_is_wanted_of_a_run_names_the_words() -> None:
    assert parse("build:^ptxas", folder=Path()).needs.wants == ("build:^ptxas",)

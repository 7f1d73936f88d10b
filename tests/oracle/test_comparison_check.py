"""The check that fails in a candidate, held against that of the original."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from shrinkray_gpu.oracle.comparison_check import ComparisonCheck
from shrinkray_gpu.oracle.same import SameFaultOracle, same_fault
from shrinkray_gpu.oracle.spec import parse
from shrinkray_gpu.oracle.verdict import Answer
from shrinkray_gpu.runner.run import Comparison, Failure, Launch, Run

SEEN = Comparison(
    operation="isclose",
    kernels=("rows",),
    others=(),
    sources=("randn [12], 1",),
    alone=False,
    kind="wrong",
    elements=12,
    total=12,
    largest=2.5,
    moved={},
    trouble="",
    tolerance=(1e-4, 1e-5),
)
NOTHING = dataclasses.replace(SEEN, operation="", kernels=(), kind="", elements=0, total=0, largest=0.0)
LAUNCH = Launch("rows", "h", (1,))


def failing(seen: Comparison | None, text: str = "Tensor-likes are not close!") -> Run:
    failure = Failure("AssertionError", text, line=3, traceback="")
    return Run("cold", 1, failure=failure, launches=(LAUNCH,), comparison=seen)


def bound(original: Comparison = SEEN) -> SameFaultOracle:
    oracle = same_fault(parse("Tensor-likes are not close", folder=Path())).calibrate(failing(original))
    return oracle.comparing(ComparisonCheck(original, "kept"))


@pytest.mark.parametrize(
    "changes, why",
    [
        ({}, ""),
        ({"kernels": ("before", "rows")}, ""),
        ({"kernels": (), "operation": "isclose"}, "no kernel takes part in the check that fails"),
        ({"others": ("rows",)}, "is no longer held against values that no kernel made"),
        ({"sources": ("arange [12], 1", "randn [12], 1")}, ""),
        ({"sources": ("arange [12], 1",)}, "what rows writes no longer comes from randn [12]"),
        ({"alone": True}, "the check is of other values"),
        ({"tolerance": (1e-4, 1e-5)}, ""),
        ({"tolerance": (1.0, 1e-5)}, "something else pass: rtol=1, atol=1e-05 instead of rtol=0.0001, atol=1e-05"),
        ({"tolerance": (1e-3, 0.0)}, "the check lets something else pass"),
        ({"tolerance": (1e-5, 1e-5)}, "the check lets something else pass"),
        ({"tolerance": ()}, ""),
        ({"refused": "p of rows"}, "p of rows is written in place, requires grad, and is a leaf"),
        ({"kind": "nan"}, "the check fails of values that are not finite, and the original's of finite values"),
        ({"moved": {"actual": "the actual values are others, by up to 2"}}, "the actual values are others, by up to 2"),
    ],
)
def test_a_candidate_keeps_the_check(changes: dict[str, object], why: str) -> None:
    verdict = bound().judge(failing(dataclasses.replace(SEEN, **changes)))  # type: ignore[arg-type]
    assert verdict.answer is (Answer.PASSES if why else Answer.FAULTS)
    assert why in verdict.why


def test_what_torch_refuses_may_stay_where_the_original_does_it() -> None:
    original = dataclasses.replace(SEEN, refused="p of rows")
    assert bound(original).judge(failing(dataclasses.replace(SEEN, refused="q of rows"))).faults


def test_what_differs_between_runs_of_the_original_is_not_held() -> None:
    check = ComparisonCheck(SEEN, "kept", unsteady=frozenset({"actual"}))
    oracle = dataclasses.replace(bound(), comparison=check)
    moved = {"actual": "the actual values are others, by up to 2"}
    assert oracle.judge(failing(dataclasses.replace(SEEN, moved=moved))).faults
    moved["expected"] = "the expected values are others, by up to 3"
    assert "the expected values" in oracle.judge(failing(dataclasses.replace(SEEN, moved=moved))).why
    assert "no kernel takes part" in oracle.judge(failing(NOTHING)).why
    assert check.kept.startswith("what rows is given, and what that is held against, are as in the original")
    assert "differ from run to run" in check.told()


def test_nan_comes_and_goes_only_where_it_does_in_the_original() -> None:
    """Values that differ from run to run are not held, and 0/0 in their place would be taken for them."""
    moved = {"actual": "the actual values are others, by up to 2"}
    check = ComparisonCheck(SEEN, "kept").steady_in(dataclasses.replace(SEEN, moved=moved))
    undefined = dataclasses.replace(SEEN, moved=moved, kind="nan")
    assert "not finite" in dataclasses.replace(bound(), comparison=check).judge(failing(undefined)).why
    either = check.steady_in(undefined)
    assert check.steady_in(None) is check and either.unsteady == {"actual", "kind"}
    assert dataclasses.replace(bound(), comparison=either).judge(failing(undefined)).faults
    finite = bound(dataclasses.replace(SEEN, kind="nan")).judge(failing(SEEN))
    assert "of finite values, and the original's of values that are not finite" in finite.why


def test_no_comparison_at_all_is_another_check() -> None:
    for seen in (None, NOTHING):
        verdict = bound().judge(failing(seen))
        assert verdict.answer is Answer.PASSES and "no kernel takes part" in verdict.why


def test_what_could_not_be_read_is_unknown() -> None:
    broken = dataclasses.replace(NOTHING, trouble="RuntimeError: the device is in an error")
    assert bound().judge(failing(broken)).answer is Answer.UNKNOWN


def test_a_side_that_a_kernel_made_stays_one() -> None:
    oracle = bound(dataclasses.replace(SEEN, others=("other",)))
    assert oracle.judge(failing(dataclasses.replace(SEEN, others=("other",)))).faults
    assert "is no longer made by a kernel" in oracle.judge(failing(SEEN)).why


def test_the_runner_is_asked_for_it_and_no_warning_is_left() -> None:
    oracle = bound()
    assert "comparison with kept" in oracle.needs.wants
    assert oracle.warning == ""


def test_only_a_failure_of_the_script_s_own_behind_a_launch_may_be_such_a_check() -> None:
    oracle = bound()
    assert oracle.may_compare(failing(SEEN), "import triton")
    assert not oracle.may_compare(dataclasses.replace(failing(SEEN), launches=()), "import torch")
    other = dataclasses.replace(failing(SEEN), failure=Failure("IndexError", "list index", line=3, traceback=""))
    assert not oracle.may_compare(other, "import triton")
    refused = dataclasses.replace(LAUNCH, failure="OutOfResources: shared memory")
    assert not oracle.may_compare(dataclasses.replace(failing(SEEN), launches=(refused,)), "import triton")


def test_mismatch_is_a_failure_of_the_script_s_own() -> None:
    oracle = parse("mismatch", folder=Path())
    assert oracle.judge(failing(SEEN)).faults
    assert oracle.judge(Run("cold", 1)).faults, "sys.exit(1)"
    assert not oracle.judge(Run("cold", 0)).faults
    assert not oracle.judge(Run("cold", 1, failure=Failure("IndexError", "x", line=3, traceback=""))).faults

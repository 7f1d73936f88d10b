"""From runs to a status."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.corpus.case import Case
from shrinkray_gpu.corpus.expectation import CaseConclusion, Status
from shrinkray_gpu.corpus.sighting import conclusion_of, sighting_of
from shrinkray_gpu.runner.run import Compilation, Run
from tests.corpus.making import case
from tests.oracle.runs import failing, passing

GONE = failing("KeyError", "'gone'")
OTHER_KEY = failing("KeyError", "'other'")
OTHER_TYPE = failing("ValueError", "no such thing")
WELL = passing()
LOST = Run(mode="fork", exit=None, trouble="the lane closed without an exit status")
SLOW = Run(mode="fork", exit=None, timed_out=True, seconds=120)


@pytest.fixture
def lookup(tmp_path: Path) -> Case:
    return case(tmp_path)


def status(one: Case, *runs: Run) -> CaseConclusion:
    return conclusion_of(one, [sighting_of(one, one.question(), run) for run in runs])


@pytest.mark.parametrize(
    ("runs", "wanted", "shown"),
    [
        ([GONE], Status.FAULTS, 1),
        ([GONE, GONE], Status.FAULTS, 2),
        ([WELL, GONE, WELL], Status.FLAKY, 1),
        ([WELL, WELL], Status.FIXED, 0),
        ([OTHER_TYPE], Status.CHANGED, 0),
        ([WELL, OTHER_KEY], Status.CHANGED, 0),
        ([LOST], Status.CANNOT, 0),
        ([LOST, GONE], Status.FAULTS, 1),
        ([SLOW], Status.CHANGED, 0),
        ([SLOW, GONE], Status.FLAKY, 1),
    ],
)
def test_statuses(lookup: Case, runs: list[Run], wanted: Status, shown: int) -> None:
    found = status(lookup, *runs)
    assert (found.status, found.shown) == (wanted, shown)


LACKS = failing("TypeError", "range() got an unexpected keyword argument 'flatten'")
BUILT = Compilation("k", "h")
UNBUILT = Compilation("k", "", failure=LACKS.failure)


@pytest.mark.parametrize(
    ("compiles", "wanted"),
    [((), Status.CANNOT), ((UNBUILT,), Status.CANNOT), ((BUILT, UNBUILT), Status.CANNOT), ((BUILT,), Status.CHANGED)],
    ids=["before a kernel", "in the kernel", "in the second kernel", "after the kernel was compiled"],
)
def test_an_interface_that_is_lacking(lookup: Case, compiles: tuple[Compilation, ...], wanted: Status) -> None:
    """What used to end in the compiler and now ends in the script's own mistake behind it is another fault."""
    assert status(lookup, replace(LACKS, compiles=compiles)).status is wanted


def test_the_oracle_s_words_alone_do_not_make_it_the_same_fault(lookup: Case) -> None:
    found = status(lookup, OTHER_KEY)
    assert lookup.question().judge(OTHER_KEY).faults
    assert found.status is Status.CHANGED and "the message is \"'other'\" instead of \"'gone'\"" in found.why


def test_another_fault_that_is_now_a_hang_is_told_with_what_to_do(lookup: Case) -> None:
    found = status(lookup, SLOW)
    assert found.fault is not None and found.fault.phase == "timeout"
    assert "stopped after 120 s" in found.why and "timeout = SECONDS" in found.why


def test_without_a_fault_the_oracle_says_all(tmp_path: Path) -> None:
    loose = case(tmp_path, fault=None)
    assert status(loose, OTHER_KEY).status is Status.FAULTS


def test_a_missing_module_is_no_change(lookup: Case) -> None:
    run = failing("ModuleNotFoundError", "No module named 'helion'")
    found = status(lookup, run)
    assert found.status is Status.CANNOT and "needs the module helion" in found.why


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("module 'triton.language' has no attribute 'make_tensor_descriptor'", Status.CANNOT),
        ("'tensor' object has no attribute 'gather'", Status.CANNOT),
        ("cannot import name 'gluon' from 'triton.experimental'", Status.CANNOT),
        ("range() got an unexpected keyword argument 'warp_specialize'", Status.CANNOT),
        ("'NoneType' object has no attribute 'type'", Status.CHANGED),
        ("'int' object has no attribute 'handle'", Status.CHANGED),
    ],
)
def test_an_interface_that_a_release_lacks_is_told_from_a_mistake_of_the_compiler_s(
    lookup: Case, text: str, wanted: Status
) -> None:
    assert status(lookup, failing("AttributeError", text)).status is wanted


def test_a_case_about_a_missing_attribute_still_faults(tmp_path: Path) -> None:
    text = "module 'torch' has no attribute 'accelerator'"
    one = case(tmp_path, oracle=["exception:AttributeError"], fault={"phase": "python", "klass": "AttributeError",
               "text": text})  # fmt: skip
    assert status(one, failing("AttributeError", text)).status is Status.FAULTS
    other = failing("AttributeError", "module 'torch' has no attribute 'other'")
    assert status(one, other).status is Status.CHANGED

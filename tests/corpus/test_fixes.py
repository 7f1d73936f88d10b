"""Every reproducer still has its bug: what mends the original mends it, and nothing is left that faults.

A reproducer with the right words and another cause fails here, since the fix of the original does not help it. All are
run twice by one worker: on the virtual GPU where the fault shows there, else on a real one (`gpu`).
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from shrinkray_gpu.corpus.expectation import Status, expected_status
from shrinkray_gpu.corpus.replayer import Replayer
from tests.corpus.fixes import Mechanism, mechanisms

ALL = mechanisms()
OTHER_RELEASE = {"constexpr_return": "3.6.0", "gluon_permuted_shared": "3.5.1", "wgmma_out_of_registers": "3.4.0"}
"""Cases that are fixed in the Triton that we test with, and the release that shows them (`versions`)."""


def _parameter(each: Mechanism) -> object:
    marks = [pytest.mark.gpu] if each.case.needs.gpu else []
    return pytest.param(each, id=f"{each.group}-{each.name}", marks=marks)


def assert_the_fix_ends_the_fault(each: Mechanism, replayer: Replayer, folder: Path) -> None:
    before = replayer.outcome(each.written(folder / "before", each.text))
    if before.status is Status.CANNOT:
        pytest.skip(before.why)
    assert before.status in (Status.FAULTS, Status.FLAKY), (before.status, before.why)
    after = replayer.outcome(each.written(folder / "after", each.fixed()))
    assert after.status is Status.FIXED, (after.status, after.why, after.fault)


@pytest.mark.parametrize("each", [_parameter(one) for one in ALL if one.name not in OTHER_RELEASE])
def test_the_fix_of_the_original_ends_the_fault(each: Mechanism, replayer: Replayer, tmp_path: Path) -> None:
    if each.case.needs.architecture.startswith("gfx"):
        pytest.skip("for AMD: below")
    there = expected_status(each.case, replayer.place.versions["triton"])
    if there in (Status.FIXED, Status.CHANGED):
        pytest.skip(f"{each.name} is {there.value} in {replayer.place.name}, as it says itself")
    assert_the_fix_ends_the_fault(each, replayer, tmp_path)


def test_the_fix_ends_the_fault_on_amd(tmp_path: Path) -> None:
    with closing(Replayer(arch=0x942, jobs=1)) as replayer:
        for each in ALL:
            if each.case.needs.architecture.startswith("gfx"):
                there = expected_status(each.case, replayer.place.versions["triton"])
                if there is Status.FAULTS:
                    assert_the_fix_ends_the_fault(each, replayer, tmp_path)


@pytest.mark.versions
@pytest.mark.timeout(900)  # the first to ask for a release fetches it
@pytest.mark.parametrize("each", [pytest.param(one, id=one.name) for one in ALL if one.name in OTHER_RELEASE])
def test_the_fix_ends_the_fault_in_the_release_that_has_it(each: Mechanism, tmp_path: Path) -> None:
    from tests.versions import environments

    with closing(Replayer(python=environments.python(OTHER_RELEASE[each.name]), arch=90, jobs=1)) as replayer:
        assert_the_fix_ends_the_fault(each, replayer, tmp_path)


@pytest.mark.parametrize("each", [pytest.param(one, id=f"{one.group}-{one.name}") for one in ALL])
def test_the_fix_fits_the_reproducer(each: Mechanism) -> None:
    """Also where nothing can be run: a reproducer that is reduced anew must keep what its fix changes."""
    compile(each.fixed(), each.name, "exec")
    assert each.fixed() != each.text

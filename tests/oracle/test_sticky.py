"""Sticky CUDA errors: the driver decides, and calibration keeps the fault visible."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.device.nvidia.error_table import ERRORS, by_code, parse_error, sticky_in
from shrinkray_gpu.oracle import Answer, parse
from shrinkray_gpu.oracle.sticky import StickyOracle
from shrinkray_gpu.runner.run import Launch, Run
from tests.oracle.runs import (
    ACCELERATOR,
    CONTEXT,
    COPY,
    JSD,
    MISALIGNED,
    OUT_OF_MEMORY,
    SWALLOWED,
    TORCH_716,
    failing,
    passing,
    plain,
    traceback,
)

YES, NO, UNKNOWN = Answer.FAULTS, Answer.PASSES, Answer.UNKNOWN
TRITON = "Triton Error [CUDA]: misaligned address"

TYPED = {
    "misaligned address": 716,
    "Misaligned  Address": 716,
    "CUDA error: misaligned address": 716,
    "RuntimeError: Triton Error [CUDA]: misaligned address": 716,
    "torch.AcceleratorError: CUDA error: an illegal memory access was encountered": 700,
    "RuntimeError: CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be "
    "asynchronously reported at some other API call": 700,
    "illegal memory access": 700,
    "CUDA_ERROR_ILLEGAL_ADDRESS": 700,
    "cudaErrorMisalignedAddress": 716,
    "device-side assert": 710,
    "unspecified launch failure": 719,
    "CUDA driver error: invalid program counter": 718,
    "operation not supported on global/shared address space": 717,
    "an illegal instruction was encountered": 715,
    "tensor memory not completely freed": 721,
    "the MPS client has been terminated by the server": 810,
}


@pytest.mark.parametrize("typed", TYPED)
def test_what_people_type_for_a_sticky_error(typed: str) -> None:
    oracle = parse(typed, folder=Path())
    assert isinstance(oracle, StickyOracle)
    assert oracle.error.code == TYPED[typed]
    assert oracle.spec == oracle.error.text


@pytest.mark.parametrize(
    "typed",
    ["my tool found a misaligned address", "misaligned address: row 3", "illegal", "out of memory", "invalid argument"],
)
def test_what_is_not_a_sticky_error(typed: str) -> None:
    assert not isinstance(parse(typed, folder=Path()), StickyOracle)


def test_the_table_is_unambiguous() -> None:
    for error in ERRORS:
        for said in (error.text, *error.names, *error.aliases):
            assert parse_error(said) == error, said
        assert by_code(error.code) == error
        if error.sticky:
            assert sticky_in(f"CUDA error: {error.text}") == error
            assert all(sticky_in(name) == error for name in error.names)


def test_words_without_cuda_are_no_sticky_error() -> None:
    assert sticky_in("ValueError: the table has a misaligned address") is None


CASES = {
    "raised by torch": (MISALIGNED, YES),
    "raised by Triton at the launch": (failing("RuntimeError", TRITON, driver_error=716, launches=(JSD,)), YES),
    "caught, exit 0": (SWALLOWED, YES),
    "caught, and dies of something else": (failing("NameError", "x", driver_error=716), YES),
    "the words, but the driver is well": (failing("RuntimeError", TRITON), NO),
    "the words printed by a successful run": (passing(stdout=TORCH_716, stderr=TORCH_716), NO),
    "another sticky error": (replace(MISALIGNED, driver_error=700), NO),
    "another error although the words are right": (replace(SWALLOWED, driver_error=719), NO),
    "a code nobody knows": (passing(driver_error=4242), NO),
    "on the virtual GPU": (replace(MISALIGNED, virtual=True), YES),
    "a static fault that was waited for": (
        passing(virtual=True, launches=(replace(JSD, fault="tma-alignment: 16"),)),
        YES,
    ),
    "a static fault that nobody waited for": (
        passing(virtual=True, launches=(replace(JSD, fault="tma-alignment: 16", synced=False),)),
        NO,
    ),
    "in a child process": (passing(children=("torch.AcceleratorError: " + TORCH_716,)), YES),
    "plain, raised": (plain(traceback("torch.AcceleratorError: " + TORCH_716)), YES),
    "plain, older torch": (plain(traceback("RuntimeError: " + TORCH_716)), YES),
    "plain, printed and exit 0": (plain(TORCH_716, 0), NO),
    "plain, another error": (plain(traceback("torch.AcceleratorError: CUDA error: unspecified launch failure")), NO),
    "plain, quoted in the source": (plain(traceback("ValueError: x", "# CUDA error: misaligned address")), NO),
    "plain, said without CUDA": (plain(traceback("ValueError: misaligned address in table")), NO),
    "plain, handled while another came": (
        plain(traceback("torch.AcceleratorError: " + TORCH_716) + CONTEXT + traceback("NameError: x")),
        NO,
    ),
    "aborted by an uncaught C++ exception": (
        Run("fork", None, 6, stderr="terminate called after throwing an instance of 'c10::AcceleratorError'\n"
            "  what():  CUDA error: misaligned address\n"),
        YES,
    ),
    "out of memory beside others": (OUT_OF_MEMORY, UNKNOWN),
    "out of memory alone": (replace(OUT_OF_MEMORY, mode="cold"), NO),
    "stopped for time": (Run("warm", None, timed_out=True, seconds=9), UNKNOWN),
    "the lane died": (Run("warm", None, trouble="the lane was gone"), UNKNOWN),
    "ends well": (passing(), NO),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_misaligned_address(case: str) -> None:
    run, expected = CASES[case]
    verdict = parse("misaligned address", folder=Path()).judge(run)
    assert verdict.answer is expected, verdict.why
    assert verdict.why


def test_the_why_names_the_last_launch() -> None:
    verdict = parse("misaligned address", folder=Path()).judge(replace(MISALIGNED, launches=(COPY, JSD)))
    assert verdict.why == "the driver says misaligned address (CUDA error 716), last launch jsd"


def test_the_why_of_another_error_names_it() -> None:
    verdict = parse("misaligned address", folder=Path()).judge(replace(MISALIGNED, driver_error=719))
    assert verdict.why == "the driver says another error: unspecified launch failure (CUDA error 719), last launch jsd"


class TestCalibrated:
    """The original's own way of failing is what candidates must show."""

    raised = parse("misaligned address", folder=Path()).calibrate(MISALIGNED)

    def test_the_original_itself(self) -> None:
        assert self.raised.judge(MISALIGNED).faults

    def test_a_repro_that_never_waits_for_the_device_is_none(self) -> None:
        verdict = self.raised.judge(passing(driver_error=716, launches=(JSD,)))
        assert verdict.answer is NO
        assert "nothing in it waits for the device" in verdict.why

    def test_a_python_error_between_launch_and_wait_hides_the_fault(self) -> None:
        verdict = self.raised.judge(failing("NameError", "name 'y' is not defined", driver_error=716))
        assert verdict.answer is NO
        assert "NameError: name 'y' is not defined before that shows" in verdict.why

    def test_torch_versions_raise_other_types(self) -> None:
        assert self.raised.judge(failing("RuntimeError", TRITON, driver_error=716)).faults

    def test_it_may_show_in_a_plain_process(self) -> None:
        assert self.raised.judge(plain(traceback("torch.AcceleratorError: " + TORCH_716))).faults
        assert self.raised.judge(plain("", 0)).answer is NO

    def test_renamed_kernels_do_not_matter(self) -> None:
        assert self.raised.judge(replace(MISALIGNED, launches=(Launch("k", "h", (1,)),))).faults

    def test_an_original_that_swallows_leaves_it_to_the_driver(self) -> None:
        swallowed = parse("misaligned address", folder=Path()).calibrate(SWALLOWED)
        assert swallowed.judge(passing(driver_error=716)).faults
        assert swallowed.judge(MISALIGNED).faults
        assert swallowed.judge(passing()).answer is NO
        assert swallowed.judge(plain("", 0)).answer is UNKNOWN

    def test_an_original_that_dies_of_its_own_exception_must_go_on_doing_so(self) -> None:
        wrapped = failing("TrainingFailed", "step 3", driver_error=716)
        died = parse("misaligned address", folder=Path()).calibrate(wrapped)
        assert died.judge(wrapped).faults
        assert died.judge(failing("NameError", "x", driver_error=716)).answer is NO
        assert died.judge(passing(driver_error=716)).answer is NO
        assert died.judge(MISALIGNED).faults

    def test_an_original_that_exits_with_a_status_of_its_own(self) -> None:
        died = parse("misaligned address", folder=Path()).calibrate(Run("cold", 7, driver_error=716))
        assert died.judge(Run("fork", 7, driver_error=716)).faults
        assert died.judge(failing("NameError", "x", driver_error=716)).answer is NO

    def test_an_illegal_access_does_not_become_one_of_the_other_kind(self) -> None:
        text = "CUDA error: an illegal memory access was encountered"
        original = failing("torch.AcceleratorError", text, ACCELERATOR, driver_error=700)
        oracle = parse("illegal memory access", folder=Path()).calibrate(original)
        assert oracle.judge(MISALIGNED).answer is NO

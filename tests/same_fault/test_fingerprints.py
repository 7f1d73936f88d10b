"""What instruments see is a fingerprint only where they saw the program to its fault."""

from __future__ import annotations

from shrinkray_gpu.oracle.fault import Fault, Reference
from shrinkray_gpu.same_fault.fault_comparison import FaultComparison
from shrinkray_gpu.same_fault.fingerprints import Fingerprints

MISALIGNED = Fault("device", "misaligned address", code=716)
STOPPED = Fault("timeout", "timeout")


def seen(wanted: Fault, found: Fault) -> tuple[Fault | None, Fault | None]:
    fingerprints = Fingerprints("x = 1", Reference(wanted), examine=lambda text: found, known=wanted)
    try:
        return fingerprints.of("x = 2").result(), fingerprints.again("x = 2")
    finally:
        fingerprints.close()


def test_a_run_that_was_stopped_under_an_instrument_is_no_other_fault() -> None:
    """It was one on an H100, where the driver waited for a port that the fence refused it."""
    assert seen(MISALIGNED, STOPPED) == (None, None)
    assert seen(STOPPED, STOPPED) == (STOPPED, STOPPED)
    assert seen(MISALIGNED, MISALIGNED) == (MISALIGNED, MISALIGNED)


def test_a_comparison_speaks_of_the_error_in_which_clean_runs_ended() -> None:
    far = Fault("device", "operation not supported on global/shared address space", code=717)
    found = FaultComparison(far, None, "", (), ()).in_words_of(700)
    assert found.original == far.in_words_of(700) != far and found.repro is None

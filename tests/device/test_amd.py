"""AMD behind the seam: names of architectures, errors of ROCm in a log, and what the machine code says of itself.

The logs are our own, in the form that AMD documents. No GPU of AMD's made them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from signal import SIGABRT

import pytest

from shrinkray_gpu.corpus.case import MachineNeeds
from shrinkray_gpu.device import amdgcn, architectures, error_table
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.job.asked import oracle_of
from shrinkray_gpu.options import Options
from shrinkray_gpu.oracle import Fault, parse
from shrinkray_gpu.oracle.adopt import adopt
from shrinkray_gpu.oracle.sticky import StickyOracle
from shrinkray_gpu.runner.inside.gpu_target import gpu_target, named
from tests.oracle.runs import passing, plain

FAULT = (
    "Memory access fault by GPU node-4 (Agent handle: 0x55d0c0ffee00) on address 0x7f2a40000000. "
    "Reason: Page not present or supervisor privilege.\n"
)
APERTURE = (
    ":0:rocdevice.cpp            :2984: 12345678 us: [pid:7 tid:0x7f00] Callback: Queue 0x7e0000000000 aborting with "
    "error : HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: The agent attempted to access memory beyond the largest legal "
    "address. code: 0x29\n"
)
METADATA = """
    .group_segment_fixed_size: 8192
    .private_segment_fixed_size: 20
    .sgpr_count:     24
    .sgpr_spill_count: 0
    .vgpr_count:     256
    .vgpr_spill_count: 5
"""


def aborted(stderr: str):
    return plain(stderr, None, signal=SIGABRT)


@pytest.mark.parametrize(
    ("name", "capability", "warp"),
    [("gfx90a", (9, 0), 64), ("gfx942", (9, 4), 64), ("gfx1030", (10, 3), 32), ("gfx1201", (12, 0), 32)],
)
def test_an_architecture_of_amds_keeps_its_name(name, capability, warp) -> None:
    number = architectures.asked(name)
    target = gpu_target(number)
    assert architectures.name(number) == target.name == name and named(name) == target
    assert (target.backend, target.arch, target.capability, target.warp_size) == ("hip", name, capability, warp)


def test_no_two_architectures_share_a_number() -> None:
    numbers = [architectures.number(name) for name in architectures.KNOWN]
    assert len(set(numbers)) == len(numbers) and [architectures.name(number) for number in numbers] == [
        *architectures.KNOWN
    ]


@pytest.mark.parametrize(("typed", "said"), [("gfx924", "gfx942; did you mean gfx942"), ("MI300X", "sm_100 or gfx942")])
def test_what_is_no_architecture_is_told_which_there_are(typed, said) -> None:
    with pytest.raises(UsageError, match=said):
        architectures.asked(typed)


@pytest.mark.parametrize(
    ("needs", "name", "runs"),
    [
        ("sm_90", "gfx942", False),
        ("gfx942, gfx950", "gfx950", True),
        ("gfx942", "gfx950", False),
        ("gfx942", "sm_100", False),
        ("sm_90, gfx942", "gfx942", True),
        ("sm_90, gfx942", "gfx950", False),
        (">=sm_80,gfx942,<sm_100", "sm_90", True),
        ("sm_90,gfx942", "sm_80", False),
        ("", "gfx942", True),
        (">=sm_80,<sm_100", "sm_90", True),
    ],
)
def test_a_case_for_one_vendor_is_not_run_on_the_others(needs, name, runs) -> None:
    assert MachineNeeds(architecture=needs).runs_on(architectures.asked(name)) is runs


@pytest.mark.parametrize(
    ("log", "words", "told"),
    [
        (FAULT, "Memory access fault by GPU node", "Memory access fault by GPU node (HSA status 0x2b)"),
        (APERTURE, "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION", "largest legal address (HSA status 0x29)"),
    ],
)
def test_a_process_that_rocm_aborts_shows_the_error_of_the_log(log, words, told) -> None:
    run, oracle = aborted("warming up\n" + log), parse(words, folder=Path())
    assert oracle.judge(run).faults
    fault = Fault.of(run)
    assert fault is not None and fault.phase == "device" and told in str(fault)
    assert parse(adopt(run) or "", folder=Path()).judge(run).faults
    other = APERTURE if log == FAULT else FAULT
    assert not oracle.judge(aborted(other)).faults and not oracle.judge(passing(stderr=log)).faults


def test_a_pasted_line_names_its_error() -> None:
    assert error_table.parse_error(FAULT) == error_table.parse_error("HSA_STATUS_ERROR_MEMORY_FAULT")
    hip = "RuntimeError: HIP error: an illegal memory access was encountered\n"
    assert error_table.sticky_in(hip) == error_table.parse_error("CUDA error: an illegal memory access was encountered")
    assert error_table.sticky_in("HIP version: 7.0, an illegal memory access was encountered") is None


@pytest.mark.parametrize("words", [FAULT, "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION"])
def test_a_static_rule_shows_an_access_that_rocm_aborts(words) -> None:
    oracle = parse(words, folder=Path())
    outside = passing(mode="virtual", virtual=True, driver_error=700)
    assert oracle.judge(outside).faults and oracle.needs.rules == {"bounds"}
    assert not oracle.judge(replace(outside, driver_error=716)).faults
    assert not oracle.judge(replace(outside, mode="fork", virtual=False)).faults
    assert not parse("HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION", folder=Path()).judge(outside).faults
    assert oracle_of(Options(oracle=(words,), arch=architectures.asked("gfx942")))[0] is not None
    with pytest.raises(UsageError, match="is an error of AMD's, and --arch sm_90 is NVIDIA's"):
        oracle_of(Options(oracle=(words,), arch=90))


def test_hips_own_words_are_cudas_error() -> None:
    oracle = parse("HIP error: an illegal memory access was encountered", folder=Path())
    assert isinstance(oracle, StickyOracle) and oracle.error.code == 700


def test_the_machine_code_tells_registers_and_spills() -> None:
    assert amdgcn.resources(METADATA) == (
        "256 vector registers, 5 of them spilled, 24 scalar registers, 0 of them spilled, "
        "8192 bytes of shared memory (LDS), 20 bytes of scratch memory a lane"
    )
    assert amdgcn.resources("s_endpgm\n") == ""

"""The card: labels left, facts right, a screen or so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from shrinkray_gpu.device import sanitizer_records
from shrinkray_gpu.device.instruction import around
from shrinkray_gpu.device.nvidia import disassembly
from shrinkray_gpu.device.record import group_records
from shrinkray_gpu.evidence.card import WIDTH, card
from shrinkray_gpu.evidence.evidence import Evidence, RecordGroup
from shrinkray_gpu.evidence.instruments.instrument import Statement
from shrinkray_gpu.evidence.source_text import SourceLine
from shrinkray_gpu.oracle import Fault
from shrinkray_gpu.runner.run import Launch

SAMPLES = Path(__file__).parent / "samples"
CODE = disassembly.parse((SAMPLES / "nvdisasm_tma.txt").read_text())["jsd_forward_kernel"]
RECORDS = sanitizer_records.records((SAMPLES / "memcheck_oob.txt").read_text(), "memcheck")

MISALIGNED = Evidence(
    "/home/somebody/failing.py",
    Fault(
        "device",
        "misaligned address",
        "jsd_forward_kernel",
        716,
        instruction="UTMALDG",
        space="shared",
        access="write",
        construct="descriptor load",
    ),
    "it ends in torch.AcceleratorError: CUDA error: misaligned address",
    kernel="jsd_forward_kernel",
    launch=Launch("jsd_forward_kernel", "b", (132, 1, 1), ("f32[132, 2048] s(2048, 1) +0 @0%128", "i32 132", "i32 4")),
    parameters=("student_ptr", "rows", "STAGES"),
    options={"num_warps": 4},
    place=SourceLine("/home/somebody/failing.py", 87, "student_lp = student.load([row_start, col_start])"),
    instruction="@UP2 UTMALDG.2D [UR12], [UR6]",
    offset=0x1530,
    sass=around(CODE, 0x1530),
    memory=("shared memory as declared (PTX): .extern .shared .align 16 .b8 global_smem[];",),
    said=(
        Statement("run", "present", "the driver says misaligned address (CUDA error 716)", 4.3),
        Statement("core dump", "missing", "no cuda-gdb on PATH"),
        Statement("initcheck", "not asked", "for a fault that comes and goes"),
        Statement("racecheck", "not asked", "for a fault that comes and goes"),
    ),
    versions={"python": "3.12.3", "torch": "2.11.0", "triton": "3.6.0", "driver": "580.1", "gpu": "H100"},
)


def test_the_card_of_a_device_fault() -> None:
    assert (
        card(MISALIGNED)
        == """\
fault        misaligned address (CUDA error 716), a device fault
ended        it ends in torch.AcceleratorError: CUDA error: misaligned address
kernel       jsd_forward_kernel
line         failing.py:87  student_lp = student.load([row_start, col_start])
construct    descriptor load
instruction  UTMALDG at jsd_forward_kernel+0x1530
access       shared memory, write
SASS           1500  MEMBAR.ALL.CTA   // line 87
               1510  FENCE.VIEW.ASYNC.S   // line 87
               1520  BAR.SYNC.DEFER_BLOCKING 0x0   // line 87
             > 1530  @UP2 UTMALDG.2D [UR12], [UR6]   // line 87
               1540  @P6 SYNCS.ARRIVE.TRANS64 RZ, [UR12+0xd0], R7   // line 86
               1550  VOTEU.ANY UP2, P3   // line 87
               1560  BAR.SYNC.DEFER_BLOCKING 0x0   // line 88
launch       grid (132, 1, 1), num_warps=4
arguments    student_ptr  f32[132, 2048] s(2048, 1) +0 @0%128
             rows = 132, STAGES = 4
memory       shared memory as declared (PTX): .extern .shared .align 16 .b8 global_smem[];
instruments  run          present (4.3 s): the driver says misaligned address (CUDA error 716)
             core dump    missing: no cuda-gdb on PATH
             not asked, for a fault that comes and goes: initcheck, racecheck
versions     Python 3.12.3, torch 2.11.0, Triton 3.6.0, driver 580.1, H100"""
    )


def test_what_nobody_ran_is_told_as_predicted_and_not_as_an_error_that_was_seen() -> None:
    assert MISALIGNED.fault is not None
    told = card(replace(MISALIGNED, fault=replace(MISALIGNED.fault, predicted=True))).splitlines()
    assert told[1:3] == ["             predicted by a static rule, not run", "kernel       jsd_forward_kernel"]
    assert not any("AcceleratorError" in line for line in told)


def test_records_are_told_once_with_their_number() -> None:
    findings = tuple(RecordGroup(*one) for one in group_records(RECORDS))
    told = card(Evidence("a.py", Fault("device", "illegal memory access"), "it ends", findings=findings))
    assert told.endswith(
        "memcheck     Invalid __global__ write of size 4 bytes at scale+0x150 in oob.py:6, "
        "thread (0,0,0) of block (8,0,0) (6\n               of these)"
    )


def test_a_compile_fault_says_what_the_compiler_said() -> None:
    fault = Fault("compile", "ConvertNVGPUToLLVM", "chain", text="Assertion `supported` failed.")
    told = card(Evidence("a.py", fault, "it ends in RuntimeError", kernel="chain", diagnostics="one\n\ntwo\n"))
    assert told.splitlines() == [
        "fault        compile fault: ConvertNVGPUToLLVM, kernel chain",
        "             Assertion `supported` failed.",
        "ended        it ends in RuntimeError",
        "said         one",
        "             two",
    ]


def test_a_kernel_that_nobody_knows_is_not_asserted() -> None:
    fault = Fault("device", "misaligned address", code=716, near="last")
    assert "not known for sure; the last one launched is last" in card(Evidence("a.py", fault, "", kernel="last"))


def test_no_line_is_longer_than_a_screen_unless_a_word_is() -> None:
    assert all(len(line) <= WIDTH for line in card(MISALIGNED).splitlines())


def test_json_has_everything_but_the_code() -> None:
    data = MISALIGNED.to_json()
    assert data["fault"]["instruction"] == "UTMALDG"
    assert data["sass"][3] == {
        "offset": 0x1530,
        "text": "@UP2 UTMALDG.2D [UR12], [UR6]",
        "file": "failing.py",
        "line": 87,
    }
    assert data["ir"] == {} and data["run"] is None

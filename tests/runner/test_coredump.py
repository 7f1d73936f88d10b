"""What cuda-gdb says of light core dumps from an H100, read."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from shrinkray_gpu.device.dump import Dump
from shrinkray_gpu.device.instruction import MemoryEffect
from shrinkray_gpu.device.nvidia import coredump, disassembly

SAMPLES = Path(__file__).parents[1] / "evidence" / "samples"


def dump(name: str) -> Dump:
    return coredump.parse((SAMPLES / f"gdb_{name}.txt").read_text())


def test_the_tma_fault_is_at_its_very_instruction() -> None:
    seen = dump("tma")
    assert (seen.exception, seen.kernel, seen.offset) == ("Warp Misaligned Address", "kernel", 0x8D0)
    assert seen.instruction == "@UP4 UTMALDG.2D [UR12][UR8]" and seen.precise
    assert disassembly.family(seen.instruction) == "UTMALDG"
    assert (seen.block, seen.thread) == ("(0,0,0)", "(0,0,0)")


def test_its_line_is_that_of_the_exception_not_where_the_thread_stopped() -> None:
    seen = dump("tma")
    assert (seen.file, seen.line) == ("/work/main/.whl/probe/tma.py", 11)


def test_an_overrun() -> None:
    seen = dump("oob")
    assert (seen.exception, seen.kernel, seen.offset, seen.line) == ("Warp Illegal Address", "scale", 0x150, 6)
    assert disassembly.meaning(seen.instruction) == MemoryEffect("global", "write", 4)
    assert seen.block == "(8,0,0)"


def test_an_assertion_has_a_line_and_no_faulting_instruction() -> None:
    seen = dump("assertion")
    assert (seen.exception, seen.kernel, seen.line, seen.precise) == ("Assertion failed", "check", 4, False)


def test_a_hang_is_no_exception() -> None:
    seen = dump("hang")
    assert (seen.exception, seen.kernel, seen.line, seen.precise) == ("", "spin", 5, False)


def test_of_no_kernel_it_says_nothing() -> None:
    assert coredump.parse("Opening GPU coredump: x\nNo CUDA exception.\n").kernel == ""


def test_a_dump_is_asked_for_by_the_environment(tmp_path: Path) -> None:
    asked = coredump.environment(tmp_path / "core")
    assert asked["CUDA_COREDUMP_FILE"] == str(tmp_path / "core")
    assert asked["CUDA_ENABLE_LIGHTWEIGHT_COREDUMP"] == "1"


@pytest.mark.parametrize("memory", [True, False])
@pytest.mark.parametrize("abort", [True, False])
def test_it_holds_memory_and_ends_the_process_where_that_is_wanted(memory: bool, abort: bool, tmp_path: Path) -> None:
    asked = coredump.environment(tmp_path / "core", memory=memory, abort=abort)
    flags = asked.get("CUDA_COREDUMP_GENERATION_FLAGS", "").split(",")
    assert ("skip_global_memory" in flags, "skip_abort" in flags) == (not memory, not abort)
    assert asked.keys() <= coredump.VARIABLES


def test_a_debugger_that_dies_of_a_dump_leaves_no_core_of_its_own(tmp_path: Path) -> None:
    gdb = tmp_path / "cuda-gdb"
    gdb.write_text(f"#!/bin/sh\nulimit -c >{tmp_path}/limit\nkill -ABRT $$\n")
    gdb.chmod(0o755)
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
    try:
        assert coredump.read(gdb, tmp_path / "core") is None
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)
    assert (tmp_path / "limit").read_text() == "0\n"

"""SASS: a real listing of the flagship's kernel, and what opcodes say."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.device import disassembly
from shrinkray_gpu.device.instruction import Instruction, MemoryEffect, around, at, holds
from shrinkray_gpu.device.nvidia.disassembly import family, meaning, opcodes, parse

LISTING = (Path(__file__).parents[1] / "evidence" / "samples" / "nvdisasm_tma.txt").read_text()


def test_instructions_have_offset_and_source_line() -> None:
    kernels = parse(LISTING)
    assert list(kernels) == ["jsd_forward_kernel"]
    code = kernels["jsd_forward_kernel"]
    assert [one.offset for one in code] == [16 * index for index in range(len(code))]
    assert at(code, 0x1530) == Instruction(0x1530, "@UP2 UTMALDG.2D [UR12], [UR6]", "failing.py", 87)
    assert {one.line for one in code if family(one.text) == "UTMALDG"} == {87, 88}


def test_whether_a_kernel_holds_an_instruction() -> None:
    code = opcodes(LISTING)
    assert holds(code, "UTMALDG") and holds(code, "UTMALDG", 16), "no opcode tells the size of a bulk copy"
    assert not holds(code, "UTMASTG") and not holds(code, "TMALDG") and not holds(opcodes(""), "UTMALDG")
    cuobjdump = opcodes("        /*0040*/             LDG.E.64 R2, desc[UR4][R2.64] ;   /* 0x0000000402027981 */\n")
    assert cuobjdump == {("LDG", 8)} and holds(cuobjdump, "LDG", 8) and not holds(cuobjdump, "LDG", 4)


def test_an_excerpt_around_an_instruction() -> None:
    code = parse(LISTING)["jsd_forward_kernel"]
    assert [one.offset for one in around(code, 0x1530, 2)] == [0x1510, 0x1520, 0x1530, 0x1540, 0x1550]
    assert [one.offset for one in around(code, 0, 2)] == [0, 0x10, 0x20]
    assert around(code, 0x1531) == ()


@pytest.mark.parametrize(
    ("text", "opcode"),
    [
        ("@UP4 UTMALDG.2D [UR12][UR8]", "UTMALDG"),
        ("@!P0 BRA `(.L_x_1)", "BRA"),
        ("STG.E desc[UR4][R4.64],R7", "STG"),
        ("R2UR UR4, R8", "R2UR"),
        ("", ""),
        ("<unavailable>", ""),
    ],
)
def test_a_family_is_the_bare_opcode(text: str, opcode: str) -> None:
    assert family(text) == opcode


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("LDG.E.128 R4, desc[UR4][R2.64]", MemoryEffect("global", "read", 16)),
        ("LDG.E.U8 R4, desc[UR4][R2.64]", MemoryEffect("global", "read", 1)),
        ("@P0 STG.E.U16 desc[UR4][R4.64], R7", MemoryEffect("global", "write", 2)),
        ("STG.E desc[UR4][R4.64], R7", MemoryEffect("global", "write", 4)),
        ("ATOMG.E.ADD.F32.FTZ.RN.STRONG.GPU PT, R3, desc[UR4][R2.64], R5", MemoryEffect("global", "write", 4)),
        ("RED.E.ADD.64.STRONG.GPU desc[UR4][R2.64], R4", MemoryEffect("global", "write", 8)),
        ("LDGSTS.E.BYPASS.128 [R5], desc[UR6][R2.64]", MemoryEffect("global", "read", 16)),
        ("LDS.64 R2, [R3+UR4]", MemoryEffect("shared", "read", 8)),
        ("STS [R5], RZ", MemoryEffect("shared", "write", 4)),
        ("ATOMS.CAS R3, [R2], R4, R5", MemoryEffect("shared", "write", 4)),
        ("LDSM.16.M88.4 R4, [R8+UR4]", MemoryEffect("shared", "read", 16)),
        ("LDL.LU.64 R2, [R1]", MemoryEffect("local", "read", 8)),
        ("STL [R1+0x4], R2", MemoryEffect("local", "write", 4)),
        ("@UP2 UTMALDG.2D [UR12], [UR6]", MemoryEffect("shared", "write", 0)),
        ("UTMASTG.2D [UR8], [UR4]", MemoryEffect("shared", "read", 0)),
        ("UBLKCP.S.G [UR4], [UR6], UR8", MemoryEffect("shared", "write", 0)),
        ("UBLKCP.G.S [UR4], [UR6], UR8", MemoryEffect("shared", "read", 0)),
        ("FADD R1, R2, R3", MemoryEffect()),
        ("BRA 0x100", MemoryEffect()),
    ],
)
def test_an_opcode_tells_space_access_and_width(text: str, expected: MemoryEffect) -> None:
    assert meaning(text) == expected


def test_the_triton_wheel_brings_the_tool() -> None:
    tool = disassembly.find(sys.executable, os.environ)
    if tool is None:
        pytest.skip("this Triton wheel was stripped of its tools")
    assert tool.name == "nvdisasm"
    assert disassembly.disassemble(tool, b"no cubin") == {}

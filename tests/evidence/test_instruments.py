"""What instruments say, put together: hand-made runs with the real words of core dumps and the sanitizer."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.device import sanitizer_records
from shrinkray_gpu.device.nvidia import coredump
from shrinkray_gpu.device.record import Record
from shrinkray_gpu.evidence import instruments, source_text
from shrinkray_gpu.evidence.card import card
from shrinkray_gpu.evidence.evidence import Evidence
from shrinkray_gpu.evidence.examine import examine, fingerprint
from shrinkray_gpu.evidence.instruments import INSTRUMENTS, core_dump, static_rules
from shrinkray_gpu.evidence.instruments.cold_run import RUN
from shrinkray_gpu.evidence.instruments.instrument import (
    MISSING,
    PRESENT,
    SKIPPED,
    Cost,
    Instrument,
    Observation,
    Statement,
    Subject,
)
from shrinkray_gpu.evidence.instruments.static_rules import STATIC
from shrinkray_gpu.evidence.sights import Sight, telling
from shrinkray_gpu.evidence.synthesis import assemble
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Script
from shrinkray_gpu.runner.run import Compilation, Failure, Launch, Run
from tests.conftest import has_gpu

SAMPLES = Path(__file__).parent / "samples"
OVERRUN = """\
import torch, triton, triton.language as tl

@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + o); tl.store(y + o * 100000, v * 2.0)
"""
TMA = "def kernel(x):\n    acc = 0\n" + "\n" * 8 + "    acc += x.load([0, start])\n"


def setup(folder: Path, arch: int | None = None) -> Setup:
    return Setup(sys.executable, {**os.environ}, imports=(), own=(), scratch=str(folder), arch=arch)


def subject(text: str, name: str, folder: Path) -> Subject:
    return Subject(text, Script(folder / name, cwd=folder), setup(folder), 60.0, folder)


def dump(name: str) -> coredump.Dump:
    return coredump.parse((SAMPLES / f"gdb_{name}.txt").read_text())


def dumped(name: str) -> Observation:
    return core_dump.observation(dump(name))


def recorded(name: str) -> Observation:
    return Observation(Statement("memcheck", PRESENT), records=records(name))


def records(name: str) -> tuple[Record, ...]:
    return sanitizer_records.records((SAMPLES / f"memcheck_{name}.txt").read_text(), "memcheck")


def faulting(code: int, words: str, *launches: Launch) -> Run:
    failure = Failure("torch.AcceleratorError", f"CUDA error: {words}", ("RuntimeError",))
    return Run("cold", 1, driver_error=code, failure=failure, launches=launches)


def overrun(folder: Path, *seen: Observation) -> Evidence:
    run = faulting(
        700,
        "an illegal memory access was encountered",
        Launch("first", "a", (1,)),
        Launch(
            "scale", "b", (64, 1, 1), ("f32[8192] s(1,) +0 @0%128", "f32[8192] s(1,) +0 @0%128", "i32 8192", "i32 128")
        ),
        Launch("after", "c", (1,)),
    )
    return assemble(subject(OVERRUN, "oob.py", folder), run, seen)


def test_a_run_alone_does_not_know_the_kernel(tmp_path: Path) -> None:
    fault = overrun(tmp_path).fault
    assert fault is not None
    assert (fault.kernel, fault.near, fault.instruction, fault.space) == ("", "after", "", "")


def test_a_core_dump_names_kernel_instruction_and_access(tmp_path: Path) -> None:
    seen = overrun(tmp_path, dumped("oob"))
    fault = seen.fault
    assert fault is not None
    assert (fault.kernel, fault.near, fault.instruction) == ("scale", "", "STG")
    assert (fault.space, fault.access, fault.size, fault.construct) == ("global", "write", 4, "tl.store")
    assert seen.launch is not None and seen.launch.grid == (64, 1, 1)
    assert seen.parameters == ("x", "y", "n", "BLOCK")


def test_the_sanitizer_alone_tells_the_access_but_not_the_instruction(tmp_path: Path) -> None:
    seen = overrun(tmp_path, recorded("oob"))
    fault = seen.fault
    assert fault is not None
    assert (fault.kernel, fault.instruction) == ("scale", "")
    assert (fault.space, fault.access, fault.size, fault.construct) == ("global", "write", 4, "tl.store")
    assert any("after the nearest allocation" in line for line in seen.memory)
    assert [(finding.record.kind, finding.count) for finding in seen.findings] == [("Invalid __global__ write", 6)]


def test_a_record_of_another_place_than_the_dump_s_is_no_evidence_of_this_fault(tmp_path: Path) -> None:
    seen = overrun(tmp_path, dumped("oob"), recorded("tma"))
    assert seen.fault is not None and seen.fault.kernel == "scale"
    assert not any("memcheck" in line for line in seen.memory)
    assert len(seen.findings) == 2  # but kept


def test_without_a_dump_the_record_is_of_the_access_that_went_farthest() -> None:
    """The sanitizer also tells of what lies near an allocation, in mapped memory, and of accesses of another error."""
    (far, *_) = records("oob")
    near = sanitizer_records.record(far.text.replace("66,403,841", "4").replace("+0x150", "+0x90"), "memcheck")
    odd = sanitizer_records.record(
        far.text.replace("is out of bounds", "is misaligned").replace("+0x150", "+0x20"), "memcheck"
    )
    farther = sanitizer_records.record(far.text.replace("66,403,841", "99,403,841"), "memcheck")
    assert (near.distance, far.distance, far.misaligned, odd.misaligned) == (4, 66_403_841, False, True)
    found = (odd, near, far, farther)
    assert telling(found, (), 700) is far, "the first of that place"
    assert telling(found, (), 716) is odd
    assert telling((near,), (), 716) is near, "better than nothing"
    assert telling(found, [Sight(near.kernel), Sight(near.kernel, near.offset)]) is near
    assert telling((), (), 700) is None


def test_the_static_rule_is_no_sight_of_another_error(tmp_path: Path) -> None:
    rule = Launch("first", "a", (1,), fault="tma-alignment: first: TMA load of 1x4xf32, ...")
    assert overrun(tmp_path, static_rules.observation(rule)).fault == overrun(tmp_path).fault


def test_tma_by_core_dump_is_a_write_to_shared_memory(tmp_path: Path) -> None:
    run = faulting(716, "misaligned address", Launch("kernel", "a", (1, 1, 1)))
    seen = assemble(subject(TMA, "tma.py", tmp_path), run, (dumped("tma"), recorded("tma")))
    fault = seen.fault
    assert fault is not None
    assert (fault.instruction, fault.space, fault.access, fault.size) == ("UTMALDG", "shared", "write", 0)
    assert (fault.construct, seen.place) == (
        "descriptor load",
        source_text.SourceLine(str(tmp_path / "tma.py"), 11, "acc += x.load([0, start])"),
    )


def test_what_is_refused_in_the_library_of_triton_is_at_the_line_that_calls_it(tmp_path: Path) -> None:
    """Triton tells the innermost function first."""
    said = "at 3:4:\ndef _reduce(input, axis):\n    ^\ninvalid axis 1\nat 2:8:\ndef kernel(x):\n        ^"
    failure = Failure("triton.compiler.errors.CompilationError", said, traceback=said)
    run = Run("virtual", 1, failure=failure, compiles=(Compilation("kernel", "", failure=failure),))
    seen = assemble(subject("import triton\n\ndef kernel(x):\n    tl.max(x, 1)\n", "axis.py", tmp_path), run, ())
    assert seen.place == source_text.SourceLine(str(tmp_path / "axis.py"), 4, "tl.max(x, 1)")


def test_of_several_compilations_the_one_with_the_instruction_is_meant(tmp_path: Path) -> None:
    """Without SASS the last launch of the kernel is the guess."""
    run = faulting(
        716, "misaligned address", Launch("kernel", "a", (1,)), Launch("kernel", "b", (2,)), Launch("z", "c", ())
    )
    run = Run(
        **{
            **run.__dict__,
            "compiles": (Compilation("kernel", "a"), Compilation("kernel", "b", options={"num_warps": 4})),
        }
    )
    seen = assemble(subject(TMA, "tma.py", tmp_path), run, (dumped("tma"),))
    assert seen.launch is not None and seen.launch.hash == "b"
    assert seen.options == {"num_warps": 4}


def test_an_assertion_on_the_device_has_no_instruction(tmp_path: Path) -> None:
    run = faulting(710, "device-side assert triggered", Launch("check", "a", (1,)))
    text = "def check(x):\n\n\n" + '    tl.device_assert(tl.load(x) > 0, "must be positive")\n'
    fault = assemble(subject(text, "assertion.py", tmp_path), run, (dumped("assertion"), recorded("assertion"))).fault
    assert fault is not None
    assert (fault.kernel, fault.instruction, fault.space) == ("check", "", "")
    assert fault.construct == "tl.device_assert"


# Constructs.


@pytest.mark.parametrize(
    ("line", "access", "expected"),
    [
        ("a = helper(x.load([0, 1]), 2)", "write", "descriptor load"),
        ("y.store([0, 0], a)", "", "descriptor store"),
        ("tl.store(y + o, tl.load(x + o))", "write", "tl.store"),
        ("tl.store(y + o, tl.load(x + o))", "read", "tl.load"),
        ("tl.atomic_add(y + o, 1)", "write", "tl.atomic_add"),
        ("a = tl.dot(b, c)", "", "tl.dot"),
        ("a = 1", "", ""),
    ],
)
def test_the_construct_is_what_the_line_calls(line: str, access: str, expected: str) -> None:
    assert source_text.construct(f"def kernel(x, y):\n    {line}\n", 2, access) == expected


@pytest.mark.parametrize(("column", "expected"), [(24, "tl.dot"), (4, "tl.store"), (7, "tl.store")])
def test_the_construct_is_the_call_at_which_the_front_end_points(column: int, expected: str) -> None:
    text = "def kernel(x, y, a, b):\n    tl.store(y + x * 4, tl.dot(a, b))\n"
    assert source_text.construct(text, 2, column=column) == expected


@pytest.mark.parametrize("line", ["import triton.language as T", "from triton import language as T"])
def test_the_construct_under_another_name_of_the_language(line: str) -> None:
    text = f"{line}\ndef kernel(x, y):\n    T.store(y, x.load([0]))\n"
    assert source_text.construct(text, 3, "write") == "T.store"
    assert source_text.construct(text, 3, "read") == "descriptor load"


def test_a_call_over_several_lines() -> None:
    text = "def kernel(x, y):\n    tl.store(\n        y,\n        1,\n    )\n"
    assert [source_text.construct(text, line) for line in (2, 4)] == ["tl.store", "tl.store"]


# Which instruments were asked, where there is no GPU.


def said(evidence: Evidence) -> dict[str, Statement]:
    return {one.instrument: one for one in evidence.said}


def test_a_python_fault_needs_no_instrument(tmp_path: Path) -> None:
    path = tmp_path / "failing.py"
    text = "rows = [1]\nprint(rows[7])\n"
    seen = examine(text, Script(path, cwd=tmp_path), setup(tmp_path), seconds=60)
    assert seen.fault is not None and (seen.fault.phase, seen.fault.klass) == ("python", "IndexError")
    assert seen.place == source_text.SourceLine(str(path), 2, "print(rows[7])")
    assert said(seen)[RUN].state == "present"
    assert {one.state for one in seen.said if one.instrument != RUN} == {SKIPPED}
    assert [one.instrument for one in seen.said] == list(instruments.ORDER)


@pytest.mark.skipif(has_gpu(), reason="there all instruments are present")
def test_what_is_missing_says_how_to_get_it(tmp_path: Path) -> None:
    nothing = subject("", "failing.py", tmp_path)
    for one in INSTRUMENTS:
        if one.look is not None:
            said = one.look(nothing, Run("cold", 1)).said
            assert (said.instrument, said.state) == (one.name, MISSING)
            assert ("--arch" if one.name == STATIC else "real GPU") in said.text


def test_a_program_that_ends_well_has_no_fingerprint(tmp_path: Path) -> None:
    assert fingerprint("print(1)\n", Script(tmp_path / "a.py", cwd=tmp_path), setup(tmp_path, 90), seconds=60) is None


def test_the_fingerprint_on_the_virtual_gpu_has_the_instruction(tmp_path: Path) -> None:
    path = Path(__file__).parents[2] / "corpus" / "tma_misaligned" / "repro_tma_misaligned.py"
    fault = fingerprint(path.read_text(), Script(path, cwd=tmp_path), setup(tmp_path, 90), seconds=60)
    assert fault is not None
    assert (fault.phase, fault.code, fault.instruction, fault.space) == ("device", 716, "UTMALDG", "shared")
    assert fault.construct == "descriptor load"


def test_names_of_the_instruments_are_told_apart() -> None:
    assert len({RUN, *(one.name for one in INSTRUMENTS)}) == len(instruments.ORDER)


LATE = "a late instrument"


def late(subject: Subject, run: Run | None) -> Observation:
    """One that knows the line, what the address is, and has a text to keep."""
    sight = Sight("scale", file=str(subject.script.path), line=1)
    return Observation(
        Statement(LATE, PRESENT, "seen"), sights=(sight,), address=("the address (late): 12",), text="all of it"
    )


def test_a_new_instrument_is_one_line_in_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = (*INSTRUMENTS, Instrument(LATE, Cost.REQUEST, late, applies=lambda fault, intermittent: fault is not None))
    module = sys.modules[examine.__module__]
    monkeypatch.setattr(module, "INSTRUMENTS", every)
    monkeypatch.setattr(module, "ORDER", (RUN, *(one.name for one in every)))
    path = tmp_path / "failing.py"
    seen = examine("raise ValueError\n", Script(path, cwd=tmp_path), setup(tmp_path), seconds=60, ask=[LATE])
    assert seen.said[-1] == Statement(LATE, PRESENT, "seen")
    assert (seen.kernel, seen.texts) == ("scale", {LATE: "all of it"})
    assert "the address (late): 12" in seen.memory
    assert f"{LATE} present: seen" in " ".join(card(seen).split())

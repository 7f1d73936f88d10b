from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest

from shrinkray_gpu.errors import NotReproduced, UsageError
from shrinkray_gpu.ptx.options import PtxOptions
from shrinkray_gpu.ptx.ptx_file import ptx_in, read_ptx
from shrinkray_gpu.ptx.ptx_replay import fault_told, replay_ptx
from shrinkray_gpu.ptx.ptxas_fault import fault_in
from shrinkray_gpu.ptx.reduce_ptx import reduce_ptx, same
from shrinkray_gpu.ptx.release_table import difference, table
from tests.ptx.samples import CRASH, REFUSED, lines, tool

SMALLEST = """\
.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .b32 in_r1)
{
.reg .b32 %r<3>;
ld.param.b32 %r1, [in_r1];
rsqrt.approx.f32x2 %r2, %r1;
}
"""


@pytest.fixture
def crash(tmp_path: Path) -> Path:
    (path := tmp_path / "crash.ptx").write_text(CRASH)
    return path


def asked(**other: object) -> PtxOptions:
    return PtxOptions(**{"ptxas": tool(), "jobs": 2, **other})  # type: ignore[arg-type]


def test_one_instruction_and_what_it_reads_is_left(crash: Path) -> None:
    result = reduce_ptx(crash, asked())
    head, rest = result.text[: result.text.index(".version")], result.text[result.text.index(".version") :]
    assert list(lines(rest)) == SMALLEST.splitlines() and (result.before, result.after) == (13, 2)
    assert head.startswith("// ptxas -arch=sm_90a FILE\n") and f"// Fault: {REFUSED}\n" in head and not result.refuted


def test_the_result_is_the_same_for_any_number_of_processes(crash: Path) -> None:
    assert len({reduce_ptx(crash, asked(jobs=jobs)).text for jobs in (1, 3)}) == 1


def test_an_error_that_an_edit_makes_is_another_fault(crash: Path) -> None:
    """Two instructions with the same error: what is asked about is the first, and the second cannot stand for it."""
    crash.write_text(CRASH.replace("ret;", "rsqrt.approx.f32x2 %r5, %r4;\n\tret;"))
    assert reduce_ptx(crash, asked()).text.count("rsqrt.approx") == 1
    undefined = CRASH.replace("mov.b32 t, %r4", "mov.b32 t, %nowhere")
    crash.write_text(undefined)
    result = reduce_ptx(crash, asked(oracle=("compile:Unknown symbol",)))
    assert "%nowhere" in result.text and "rsqrt" not in result.text and result.after == 1


def broken_ptxas(folder: Path, does: str) -> Path:
    """The real ptxas behind a script that breaks where PTX has a wide product and a load: a stand-in."""
    path = folder / "ptxas"
    path.write_text(
        f"#!/bin/sh\nif grep -q mul.wide kernel.ptx 2>/dev/null && grep -q ld.global kernel.ptx; then {does}; fi\n"
        f'exec {tool()} "$@"\n'
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize(
    ("does", "fault"),
    [
        ("kill -SEGV $$", "signal SIGSEGV"),
        ("echo 'ptxas fatal   : Internal error 17 at (C7999)'; exit 255", "Internal error N at (C7999)"),
        ("exit 3", "exit status 3"),
        ("exec sleep 100", "no end"),
    ],
)
def test_a_ptxas_that_breaks(crash: Path, tmp_path: Path, does: str, fault: str) -> None:
    crash.write_text(CRASH.replace("rsqrt.approx.f32x2", "rsqrt.approx.f32"))
    seconds = 1.0 if "sleep" in does else 60.0
    result = reduce_ptx(
        crash, asked(ptxas=broken_ptxas(tmp_path, does), seconds=seconds, max_time=8 if seconds == 1 else 60)
    )
    assert str(result.fault) == fault and "mul.wide" in result.text and "ld.global" in result.text
    if "sleep" not in does:
        assert result.after == 3, result.text
    assert fault_told(ptx_in(result.text, crash)) is not None
    if "sleep" in does:
        assert "// Fault: no end in 1 s\n" in result.text


def test_what_is_no_fault(crash: Path) -> None:
    with pytest.raises(NotReproduced, match="nothing matches 'C7600'"):
        reduce_ptx(crash, asked(oracle=("C7600",)))
    with pytest.raises(UsageError, match="is for sm_90a, which is not assembled for sm_80"):
        reduce_ptx(crash, asked(arch="sm_80"))
    with pytest.raises(UsageError, match="cannot run /nowhere/ptxas"):
        reduce_ptx(crash, asked(ptxas=Path("/nowhere/ptxas")))
    crash.write_text(CRASH.replace("rsqrt.approx.f32x2", "rsqrt.approx.f32"))
    with pytest.raises(NotReproduced, match="is assembled for sm_90a without a fault"):
        reduce_ptx(crash, asked())
    crash.write_text(CRASH.replace(".version 8.4", ".version 99.0"))
    with pytest.raises(UsageError, match="does not know what"):
        reduce_ptx(crash, asked())


def test_flags_come_from_the_head_and_from_what_triton_prints(tmp_path: Path) -> None:
    (log := tmp_path / "run.log").write_text(
        "Repro command: /x/bin/ptxas -lineinfo -v --regAllocOptLevel=2 --gpu-name=sm_90a /tmp/t.ptx -o /tmp/t.ptx.o\n\n"
        f"{CRASH}\n================================================================\nplease share\n"
    )
    found = read_ptx(log)
    assert found.flags == ("-lineinfo", "--regAllocOptLevel=2") and found.target == "sm_90a"
    assert "please" not in found.text
    assert ptx_in("// ptxas -arch=sm_90a -O1 FILE\n" + CRASH, log).flags == ("-O1",)


def test_several_releases(crash: Path, tmp_path: Path) -> None:
    crash.write_text(reduce_ptx(crash, asked()).text)
    found = replay_ptx(crash, {"own": tool(), "other": broken_ptxas(tmp_path, "exit 3")})
    assert [each.outcome for each in found.rows] == ["fails", "fails"] and found.as_told
    whole = CRASH.replace("rsqrt.approx.f32x2", "rsqrt.approx.f32")
    crash.write_text(whole)
    found = replay_ptx(crash, {"own": tool(), "other": broken_ptxas(tmp_path, "exit 3")})
    assert [each.outcome for each in found.rows] == ["passes", "fails"] and not found.as_told
    good = found.rows[0]
    assert good.registers and good.size and not good.spills and re.fullmatch(r"[0-9a-f]{12}", good.digest)
    assert "fail, and" in difference(found.rows) and good.digest in table(found.rows)
    crash.write_text(whole.replace("add.f32", "sub.f32"))
    assert replay_ptx(crash, {"own": tool()}).rows[0].digest != good.digest


@pytest.mark.parametrize(
    ("status", "kind"),
    [(-11, "signal SIGSEGV"), (139, "signal SIGSEGV"), (-35, "signal 35"), (None, "no end"), (255, "exit status 255")],
)
def test_how_it_ended(status: int | None, kind: str) -> None:
    fault = fault_in(status, "", {})
    assert fault is not None and fault.kind == kind
    assert fault_in(0, "ptxas warning : something", {}) is None


def test_the_same_words_of_another_statement_are_another_fault() -> None:
    said = "ptxas k.ptx, line 4; error   : Arguments mismatch for instruction 'add'\n"
    said += "ptxas fatal   : Ptx assembly aborted due to errors\n"
    first = fault_in(255, said, {4: 40, 7: 70})
    assert first is not None and str(first) == "Arguments mismatch for instruction 'add'"
    moved, other = fault_in(255, said, {4: 40}, like=first), fault_in(255, said, {4: 70}, like=first)
    assert moved is not None and same(moved, first)
    assert other is not None and not same(other, first)
    more = fault_in(255, said.replace("line 4", "line 7") + said, {4: 40, 7: 70}, like=first)
    assert more is not None and more.message == first.message and not same(more, first), "one of its own making, too"


@pytest.mark.parametrize(
    ("status", "said"),
    [(-9, ""), (137, ""), (-15, ""), (-2, ""), (-1, ""), (255, "ptxas fatal   : Memory allocation failure\n")],
)
def test_a_ptxas_that_was_killed_has_no_fault(status: int, said: str) -> None:
    assert fault_in(status, said, {}) is None


def test_a_ptxas_that_is_killed_is_told_of(crash: Path, tmp_path: Path) -> None:
    crash.write_text(CRASH.replace("rsqrt.approx.f32x2", "rsqrt.approx.f32"))
    killed = broken_ptxas(tmp_path, "kill -KILL $$")
    with pytest.raises(UsageError, match=re.escape("ptxas was killed (out of memory?)")):
        reduce_ptx(crash, asked(ptxas=killed))
    found = replay_ptx(crash, {"own": tool(), "killed": killed})
    assert [each.outcome for each in found.rows] == ["passes", "no answer"] and "killed" in found.rows[1].why
    assert not found.as_told, "nobody knows what the second one makes of it"


def test_words_that_stand_in_no_error_persist(crash: Path, tmp_path: Path) -> None:
    """An assertion that fails in one place or in another: both end by the same signal."""
    crash.write_text(CRASH.replace("rsqrt.approx.f32x2", "rsqrt.approx.f32"))
    does = "grep -q st.global kernel.ptx && echo \"regalloc: Assertion 'foo' failed.\" >&2; kill -ABRT $$"
    broken = broken_ptxas(tmp_path, does)
    result = reduce_ptx(crash, asked(ptxas=broken, oracle=("'foo' failed",)))
    assert "st.global" in result.text and not result.refuted and "\n// Oracle: 'foo' failed\n" in result.text
    crash.write_text(result.text)
    assert replay_ptx(crash, {"own": broken}).as_told
    crash.write_text("".join(line for line in result.text.splitlines(True) if "st.global" not in line))
    (row,) = replay_ptx(crash, {"own": broken}).rows
    assert row.outcome == "fails otherwise" and row.why == "signal SIGABRT, without the words of --oracle"
    with pytest.raises(NotReproduced, match="'foo' failed"):
        reduce_ptx(crash, asked(ptxas=broken))

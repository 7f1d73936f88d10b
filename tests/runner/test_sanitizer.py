"""compute-sanitizer's records, read from real outputs of 2025.3.1 on an H100; and how it is run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.device import sanitizer_records
from shrinkray_gpu.device.nvidia.sanitizer_records import records, summary
from shrinkray_gpu.device.record import group_records
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.runner import plain, sanitizer
from shrinkray_gpu.runner.inside.process import landlock
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Run

SAMPLES = Path(__file__).parents[1] / "evidence" / "samples"


def sample(name: str) -> str:
    return (SAMPLES / f"{name}.txt").read_text()


def test_an_overrun_is_read_whole() -> None:
    first = records(sample("memcheck_oob"), "memcheck")[0]
    assert first.title == "Invalid __global__ write of size 4 bytes"
    assert (first.access, first.size, first.space) == ("write", 4, "global")
    assert (first.kernel, first.offset, first.file, first.line) == ("scale", 0x150, "oob.py", 6)
    assert (first.thread, first.block) == ("(0,0,0)", "(8,0,0)")
    assert first.notes == (
        "Access to 0x7f2e56b54000 is out of bounds",
        "and is 66,403,841 bytes after the nearest allocation at 0x7f2e52c00000 of size 512 bytes",
    )
    assert "Host Frame: <module> in oob.py:8" in first.text
    assert "Host Frame" not in first.device_text


def test_the_tma_fault_names_no_access_but_the_instruction_s_offset() -> None:
    first = records(sample("memcheck_tma"), "memcheck")[0]
    assert first.title == "Misaligned shared or local address"
    assert (first.access, first.size, first.space) == ("", 0, "")
    assert (first.kernel, first.offset, first.line) == ("kernel", 0x8D0, 11)


def test_an_uninitialised_read() -> None:
    [only] = records(sample("initcheck_uninit"), "initcheck")
    assert (only.kind, only.access, only.size, only.space) == (
        "Uninitialized __global__ memory read",
        "read",
        4,
        "global",
    )
    assert (only.kernel, only.offset, only.notes) == ("add", 0xF0, ("Address 0x7f885e801880",))


@pytest.mark.parametrize("name", ["memcheck_uninit", "racecheck_clean"])
def test_banners_summaries_and_what_the_program_prints_are_no_records(name: str) -> None:
    assert records(sample(name), "memcheck") == ()


def test_a_race_is_told_by_both_of_its_accesses() -> None:
    text = (
        "========= COMPUTE-SANITIZER\n"
        "========= Error: Race reported between Write access at stage+0xa30 in k.py:9\n"
        "=========     and Read access at stage+0xc10 in k.py:12 [496 hazards]\n"
        "========= \n"
        "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n"
    )
    [race] = records(text, "racecheck")
    assert race.kind == "Error: Race reported between Write access"
    assert (race.access, race.kernel, race.offset, race.line) == ("write", "stage", 0xA30, 9)


def test_the_summary_is_the_last_line_or_nothing() -> None:
    assert summary(sample("memcheck_tma")) == "ERROR SUMMARY: 34 errors"


def test_hundreds_of_threads_are_one_finding() -> None:
    found = group_records(records(sample("memcheck_tma"), "memcheck"))
    assert [(record.kind, count) for record, count in found] == [
        ("Misaligned shared or local address", 6),
        ('Program hit cudaErrorMisalignedAddress (error 716) due to "misaligned address"', 2),
    ]


def test_the_program_s_own_output_between_the_records() -> None:
    assert sanitizer_records.program_output(sample("memcheck_uninit")).startswith("1024.0\n")
    assert sanitizer_records.program_output(sample("memcheck_oob")).startswith("Traceback (most recent call last):\n")


# Running it: a stand-in on PATH that runs the program and says what the real one said.


@pytest.fixture
def tool(tmp_path: Path) -> dict[str, str]:
    """An environment whose compute-sanitizer adds the records of a real run to the program's output."""
    folder = tmp_path / "bin"
    folder.mkdir()
    stand_in = folder / "compute-sanitizer"
    stand_in.write_text(
        '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift 2; done\n"$@"; status=$?\n'
        f"grep ^========= {SAMPLES / 'memcheck_oob.txt'}\n[ $status = 0 ] && exit 86\nexit $status\n"
    )
    stand_in.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def fence_in(folder: Path) -> Setup:
    return Setup(sys.executable, os.environ, (), (), str(folder))


def sanitized(text: str, tool: dict[str, str], folder: Path) -> Run:
    return sanitizer.run(
        text,
        folder / "failing.py",
        ("word",),
        tool="memcheck",
        python=sys.executable,
        environment=tool,
        cwd=folder,
        scratch=folder,
        seconds=60,
        fence=fence_in(folder),
    )


def test_a_run_has_its_records_and_last_the_summary(tool: dict[str, str], tmp_path: Path) -> None:
    run = sanitized("import sys\nprint(sys.argv[1])\n", tool, tmp_path)
    assert run.stdout == "word\n" and run.mode == "plain"
    *found, last = run.records
    assert len(found) == 6 and found[0].startswith("Invalid __global__ write of size 4 bytes\n    at scale+0x150")
    assert last == "ERROR SUMMARY: 4092 errors"
    assert sanitizer_records.record(found[0], "memcheck") == records(sample("memcheck_oob"), "memcheck")[0]


def test_a_pool_runs_candidates_under_the_script_s_tool(tool: dict[str, str], tmp_path: Path) -> None:
    setup = Setup(sys.executable, tool, imports=(), own=(), scratch=str(tmp_path))
    pool = Pool(
        Script(tmp_path / "failing.py", cwd=tmp_path, sanitizer="memcheck"), setup, mode="cold", jobs=1, seconds=60
    )
    try:
        run = pool.run("print('ran')\n")
    finally:
        pool.close()
    assert run.stdout == "ran\n" and run.records[-1] == "ERROR SUMMARY: 4092 errors"


def test_where_there_is_none_the_user_learns_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("shrinkray_gpu.device.nvidia.toolkit.TOOLKIT", tmp_path)
    with pytest.raises(UsageError, match="sanitizer:racecheck needs compute-sanitizer: .* CUDA_HOME"):
        sanitizer.require("racecheck", sys.executable, {"PATH": str(tmp_path)})


def test_it_is_found_in_cuda_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    there = tmp_path / "bin" / "compute-sanitizer"
    there.parent.mkdir()
    there.write_text("#!/bin/sh\n")
    assert (
        sanitizer_records.find(sys.executable, {"PATH": "/nowhere", "CUDA_HOME": str(tmp_path)}) != there
    )  # not executable
    there.chmod(0o755)
    assert sanitizer_records.find(sys.executable, {"PATH": "/nowhere", "CUDA_HOME": str(tmp_path)}) == there


# The plain program, as text.


def plainly(text: str, path: Path) -> str:
    run = plain.run_text(
        sys.executable, text, path, (), environment=os.environ, cwd=path.parent, scratch=path.parent, seconds=60
    )
    return run.stdout + run.stderr


def test_a_candidate_s_text_finds_the_modules_beside_the_original(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("NAME = 'beside'\n")
    path = tmp_path / "failing.py"
    path.write_text("print('the original')\n")
    assert plainly("import beside\nprint(beside.NAME, __file__)\n", path).startswith("beside /")
    assert path.read_text() == "print('the original')\n"
    assert not (tmp_path / "__pycache__").exists()


def test_the_original_s_own_text_is_run_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "failing.py"
    path.write_text("print(__file__)\n")
    assert plainly(path.read_text(), path) == f"{path}\n"


@pytest.mark.skipif(landlock.level() < 1, reason="this kernel has no Landlock")
def test_behind_a_fence_a_program_writes_only_where_it_may(tmp_path: Path) -> None:
    path, allowed = tmp_path / "failing.py", tmp_path / "allowed"
    allowed.mkdir()
    path.write_text("import sys\nopen(sys.argv[1], 'w').write('x')\n")
    for folder, status in ((allowed, 0), (tmp_path, 1)):
        run = plain.run_file(
            sys.executable,
            path,
            (str(folder / "new.txt"),),
            environment=os.environ,
            cwd=tmp_path,
            seconds=60,
            prefix=plain.fence(sys.executable, fence_in(allowed)),
        )
        assert run.exit == status, run.stderr
    assert not (tmp_path / "new.txt").exists()


def test_the_host_s_frames_are_for_a_person_alone() -> None:
    """Of a process that goes on after its fault they cost a minute, and gigabytes."""
    search, report = (sanitizer_records.prefix(Path("tool"), "memcheck", host=host) for host in (False, True))
    assert search == (*report, "--show-backtrace", "device")

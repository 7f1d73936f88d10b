"""Launches of any program, recorded by the preloaded library, and made once more by a script. The driver is
`driver.c`, a simulation: what a real one does is seen on a GPU only."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from shrinkray_gpu.cli.main import main
from shrinkray_gpu.ptx.launcher import NoLauncher
from shrinkray_gpu.ptx.recorded_launch import recorded_launcher, unread
from shrinkray_gpu.runner import launch_recorder
from shrinkray_gpu.runner.launch_recorder import DeviceMemory, Pointer, RecordedLaunch, Room

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    made = tmp_path_factory.mktemp("driver")
    flags = ["-std=gnu11", "-w"]
    library = made / "libcuda.so.1"
    subprocess.run(
        ["gcc", *flags, "-shared", "-fPIC", "-Wl,-soname=libcuda.so.1", "-o", library, HERE / "driver.c"], check=True
    )
    for way in ("PROC", "SYMBOL", "LINKED"):
        linked = [library] if way == "LINKED" else []
        subprocess.run(["gcc", *flags, f"-D{way}", "-o", made / way, HERE / "client.c", *linked, "-ldl"], check=True)
    return made


def record(
    folder: Path, place: Path, *command: str, keep: int | None = None, more: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[str]:
    place.mkdir(exist_ok=True)
    library = launch_recorder.library(folder)
    given = {**os.environ, "LD_LIBRARY_PATH": str(folder), **more}
    environment = launch_recorder.environment(given, library, place, keep)
    return subprocess.run(command, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("way", ["PROC", "SYMBOL", "LINKED"])
def test_every_way_to_the_driver_is_recorded(folder: Path, tmp_path: Path, way: str) -> None:
    done = record(folder, tmp_path / "out", str(folder / way))
    assert done.returncode == 1 and not done.stderr
    first, second = launch_recorder.read(tmp_path / "out")
    assert (first.kernel, first.grid, first.block, first.shared) == ("fill", (2, 1, 1), (64, 1, 1), 0)
    assert (second.kernel, second.grid, second.block, second.shared) == ("overrun", (7, 1, 1), (32, 1, 1), 256)
    assert (first.status, second.status) == (0, 700)
    assert [each.offset for each in first.parameters] == [0, 8, 16]
    assert first.parameters[0].pointers == (Pointer(0, 0, 8),) and second.parameters[0].pointers == (Pointer(0, 0, 0),)
    assert second.parameters[1].data == b"\5\0\0\0" and second.parameters[2].pointers == (Pointer(0, 1, 4),)
    floats, numbers = second.memory
    assert numbers == DeviceMemory(16, fill=b"\3\0\0\0" * 4) and floats.size == 256
    assert (tmp_path / "out" / floats.file).read_bytes()[8:12] == b"\0\0\x10\x41"  # 9: the first launch has run
    assert not (tmp_path / "out" / first.memory[0].file).exists()
    assert (tmp_path / "out" / first.image).read_text() == ".version 8.0 // PTX"
    assert (tmp_path / "out" / second.image).read_bytes()[-8:] == b"kernels\0"


def test_the_launch_that_failed_is_made_again_alone(folder: Path, tmp_path: Path) -> None:
    """The script of one launch, itself recorded: a program that loads the driver by ctypes."""
    said = record(folder, tmp_path / "out", str(folder / "PROC")).stdout.splitlines()
    launch = launch_recorder.read(tmp_path / "out")[1]
    script = tmp_path / "out" / "launch.py"
    script.write_text(recorded_launcher(launch))
    again = record(folder, tmp_path / "again", sys.executable, "-I", str(script))
    assert again.returncode == 1 and said[1] in again.stdout and "pair=3,77" in said[1]
    assert "cuCtxSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700)" in again.stdout
    (seen,) = launch_recorder.read(tmp_path / "again")
    assert replace(seen, process="", number=0, image="", parameters=(), memory=()) == replace(
        launch, process="", number=0, image="", parameters=(), memory=()
    )
    assert [each.pointers for each in seen.parameters] == [each.pointers for each in launch.parameters]


def test_the_contents_of_another_launch_are_kept_if_asked_for(folder: Path, tmp_path: Path) -> None:
    record(folder, tmp_path / "out", str(folder / "SYMBOL"), keep=0)
    first = launch_recorder.read(tmp_path / "out")[0]
    assert (tmp_path / "out" / first.memory[0].file).stat().st_size == 256


@pytest.mark.parametrize("way", ["PROC", "SYMBOL", "LINKED"])
def test_room_makes_memory_larger_than_the_program_asks_for(folder: Path, tmp_path: Path, way: str) -> None:
    room = Room("memory", 4).environment(Room("shared", 2).environment({}, Path("none")), Path("none"))
    environment = {name: value for name, value in room.items() if name != "LD_PRELOAD"}
    assert record(folder, tmp_path / "out", str(folder / way), more=environment).returncode == 1
    launch = launch_recorder.read(tmp_path / "out")[1]
    assert [each.size for each in launch.memory] == [1024, 64] and launch.shared == 512


def test_what_a_record_does_not_hold_has_no_script() -> None:
    launch = RecordedLaunch(0, "1", "k", "plain", "a.ptx", (1, 1, 1), (1, 1, 1), 0, (), (DeviceMemory(8),), 0)
    assert unread(launch) == 1 and re.search(r"MEMORY.*\(\n    \(8, ''\),\n\)", recorded_launcher(launch))
    for worse in (replace(launch, how="cooperative"), replace(launch, image=""), replace(launch, how="attributes")):
        with pytest.raises(NoLauncher):
            recorded_launcher(worse)


def test_a_line_that_breaks_off_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "launches.7.jsonl").write_text('{"event": "module", "module": 0, "file": "m"}\n{"event": "lau')
    assert launch_recorder.read(tmp_path) == ()


@pytest.mark.timeout(20)
def test_what_the_program_left_in_the_place_of_a_record_is_not_read(tmp_path: Path) -> None:
    """A pipe would keep the tool waiting."""
    (tmp_path / "secret").write_text('{"event": "launch"}\n')
    os.mkfifo(tmp_path / "launches.1.jsonl")
    (tmp_path / "launches.2.jsonl").symlink_to(tmp_path / "secret")
    (tmp_path / "launches.3.jsonl").mkdir()
    assert launch_recorder.read(tmp_path) == ()


def test_the_command_lists_the_launches_and_makes_the_one_that_failed_alone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))

    def shrink(*words: str) -> tuple[int, str]:
        try:
            main(["launches", *words])
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
        said = capsys.readouterr()
        return code, said.out + said.err

    code, said = shrink("--", str(folder / "PROC"))
    assert code == 0 and "launch 0: fill on 2 x 1 x 1 of 64 x 1 x 1, memory 256, 16: ended well\n" in said
    assert "launch_1.py says: cuCtxSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700)\n" in said
    code, said = shrink("--launch", "0", "--", str(folder / "PROC"))
    assert code == 0 and "launch_0.py says: no error\n" in said
    assert shrink("--", "true")[0] == 3
    assert shrink()[0] == shrink("-o", "/", "--", "true")[0] == 2
    assert shrink("--launch", "2", "--", str(folder / "PROC"))[0] == 2
    (tmp_path / "end_in_launch").touch()
    code, said = shrink("--", str(folder / "PROC"))
    assert code == 3 and "the program ended in it" in said and "launch 0 alone does not show the error" in said
    notes = tmp_path / "launches" / "notes.txt"
    notes.write_text("what I found out")
    code, said = shrink("--", str(folder / "PROC"))
    assert code == 2 and "launches has notes.txt, which is no part of a record" in said and notes.exists()

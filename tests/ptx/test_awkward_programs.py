"""The recorder of launches in programs that make it hard: threads, forks, files that are gone, names that are no text.

Each is run once as it is, and once with the recorder compiled with the sanitizers of addresses and undefined behaviour.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.ptx.launcher import NoLauncher
from shrinkray_gpu.ptx.recorded_launch import outdated, recorded_launcher
from shrinkray_gpu.runner import launch_recorder
from shrinkray_gpu.runner.launch_recorder import RecordedLaunch

HERE = Path(__file__).parent
LOUD = ["-std=gnu11", "-Wall", "-Wextra", "-Wconversion", "-Wno-cast-function-type", "-Werror", "-O1", "-g", "-shared",
        "-fPIC", "-fvisibility=hidden"]  # fmt: skip
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-Ddlsym=not_dlsym"]
"""The last: the runtime of the sanitizer calls dlsym before it is there."""

ABSENT = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  void *one = dlsym(RTLD_DEFAULT, "cuLaunchKernel"), *other = dlsym(dlopen(0, RTLD_NOW), "cuMemAlloc_v2");
  printf("%d%d\\n", one != 0, other != 0);
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    made = tmp_path_factory.mktemp("driver")

    def compile_(*words: object) -> None:
        subprocess.run(["gcc", *map(str, words)], check=True)

    quiet = ["-std=gnu11", "-w"]
    for name, flags in (("new", []), ("old", ["-DOLD"])):
        (made / name).mkdir()
        library = made / name / "libcuda.so.1"
        compile_(*quiet, *flags, "-shared", "-fPIC", "-Wl,-soname=libcuda.so.1", "-o", library, HERE / "driver.c")
    linked = [made / "new" / "libcuda.so.1", "-lpthread", "-ldl"]
    compile_(*quiet, "-o", made / "client", HERE / "awkward_client.c", *linked)
    (made / "absent.c").write_text(ABSENT)
    compile_(*quiet, "-o", made / "absent", made / "absent.c", "-ldl")
    compile_(*LOUD, *SANITIZERS, "-o", made / "sanitized.so", launch_recorder.SOURCE, "-ldl", "-lpthread")
    return made


@pytest.fixture(params=["plain", "sanitized"])
def library(request: pytest.FixtureRequest, folder: Path) -> str:
    if request.param == "plain":
        return str(launch_recorder.library(folder))
    runtimes = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    return " ".join([*runtimes, str(folder / "sanitized.so")])


def run(
    folder: Path, library: str, place: Path, *words: str, client: str = "client", driver: str = "new", **more: str
) -> subprocess.CompletedProcess[str]:
    place.mkdir()
    environment = {
        **os.environ, "LD_LIBRARY_PATH": str(folder / driver), "LD_PRELOAD": library, "SHRINK_RECORD": str(place),
        "ASAN_OPTIONS": "detect_leaks=0", **more,
    }  # fmt: skip
    done = subprocess.run(
        [folder / client, *words], env=environment, capture_output=True, text=True, timeout=60, errors="replace"
    )
    assert not done.stderr
    return done


def record(folder: Path, library: str, place: Path, *words: str, **more: str) -> tuple[RecordedLaunch, ...]:
    assert run(folder, library, place, *words, **more).returncode == 0
    return launch_recorder.read(place)


def test_threads_that_launch_at_once_are_in_one_record(folder: Path, library: str, tmp_path: Path) -> None:
    found = record(folder, library, tmp_path / "out", "threads")
    assert [each.number for each in found] == list(range(160)) and {each.status for each in found} == {0}
    assert all(each.image and len(each.parameters) == 3 for each in found)


def test_a_forked_child_launches_and_leaves_the_record_alone(folder: Path, library: str, tmp_path: Path) -> None:
    assert [each.status for each in record(folder, library, tmp_path / "out", "fork")] == [0, 0]


def test_a_process_that_becomes_another_program_makes_another_record(
    folder: Path, library: str, tmp_path: Path
) -> None:
    found = record(folder, library, tmp_path / "out", "exec")
    assert [each.number for each in found] == [0, 0, 1] and len({each.process for each in found}) == 2
    assert all((tmp_path / "out" / each.image).exists() for each in found)


@pytest.mark.parametrize("word", ["file", "gone"])
def test_a_module_s_file_is_kept_as_it_was(folder: Path, library: str, tmp_path: Path, word: str) -> None:
    """A script that named the file itself would look for it beside the script."""
    source = tmp_path / "kernels.ptx"
    source.write_text(".version 8.0 // from a file")
    launch = record(folder, library, tmp_path / "out", word, str(source))[0]
    assert (tmp_path / "out" / launch.image).read_text() == ".version 8.0 // from a file"
    assert f"FILE = {launch.image!r}" in recorded_launcher(launch) and "/" not in launch.image


def test_a_name_that_is_no_text_ends_no_record(folder: Path, library: str, tmp_path: Path) -> None:
    found = record(folder, library, tmp_path / "out", "bytes")
    assert [each.kernel for each in found] == ["na\udcffme"] * 2


def test_settings_are_read_once(folder: Path, library: str, tmp_path: Path) -> None:
    """Programs that name their process write over their environment."""
    found = record(folder, library, tmp_path / "out", "overwritten", SHRINK_RECORD_KEEP="1")
    assert [each.status for each in found] == [0, 0] and (tmp_path / "out" / found[1].memory[0].file).is_file()


def test_without_parameters_from_the_driver_there_is_no_script(folder: Path, library: str, tmp_path: Path) -> None:
    launch = record(folder, library, tmp_path / "out", "once", driver="old")[0]
    with pytest.raises(NoLauncher, match="an argument is not in the record"):
        recorded_launcher(launch)


def test_what_goes_into_a_graph_did_not_end_well(folder: Path, library: str, tmp_path: Path) -> None:
    (launch,) = record(folder, library, tmp_path / "out", "graph")
    assert launch.captured and not launch.memory[0].fill


def test_an_error_from_before_is_not_the_launch_s(folder: Path, library: str, tmp_path: Path) -> None:
    (launch,) = record(folder, library, tmp_path / "out", "before")
    assert (launch.how, launch.status) == ("late", 700)
    with pytest.raises(NoLauncher, match="the error was there before it"):
        recorded_launcher(launch)


def test_addresses_in_memory_are_old_ones_in_the_script(folder: Path, library: str, tmp_path: Path) -> None:
    plain, nested = (record(folder, library, tmp_path / word, word)[0] for word in ("once", "nested"))
    assert (outdated(plain), outdated(nested)) == (0, 1)


def test_room_that_the_machine_has_not_changes_nothing(folder: Path, library: str, tmp_path: Path) -> None:
    """A size whose double is small is refused as it is without room; so is no launch that fits as asked for."""
    room = {"SHRINK_ROOM_MEMORY": "2", "SHRINK_ROOM_SHARED": "2"}
    done = run(folder, library, tmp_path / "out", "room", **room)
    assert done.returncode == 0 and done.stdout.startswith("2\nfill 2 64 500:")


def test_a_launch_of_nothing_is_the_driver_s_to_refuse(folder: Path, library: str, tmp_path: Path) -> None:
    assert run(folder, library, tmp_path / "out", "nothing").returncode == 1


def test_a_program_without_a_driver_finds_none(folder: Path, tmp_path: Path) -> None:
    library = str(launch_recorder.library(folder))
    assert run(folder, library, tmp_path / "out", client="absent").stdout == "00\n"
    assert not list((tmp_path / "out").iterdir())


def test_a_folder_that_the_linker_cannot_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="XDG_CACHE_HOME"):
        launch_recorder.library(tmp_path / "a blank")


def test_a_line_that_was_cut_in_the_middle_costs_no_other(folder: Path, tmp_path: Path) -> None:
    library = str(launch_recorder.library(folder))
    (first, second) = record(folder, library, tmp_path / "out", "once")
    (path,) = (tmp_path / "out").glob("launches.*.jsonl")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], lines[1][:90] + "\n", *lines[2:]]))
    assert launch_recorder.read(tmp_path / "out") == (second,) and first.number == 0

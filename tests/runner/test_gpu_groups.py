"""On which GPUs runs go: those of a driver of the tests', which shows four, and of which some are sick."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from shrinkray_gpu.cells.cell import SICK
from shrinkray_gpu.cells.sick_gpu import checked
from shrinkray_gpu.device import gpus
from shrinkray_gpu.errors import SickDevice
from shrinkray_gpu.runner.gpu_groups import FIRST, GpuGroups, grouped, usable
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Failure, Run

DRIVER = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static const char *at(void) { const char *seen = getenv("CUDA_VISIBLE_DEVICES"); return seen ? seen : ""; }
static int sick(void) { const char *sick = getenv("SICK"); return *at() && sick && strstr(sick, at()) != 0; }
int cuInit(unsigned flags) { return 0; }
int cuDeviceGetCount(int *count) { *count = 4; return 0; }
int cuDeviceGetName(char *name, int size, int device) {
    const char *odd = getenv("ODD");
    strcpy(name, odd && atoi(odd) == device ? "NVIDIA A100" : "NVIDIA H100");
    return 0;
}
int cuDeviceGetUuid_v2(unsigned char *own, int device) { memset(own, device, 16); return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { return sick() ? 999 : 0; }
int cuCtxSetCurrent(void *context) { return 0; }
int cuMemAlloc_v2(unsigned long long *memory, size_t size) { return 0; }
int cuMemsetD8_v2(unsigned long long memory, unsigned char value, size_t size) { return 0; }
int cuCtxSynchronize(void) { return 0; }
int cuMemcpyDtoH_v2(void *host, unsigned long long memory, size_t size) { memset(host, 7, size); return 0; }
"""
NAMES = tuple(f"GPU-{'-'.join(f'0{n}' * length for length in (4, 2, 2, 2, 6))}" for n in range(4))


@pytest.fixture(autouse=True)
def driver(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("driver")
    (folder / "driver.c").write_text(DRIVER)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "libcuda.so.1", "driver.c"], cwd=folder, check=True)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for node in ("nvidiactl", "nvidia0", "nvidia1"):
        (folder / node).touch()
    monkeypatch.setattr(gpus, "DEVICES", folder)


def test_each_gpu_has_a_name_of_its_own_and_only_those_like_the_first_are_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    assert usable(os.environ, None, told.append) == (NAMES, False)
    assert usable(os.environ, 2, told.append) == (NAMES[:2], True)
    assert told == []
    monkeypatch.setenv("ODD", "1")
    assert usable(os.environ, None, told.append) == ((NAMES[0], *NAMES[2:]), True)
    assert told == ["not used: NVIDIA A100, since verdicts may differ from those of the NVIDIA H100"]
    assert usable(os.environ, 7, told.append)[0] == (NAMES[0], *NAMES[2:]) and told[-1] == "--gpus 7: there are 3"


def test_one_gpu_is_not_asked_for_and_parts_of_one_are_as_they_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gpus.visible({"CUDA_VISIBLE_DEVICES": "2"}) == []
    assert gpus.visible({"CUDA_VISIBLE_DEVICES": "MIG-a, MIG-b"}) == [("MIG-a", ""), ("MIG-b", "")]
    (tmp_path / "nvidia0").touch()
    monkeypatch.setattr(gpus, "DEVICES", tmp_path)
    assert gpus.visible(os.environ) == []


def test_a_sick_gpu_is_left_out_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setenv("SICK", NAMES[2])
    assert usable(os.environ, None, told.append) == ((*NAMES[:2], NAMES[3]), True)
    why = "cuDevicePrimaryCtxRetain gives error 999: it is sick and gets no more runs, 3 left"
    assert told == [f"{NAMES[2]}: {why}"]
    monkeypatch.setenv("SICK", ",".join(NAMES))
    with pytest.raises(SickDevice, match=r"no healthy GPU is left: GPU-00.*error 999; GPU-.*Reset it or take"):
        usable(os.environ, None, told.append)


def test_groups_have_as_many_as_the_program_needs() -> None:
    assert grouped(NAMES, 1) == NAMES
    assert grouped("abcde", 2) == ("a,b", "c,d")
    assert grouped("abc", 3) == ("a,b,c",)


def test_runs_go_where_the_fewest_are_and_one_after_another_to_the_same() -> None:
    groups = GpuGroups(["a", "b"])
    with groups.one() as first:
        assert first == "a"
        with groups.one() as second, groups.one() as third:
            assert (second, third) == ("b", "a")
    with groups.one() as again:
        assert again == "a"
    assert GpuGroups().names == (FIRST,)


OK, LOST = Run("fork", 0), Run("fork", 1, failure=Failure("RuntimeError", "No CUDA GPUs are available"))


def test_a_run_on_a_gpu_that_proves_sick_is_made_on_another_and_nothing_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    groups = GpuGroups(NAMES[:2], told.append)
    assert groups.run(lambda group: LOST) is LOST and len(groups) == 2  # the GPU is well: the program is not
    monkeypatch.setenv("SICK", NAMES[0])
    monkeypatch.setattr("shrinkray_gpu.runner.gpu_groups.TRUSTED", 0.0)
    seen: list[str] = []

    def made(group: str) -> Run:
        seen.append(group)
        return LOST if group == NAMES[0] else OK

    assert groups.run(made) is OK
    assert seen == [NAMES[0], NAMES[1]] and groups.names == NAMES[1:2] and "1 left" in told[0] and len(told) == 1
    monkeypatch.setenv("SICK", ",".join(NAMES))
    assert groups.run(lambda group: LOST) is LOST  # the last one stays: others tell that nothing answers


def test_two_runs_hear_of_one_sick_gpu_and_it_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SICK", NAMES[0])
    told: list[str] = []
    groups, both = GpuGroups(NAMES[:3], told.append), threading.Barrier(2)

    def made(group: str) -> Run:
        if group == NAMES[0]:
            both.wait(30)
            return LOST
        return OK

    found: list[Run] = []
    monkeypatch.setattr(groups, "_runs", {NAMES[0]: -9, NAMES[1]: 0, NAMES[2]: 0})  # both begin on the first
    threads = [threading.Thread(target=lambda: found.append(groups.run(made))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [OK, OK] and len(told) == 1


def test_a_doubtful_row_is_made_again_without_the_sick_gpu_and_counts_on_well_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    doubtful, groups = {"status": "fixed"}, GpuGroups(NAMES[:2], told.append)
    assert checked(doubtful, groups, lambda: pytest.fail("both are well")) == doubtful
    monkeypatch.setenv("SICK", NAMES[1])
    monkeypatch.setattr("shrinkray_gpu.runner.gpu_groups.TRUSTED", 0.0)
    assert checked(doubtful, groups, lambda: {"status": "still faults"}) == {"status": "still faults"}
    assert groups.names == NAMES[:1] and len(told) == 1
    monkeypatch.setenv("SICK", ",".join(NAMES))
    why = f"{NAMES[0]}: cuDevicePrimaryCtxRetain gives error 999"
    assert checked(doubtful, groups, lambda: {}) == {"status": "fixed", SICK: why}


def test_a_pool_runs_its_candidates_on_each_gpu_and_goes_on_without_a_sick_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "import os\nname = os.environ['CUDA_VISIBLE_DEVICES']\nprint(name)\n"
    told: list[str] = []
    setup = Setup(sys.executable, dict(os.environ), (), own=(), scratch=str(tmp_path))
    groups = GpuGroups(NAMES[:2], told.append)
    pool = Pool(Script(tmp_path / "script.py", cwd=tmp_path), setup, mode="fork", jobs=2, seconds=30, groups=groups)
    with closing(pool):
        pool.start(text)
        assert [pool.run(text).stdout.strip(), pool.cold(text).stdout.strip()] == [NAMES[0]] * 2
        with groups.one():
            assert pool.run(text).stdout.strip() == NAMES[1]
        monkeypatch.setenv("SICK", NAMES[0])
        lost = f"{text}if name == {NAMES[0]!r}: raise RuntimeError('No CUDA GPUs are available')\n"
        assert pool.run(lost).stdout.strip() == NAMES[1] and groups.names == NAMES[1:2]
        assert pool.cold(text).stdout.strip() == NAMES[1]
        beside = pool.beside(1).leaving_open(())
        assert beside.run(text).stdout.strip() == NAMES[1]  # another view of the same lanes

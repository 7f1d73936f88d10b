"""What a run that is stopped at its time limit was doing: real processes, and a stand-in for the driver alone."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import types
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.runner import knob_settings, lanes
from shrinkray_gpu.runner.inside.launches.launch_log import LaunchLog
from shrinkray_gpu.runner.inside.process import watchdog, wire
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script

DRIVER = """
#include <stdlib.h>
#include <unistd.h>
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *device, int index) { *device = index; return 0; }
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) { *active = 1; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = context; return 0; }
int cuCtxSetCurrent(void *context) { return 0; }
int cuCtxGetCurrent(void **context) { *context = context; return 0; }
int cuCtxSynchronize(void) {
    while (getenv("GPU_HANGS")) pause();
    if (getenv("GPU_BUSY")) sleep(2);
    return 0;
}
"""
"""Stands in for libcuda: as blocking as the real one while a kernel does not end, or takes its time."""

GPU = """
import ctypes, sys
sys.modules["shrinkray_inside.process.device"].is_initialised = lambda: True  # this process uses a GPU
kernel = type("Kernel", (), {"name": "spin", "hash": "h"})
sys.modules["shrinkray_inside.launches.launch_log"]._active.launching(kernel, (2, 1, 1), (7,))  # Triton launches
"""

WAITS = 'ctypes.CDLL("libcuda.so.1").cuCtxSynchronize()\n'
LOOPS = "while True: pass\n"


def make(folder: Path, *, tell: bool = True, environment: dict[str, str] | None = None, **setup: object) -> Pool:
    environment = {**os.environ, **(environment or {})}
    options = Setup(sys.executable, environment, (), (str(folder),), str(folder), **setup)  # type: ignore[arg-type]
    return Pool(Script(folder / "script.py", cwd=folder, tell=tell), options, mode="fork", jobs=1, seconds=0.8, extra=0)


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Pool]:
    made = make(tmp_path)
    made.start("")
    yield made
    made.close()


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a libcuda.so.1 in it."""
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler for the stand-in driver")
    folder = tmp_path_factory.mktemp("driver")
    (folder / "cuda.c").write_text(DRIVER)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "libcuda.so.1", folder / "cuda.c"], check=True)
    return str(folder)


@pytest.mark.parametrize("source", [LOOPS, "import threading; threading.Event().wait()"])
def test_an_endless_loop_and_a_deadlock_are_the_host_s(pool: Pool, source: str) -> None:
    for run in (pool.run(source), pool.cold(source)):
        assert (run.timed_out, run.hanging, run.trouble) == (True, "host", "")


def test_what_was_printed_before_the_hang_is_kept(pool: Pool) -> None:
    run = pool.run(f"print('before', flush=True)\n{LOOPS}")
    assert (run.stdout, run.hanging) == ("before\n", "host")


def test_nobody_asks_where_nobody_wants_to_know(tmp_path: Path) -> None:
    silent = make(tmp_path, tell=False)
    try:
        run = silent.run(LOOPS)
    finally:
        silent.close()
    assert (run.timed_out, run.hanging) == (True, "")


@pytest.mark.parametrize(
    ("waits", "hangs", "expected"),
    [
        (WAITS, True, "device"),
        (LOOPS, True, "device"),  # launched and never waited for, while the host polls
        (LOOPS, False, "host"),
        ("", True, "left"),  # the script ends without waiting: our own question to the driver is what waits
    ],
)
def test_a_kernel_that_does_not_end_is_the_device_s(
    tmp_path: Path, driver: str, waits: str, hangs: bool, expected: str
) -> None:
    chosen = {"LD_LIBRARY_PATH": driver, **({"GPU_HANGS": "1"} if hangs else {})}
    playing = make(tmp_path, environment=chosen)
    playing.start("")
    try:
        run = playing.cold(GPU + waits) if waits == WAITS else playing.run(GPU + waits)
    finally:
        playing.close()
    assert (run.timed_out, run.hanging, run.exit) == (True, expected, None)
    assert [(launch.kernel, launch.grid) for launch in run.launches] == [("spin", (2, 1, 1))]


def test_a_driver_that_cannot_be_asked_leaves_it_unknown(tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_text("not a library")
    playing = make(tmp_path, environment={"LD_LIBRARY_PATH": str(tmp_path)})
    try:
        run = playing.run(GPU + LOOPS)
    finally:
        playing.close()
    assert (run.timed_out, run.hanging, run.launches[0].kernel) == (True, "", "spin")


def test_a_process_that_cannot_answer_leaves_it_unknown(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "ANSWER", 0.3)
    run = pool.run("import re; re.match('(a+)+$', 'a' * 60 + 'b')  # never lets go of the interpreter")
    assert (run.timed_out, run.hanging) == (True, "")


def test_a_reused_lane_is_left_as_it_was_found(tmp_path: Path) -> None:
    reusing = make(tmp_path, reuse=True)
    reusing = reusing.on(replace(reusing.terms, seconds=20))
    look = "import os, threading; print(os.getpid(), threading.active_count(), len(os.listdir('/proc/self/fd')))"
    try:
        runs = [reusing.run(look) for _ in range(4)]
    finally:
        reusing.close()
    assert len({run.stdout for run in runs}) == 1 and runs[0].stdout.split()[1] == "1"
    assert [run.fresh for run in runs] == [True, False, False, False]


def test_a_script_that_joins_all_threads_ends(pool: Pool) -> None:
    pool = pool.on(replace(pool.terms, seconds=20))
    source = (
        "import threading\nfor one in threading.enumerate():\n"
        "    if one is not threading.current_thread(): one.join()\nprint('ended')"
    )
    assert pool.run(source).stdout == "ended\n"


def test_the_virtual_gpu_runs_no_kernel_so_the_host_hangs(tmp_path: Path) -> None:
    source = (
        "import sys, torch, triton\nimport triton.language as tl\n\n@triton.jit\ndef one(x):\n    tl.store(x, 1.0)\n\n"
        'watch = sys.modules["shrinkray_inside.launches.launch_log"]._active\nprint(watch.enqueued is None)\n'
        'one[(3,)](torch.zeros(1, device="cuda"))\nprint(watch.enqueued > 0, flush=True)\n'
    )
    virtual = make(tmp_path, arch=90, environment={"TRITON_CACHE_DIR": str(tmp_path / "triton")})
    virtual.start(source)
    virtual = virtual.on(replace(virtual.terms, seconds=60))
    try:
        assert virtual.run(source).exit == 0, "and the kernel is compiled, so that the limit can be a short one"
        virtual = virtual.on(replace(virtual.terms, seconds=3))
        run = virtual.run(source + LOOPS)
    finally:
        virtual.close()
    assert (run.stdout, run.timed_out, run.hanging) == ("True\nTrue\n", True, "host")
    assert [(launch.kernel, launch.grid[0]) for launch in run.launches] == [("one", 3)]
    assert run.compiles[0].kernel == "one" and run.compiles[0].hash


def test_once_it_has_ended_the_link_is_the_lane_s_again() -> None:
    tool, lane = socket.socketpair()
    with tool, lane:
        watchdog.Watchdog(lane, LaunchLog(frozenset())).end()
        wire.send(tool, {"source": "the next candidate"})
        assert wire.receive(lane) == ({"source": "the next candidate"}, [])


def test_the_answer_names_the_line_of_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    script = types.ModuleType("__main__")
    script.__file__ = __file__
    monkeypatch.setitem(sys.modules, "__main__", script)
    tool, lane = socket.socketpair()
    log = LaunchLog(frozenset())
    log.launching(types.SimpleNamespace(name="one", hash="h"), (1,), (64,))
    with tool, lane:
        dog = watchdog.Watchdog(lane, log)
        here = sys._getframe().f_lineno
        wire.send(tool, {"tell": True})
        answer, _ = wire.receive(tool)  # as busy as a script can be
        dog.end()
    assert answer["hanging"] == "host"
    assert here < answer["line"] <= here + 2
    assert answer["launches"][0]["args"] == ["i32 64"]


def test_an_endless_loop_of_launches_is_told_in_few_words(pool: Pool) -> None:
    launch = GPU.splitlines()[-1]
    source = GPU.replace(".is_initialised = lambda: True", ".is_initialised = lambda: False") + "kernel.name = 'fill'\n"
    run = pool.run(f"{source}while True:\n    {launch}\n")
    kernels = [each.kernel for each in run.launches]
    assert run.hanging == "host"
    assert kernels[0] == "spin" and set(kernels[1:]) == {"fill"} and len(kernels) == watchdog.LAST + 2


def with_time_for_imports(folder: Path, driver: str, *, hangs: bool) -> Pool:
    """As for `hang:0.5`, where a cold process has a minute for its imports."""
    made = make(folder, environment={"LD_LIBRARY_PATH": driver, **({"GPU_HANGS": "1"} if hangs else {})})
    return made.on(replace(made.terms, seconds=0.5, extra=59.5))


LAUNCHED = (
    GPU + 'sys.modules["shrinkray_inside.launches.launch_log"]._active.enqueued = __import__("time").monotonic()\n'
)
SLOW = 'import subprocess\nsubprocess.run(["sleep", "1"])\n'
"""Work of the host, in a process of its own so that ours is as idle as can be."""


@pytest.mark.parametrize("waits", [WAITS, LOOPS, ""], ids=["waits for it", "polls", "ends without waiting"])
def test_a_cold_process_whose_kernel_hangs_is_not_given_the_time_for_imports(
    tmp_path: Path, driver: str, waits: str
) -> None:
    run = with_time_for_imports(tmp_path, driver, hangs=True).cold(SLOW + LAUNCHED + waits)
    assert (run.timed_out, run.exit, run.mode) == (True, None, "cold")
    assert run.hanging == ("device" if waits else "left")
    assert [launch.kernel for launch in run.launches] == ["spin"]
    assert run.seconds > 1 + 0.5, "the limit counts from the launch, not from the start"
    assert run.seconds < 59


@pytest.mark.parametrize(
    "source",
    [SLOW, LAUNCHED + SLOW, LAUNCHED + SLOW + LAUNCHED + SLOW],
    ids=["before a launch", "after it", "between two"],
)
def test_a_slow_host_in_a_cold_process_does_not_hang(tmp_path: Path, driver: str, source: str) -> None:
    run = with_time_for_imports(tmp_path, driver, hangs=False).cold(source + "print('ended')")
    assert (run.timed_out, run.exit, run.stdout) == (False, 0, "ended\n")


def test_a_kernel_that_hangs_after_a_good_one_is_counted_from_its_own_launch(tmp_path: Path, driver: str) -> None:
    source = f"import os\n{LAUNCHED}{SLOW}os.environ['GPU_HANGS'] = '1'\n{LAUNCHED}{WAITS}"
    run = with_time_for_imports(tmp_path, driver, hangs=False).cold(source)
    assert (run.timed_out, run.hanging, len(run.launches)) == (True, "device", 2)
    assert 1 + 0.5 < run.seconds < 59


def test_a_host_that_hangs_has_all_the_time_there_is(tmp_path: Path, driver: str) -> None:
    pool = with_time_for_imports(tmp_path, driver, hangs=False)
    pool = pool.on(replace(pool.terms, extra=1.5))
    run = pool.cold(LAUNCHED + LOOPS)
    assert (run.timed_out, run.hanging) == (True, "host")
    assert run.seconds >= 0.5 + 1.5


def test_a_way_with_a_worker_of_its_own_is_not_given_that_time_either(tmp_path: Path, driver: str) -> None:
    pool = with_time_for_imports(tmp_path, driver, hangs=True)
    try:
        run = pool.run(LAUNCHED + WAITS, way=knob_settings.parse_setting("OTHER=1"))
    finally:
        pool.close()
    assert (run.timed_out, run.hanging, run.mode) == (True, "device", "fork")
    assert run.seconds < 59

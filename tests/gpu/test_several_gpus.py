"""On a host with two GPUs or more: a fault is seen on whichever, and what is run on a lost one is run elsewhere."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from shrinkray_gpu.device import gpus
from shrinkray_gpu.runner.gpu_groups import GpuGroups
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script

pytestmark = pytest.mark.gpu
LOST = "GPU-00000000-0000-0000-0000-000000000000"
LATE = """
import torch, triton, triton.language as tl

@triton.jit
def store(out, far):
    tl.store(out + far, 1)

first = torch.empty(1, device="cuda:0")
with torch.cuda.device(1):
    store[(1,)](torch.empty(1, dtype=torch.int32, device="cuda:1"), 1 << 40)
"""
WELL = "import torch\nprint(torch.ones(4, device='cuda').sum().item(), torch.cuda.device_count())\n"


@pytest.fixture(scope="module")
def names() -> list[str]:
    found = [name for name, _ in gpus.visible(os.environ)]
    if len(found) < 2:
        pytest.skip("needs two GPUs")
    return found


def opened(folder: Path, groups: GpuGroups, jobs: int) -> Pool:
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "cache")}
    setup = Setup(sys.executable, environment, ("torch", "triton"), own=(), scratch=str(folder), warm=True, reuse=True)
    return Pool(Script(folder / "script.py", cwd=folder), setup, mode="fork", jobs=jobs, seconds=60, groups=groups)


def test_a_fault_on_the_second_gpu_is_seen_though_the_script_went_back_to_the_first(
    tmp_path: Path, names: list[str]
) -> None:
    with closing(opened(tmp_path, GpuGroups([",".join(names[:2])]), 1)) as pool:
        run = pool.run(LATE)
        assert (run.driver_error, run.gpus) == (700, 2), run
        assert pool.run(WELL).stdout == "4.0 2\n"


def test_runs_are_on_each_gpu_and_what_a_lost_one_was_given_is_run_elsewhere(tmp_path: Path, names: list[str]) -> None:
    told: list[str] = []
    groups = GpuGroups([names[0], LOST, names[1]], told.append)
    with closing(opened(tmp_path, groups, 6)) as pool:
        pool.start(WELL)
        with ThreadPoolExecutor(6) as threads:
            runs = list(threads.map(lambda _: pool.run(WELL), range(24)))
    assert [run.stdout for run in runs] == ["4.0 1\n"] * 24, [run for run in runs if run.stdout != "4.0 1\n"][:1]
    assert groups.names == (names[0], names[1]) and len(told) == 1 and LOST in told[0]

"""Core dumps of runs in lanes: each faulting run leaves one, whole, before its lane is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrinkray_gpu.evidence import dump_runs
from shrinkray_gpu.evidence.dump_runs import LaneDumps
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.same_fault.checkpoints import Checkpoints
from tests.e2e.command import environment, shrink

pytestmark = pytest.mark.gpu

SHORT = """\
import torch, triton, triton.language as tl

@triton.jit
def odd(x):
    tl.store((x.to(tl.int64) + 2).to(tl.pointer_type(tl.int32)), 1)

x = torch.zeros(64, dtype=torch.int32, device="cuda")
odd[(1,)](x)
torch.cuda.synchronize()
"""
CORPUS = Path(__file__).parents[2] / "corpus/tma_misaligned/repro_tma_misaligned.py"
PROGRAMS = Path(__file__).parents[2] / "benchmarks/programs"
FAULTS = {
    "descriptor": (CORPUS, "UTMALDG"),
    "misaligned": (PROGRAMS / "vector_hint/smallest.py", "LDG"),
    "assertion": (PROGRAMS / "beam_assert/smallest.py", ""),
}
GONE = [PROGRAMS / "strided_gather/smallest.py", PROGRAMS / "embedding_cache_overflow/smallest.py"]
"""A kernel that ends with its bad store: the warp is gone when the exception comes."""


@pytest.fixture(scope="module")
def lanes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LaneDumps]:
    folder = tmp_path_factory.mktemp("dumps")
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "cache"), "PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
    scratch, imports = str(folder), ("torch", "triton")
    setup = Setup(sys.executable, environment, imports, (), scratch, (scratch,), warm=True, reuse=True)
    pool = Pool(Script(folder / "script.py", cwd=folder), setup, mode="fork", jobs=4, seconds=30)
    made = dump_runs.in_lanes(pool)
    if made is None:
        pytest.skip("needs cuda-gdb")
    made.prepare(0)
    yield made
    pool.close()


@pytest.mark.parametrize("case", FAULTS)
def test_a_dump_tells_of_each_fault(lanes: LaneDumps, case: str) -> None:
    """Of an assertion not each time: once in three runs of this, on an H100. Then a cold process is asked."""
    path, instruction = FAULTS[case]
    told = [fault for fault, _ in (lanes.fault(path.read_text()) for _ in range(3)) if fault is not None]
    assert len(told) >= (3 if instruction else 2) and all(
        fault.kernel and instruction in fault.instruction for fault in told
    ), told


@pytest.mark.parametrize("path", GONE, ids=lambda path: path.parent.name)
def test_where_no_dump_can_be_read_the_other_instruments_tell(lanes: LaneDumps, path: Path) -> None:
    """cuda-gdb of CUDA 13 dies of the dump of a kernel whose warps are gone; sometimes they are not."""
    text = path.read_text().replace("2**28", "2**38")  # 1 GB on, a lane may have memory of its own
    fault = Checkpoints(lanes.pool.setup, 60.0, lanes).fault(text, lanes.pool.script)
    assert fault is not None and fault.instruction and fault.space == "global", fault
    assert not list(Path.cwd().glob("core*"))


def test_what_a_dump_hides_the_repro_still_shows_its_user(tmp_path: Path) -> None:
    """While so short a kernel is dumped, a wait for the GPU ends well, and the original with it."""
    script, repro = tmp_path / "short.py", tmp_path / "repro.py"
    script.write_text(SHORT)
    said = shrink(script, "--oracle", "misaligned address", "--output", repro, cwd=tmp_path)
    assert said.code == 0, said.err
    ended = subprocess.run(
        [sys.executable, str(repro)], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert ended.returncode == 1 and "misaligned address" in ended.stderr, repro.read_text()

"""What the watch tells from inside a lane, whose output goes to pipes, and from a cold process, which imports nothing
before the script does."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script

PROGRAMS = Path(__file__).parents[2] / "programs"
ABORTS = (PROGRAMS / "llvm_abort.py").read_text()
LAST_WORDS = "number of input constraints does not match number of parameters"

COMPILES = """
import os
import sys
assert {imported} == ("triton" in sys.modules), "Triton is imported ahead of the script"
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

@triton.jit
def good(x):
    tl.store(x, 1)

@triton.jit
def bad(x):
    y = tl.inline_asm_elementwise("no.such.instruction $0, $1;", "=r,r", [tl.load(x)], tl.int32, True, 1)
    tl.store(x, y)

print("one")
for kernel in (good, bad):
    triton.compile(ASTSource(kernel, {{"x": "*i32"}}, {{}}), target=GPUTarget("cuda", 80, 32))
"""

LAUNCHES = """
import torch
import triton
import triton.language as tl

@triton.jit
def one(x):
    tl.store(x, 1.0)

one[(1,)](torch.zeros(1, device="cuda"))
"""


SPAWNS = """
import multiprocessing
import tempfile

def answer(queue, place):
    queue.put("{word}:" + str(__file__.startswith(place) and tempfile.gettempdir() == place))

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    child = context.Process(target=answer, args=(queue, tempfile.gettempdir()))
    child.start()
    print(tempfile.gettempdir(), queue.get())
    child.join()
"""


@pytest.fixture(scope="module")
def lanes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    pool = _pool(tmp_path_factory.mktemp("lanes"), None)
    yield pool
    pool.close()


def _pool(folder: Path, arch: int | None) -> Pool:
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "cache")}
    setup = Setup(sys.executable, environment, imports=(), own=(), scratch=str(folder), arch=arch)
    return Pool(Script(folder / "script.py", cwd=folder), setup, mode="fork", jobs=1, seconds=60)


@pytest.mark.parametrize("cold", [False, True])
def test_compilations_are_on_record_with_what_ptxas_said(lanes, cold):
    run = (lanes.cold if cold else lanes.run)(COMPILES.format(imported=not cold))
    assert [(c.kernel, c.failure is None) for c in run.compiles] == [("good", True), ("bad", False)], run.stderr
    assert run.failure is not None and run.failure.type == "triton.runtime.errors.PTXASError"
    said = run.compiles[1].printed
    assert "no.such.instruction" in said or "Not a name of any known instruction" in said
    assert run.compiles[0].printed == ""
    assert run.stdout == "one\n" + said  # nothing lost, nothing twice


@pytest.mark.parametrize("cold", [False, True])
def test_triton_has_read_itself_before_the_lanes_are_forked(lanes, cold):
    """Each of them would hash all of libtriton at its first compile."""
    source = "import triton\nfrom triton.runtime.cache import triton_key\nprint(triton_key.cache_info().currsize)"
    assert (lanes.cold if cold else lanes.run)(source).stdout == ("0\n" if cold else "1\n")
    assert not lanes.start(source)["spoilt"]


@pytest.mark.parametrize("arch", [None, 90])
def test_a_child_that_is_spawned_reads_the_candidate_in_the_folder_of_the_run(tmp_path, arch):
    pool = _pool(tmp_path, arch)
    for word in ("one", "two"):
        run = pool.run(SPAWNS.format(word=word))
        place, said = run.stdout.split()
        assert (said, Path(place).parent) == (f"{word}:True", tmp_path), run.stderr
    pool.close()


@pytest.mark.parametrize("cold", [False, True])
def test_the_last_words_of_a_compiler_that_aborts_reach_standard_error(lanes, cold):
    run = (lanes.cold if cold else lanes.run)(ABORTS)
    assert (run.signal, run.trouble) == (6, "")
    assert LAST_WORDS in run.stderr and run.stdout.startswith("False 256 0\n")


def test_a_cold_process_on_the_virtual_gpu_tells_its_launches(tmp_path):
    run = _pool(tmp_path, 90).cold(LAUNCHES)
    assert [(x.kernel, x.grid) for x in run.launches] == [("one", (1,))], run.stderr
    assert [c.kernel for c in run.compiles] == ["one"]
    later = _pool(tmp_path, 90).cold("import sys\n\n\n\n" + LAUNCHES)
    assert later.compiles == run.compiles  # the kernel's line is fixed there too

"""Kernels of extensions alone, on a real GPU: which script is taken, how often it shows the fault, what a try costs,
and whether dry runs compile there.

Nothing is searched. 60 s each on 16 cores; what was taken lies in $OUT/alone.
"""

from __future__ import annotations

import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu import start as lifting
from shrinkray_gpu.device import gpus
from shrinkray_gpu.evidence import dump_runs
from shrinkray_gpu.job.asked import building, oracle_of, program_of, setup_of
from shrinkray_gpu.job.ready import user_program
from shrinkray_gpu.options import Options
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.pool import Pool, Script

pytestmark = pytest.mark.gpu

ORIGINALS = Path(__file__).parent / "cuda"
OUT = Path(os.environ.get("OUT", "build/gpu")).absolute() / "alone"


@pytest.mark.parametrize(
    ("name", "oracle", "argv"),
    [
        ("fa_intermittent_misaligned", "misaligned address", ()),
        ("wmma_local_memory", "sanitizer:memcheck:Trace/breakpoint trap", ("--profile",)),
    ],
)
def test_its_kernel_alone_shows_the_fault(name: str, oracle: str, argv: tuple[str, ...]) -> None:
    path = ORIGINALS / f"{name}.py"
    chosen, options = oracle_of(Options(oracle=(oracle,), argv=argv, jobs=8))
    program = program_of(path, options)
    # In /tmp itself: compute-sanitizer's sockets want a short path.
    with tempfile.TemporaryDirectory(prefix="alone-", dir="/tmp") as folder:
        setup = setup_of(path, Path(folder), options)
        given = user_program(path, program, options, chosen, setup, print)
        with Journal.open(Path(folder), original=program, seed=0, width=6, settings={}) as journal:
            begun = time.monotonic()
            start = lifting.begin(given, journal, print)
        try:
            print(f"{name}: {time.monotonic() - begun:.1f} s, tries {dict(start.tries)}\n{start.told}")
            OUT.mkdir(parents=True, exist_ok=True)
            (OUT / f"{name}.py").write_text(start.program.text)
            assert start.bare, start.told
            assert start.oracle is not None and start.lanes is not None
            print(f"{sum(start.oracle.judge(run).faults for run in start.seen)} of {len(start.seen)} runs show it")
            pool = start.lanes.cheapest(given.chosen)
            if not oracle.startswith("sanitizer"):
                assert pool.mode == "fork", "torch.utils.cpp_extension asks how many GPUs there are: no harm to a fork"
                quick = dump_runs.in_lanes(pool)
                assert quick is not None
                for _ in range(2):  # the first brings up its worker
                    at = time.monotonic()
                    seen, _ = quick.fault(start.program.text)
                    print(f"a core dump in a lane: {time.monotonic() - at:.2f} s, {seen}")
                    assert seen is not None and seen.instruction
            for what, text in (("again", start.program.text), ("an edit of Python", f"{start.program.text}print()\n")):
                at = time.monotonic()
                run = pool.run(text, fresh=True)
                print(f"{what}: {time.monotonic() - at:.2f} s, {start.oracle.judge(run).why}")
        finally:
            if start.lanes is not None:
                start.lanes.close()


FILLS = """
import faulthandler, sys
faulthandler.dump_traceback_later(15, file=sys.__stderr__)  # where it waits, if it does
import torch
kernel = torch.cuda._compile_kernel("__global__ void fill(float* x) { x[threadIdx.x] = %d; }", "fill")
kernel((1, 1, 1), (32, 1, 1), [torch.zeros(32, device="cuda")])
"""


def test_dry_runs_compile_beside_a_driver(tmp_path: Path) -> None:
    """NVRTC would start it, and a forked child then waits until its time is over. The environment of an extension, too,
    has our site in it, whose compiler must not wait for itself."""
    path = tmp_path / "fills.py"
    with tempfile.TemporaryDirectory(prefix="dry-", dir="/tmp") as folder:
        extension = Program.from_text("from torch.utils import cpp_extension\n", path.name)
        setup = building(extension, setup_of(path, Path(folder), Options(oracle=("misaligned address",))))
        imports = ("torch", "triton", "torch.utils.cpp_extension")
        setup = replace(setup, imports=imports, arch=gpus.capability(), warm=False, reuse=False)
        pool = Pool(Script(path, cwd=tmp_path, asserts=False), setup, mode="virtual", jobs=4, seconds=30)
        try:
            pool.start(FILLS % 0)
            with ThreadPoolExecutor(4) as threads:
                runs = list(threads.map(lambda number: pool.run(FILLS % number), range(8)))
        finally:
            pool.close()
    for run in runs:
        print(f"{run.seconds:.1f} s, {run.trouble or run.signal or run.timed_out or 'compiled'}")
    for run in runs:
        assert (run.trouble, run.signal, run.timed_out, run.exit) == ("", None, False, 0), run.stderr
        assert [build.failed for build in run.builds] == [False]

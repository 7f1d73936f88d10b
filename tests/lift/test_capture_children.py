"""Launches in child processes of the script are captured: forks, spawned ones, other scripts of the same Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu import lift
from shrinkray_gpu.runner.pool import Pool

FILL = """
import os, sys, torch, triton, triton.language as tl

@triton.jit
def fill(x, n, N: tl.constexpr):
    tl.store(x + tl.arange(0, N), n)

def work(n):
    fill[(n,)](torch.zeros(64, device="cuda"), n, N=32)
"""


@pytest.mark.parametrize(
    ("module", "method"),
    [("multiprocessing", "fork"), ("multiprocessing", "forkserver"), ("torch.multiprocessing", "spawn")],
)
def test_a_process_of_multiprocessing(pool: Pool, module: str, method: str) -> None:
    run = pool.run(
        f"import {module} as mp\\n".replace("\\n", "\n")
        + FILL
        + f"""
if __name__ == "__main__":
    child = mp.get_context("{method}").Process(target=work, args=(7,))
    child.start()
    child.join()
    sys.exit(child.exitcode)
""",
        capture="launch",
    )
    assert run.exit == 0 and run.captured is not None, run.stderr
    [child] = run.captured["children"]
    assert [launch["kernel"] for launch in child["launches"]] == ["fill"]
    assert tuple(child["launches"][0]["grid"])[:1] == (7,)
    # What the script's own process launched is told as ever, and nothing else.
    assert run.launches == ()
    assert "fill[(7,)](x, 7, N=32)" in lift.candidates(run)[0]
    assert run.captured["launches"][0]["process"] == child["process"]


def test_another_script_on_the_virtual_gpu(pool: Pool, folder: Path) -> None:
    """It finds a GPU there, and faults on it as it would in the script's own process."""
    (folder / "other.py").write_text(
        FILL
        + """
@triton.jit
def sums(src, dst, rows, cols, C: tl.constexpr, S: tl.constexpr):
    tiles = tl.make_tensor_descriptor(src, [rows, cols], [cols, 1], [1, C])
    total = tl.zeros([1, C], tl.float32)
    for col in tl.range(0, cols, C, num_stages=S):
        total += tiles.load([tl.program_id(0), col])
    tl.store(dst + tl.program_id(0) + tl.arange(0, 1), tl.sum(total, axis=1))

triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
work(3)
sums[(8,)](torch.ones(8, 64, device="cuda"), torch.ones(8, device="cuda"), 8, 64, C=4, S=4)
torch.cuda.synchronize()
"""
    )
    starts = "import subprocess, sys\nsubprocess.run([sys.executable, 'other.py', '--quick'], check=True)\n"
    plain = pool.run(starts)
    assert plain.children == ("torch.AcceleratorError: CUDA error: misaligned address",), plain.stderr
    run = pool.run(starts, capture="launch")
    assert run.failure is not None and run.failure.type == "subprocess.CalledProcessError"
    assert "misaligned address" in run.stderr and run.captured is not None
    [child] = run.captured["children"]
    assert child["command"][1:] == ["other.py", "--quick"]
    assert [launch["kernel"] for launch in child["launches"]] == ["fill", "sums"]
    assert [compiled["kernel"] for compiled in child["compiles"]] == ["fill", "sums"]
    [faulty] = run.captured["launches"]
    assert faulty["kernel"] == "sums"
    again = pool.run(lift.candidates(run)[0])
    assert again.driver_error == 716 and [launch.kernel for launch in again.launches] == ["sums"]


def test_a_kernel_that_a_child_compiles_only_to_fail(pool: Pool, folder: Path) -> None:
    (folder / "broken.py").write_text(
        FILL.replace("tl.arange(0, N), n", "tl.arange(0, N + 1), n") + 'print("before")\nwork(2)\n'
    )
    run = pool.run("import os, sys\nos.system(sys.executable + ' broken.py')\n", capture="launch")
    assert run.captured is not None and "before" in run.stdout
    [child] = run.captured["children"]
    assert child["launches"] == [] and child["compiles"][0]["failure"]["type"].endswith("CompilationError")
    assert "fill[(2,)](x, 2, N=32)" in lift.candidates(run)[0]


def test_children_see_their_own_sitecustomize_and_path(pool: Pool, folder: Path) -> None:
    """Ours comes first, leaves no trace in sys.path, and hands on."""
    (folder / "site").mkdir(exist_ok=True)
    (folder / "site" / "sitecustomize.py").write_text("FROM = 'the user'\n")
    run = pool.run(
        '''
import os, subprocess, sys
os.environ["PYTHONPATH"] += os.pathsep + os.path.join(os.getcwd(), "site")
show = """
import sys, sitecustomize
print(sitecustomize.FROM, any('captured' in place for place in sys.path), 'torch' in sys.modules)
"""
subprocess.run([sys.executable, "-c", show], check=True)
''',
        capture="launch",
    )
    assert run.stdout.split() == ["the", "user", "False", "False"], run.stderr


def test_children_are_left_alone_where_nothing_is_captured_nor_virtual(pool: Pool) -> None:
    show = "import os, sys; print('SHRINKRAY_CAPTURE' in os.environ, 'shrinkray_inside' in sys.modules)"
    plain = Pool(pool.script, replace(pool.setup, arch=None, imports=()), mode="cold", jobs=1, seconds=60.0)
    run = plain.run(f'import subprocess, sys\nsubprocess.run([sys.executable, "-c", {show!r}], check=True)\n')
    assert run.stdout.split() == ["False", "False"] and run.captured is None

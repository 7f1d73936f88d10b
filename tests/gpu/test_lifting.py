"""Lifting on a real GPU: programs of eleven kinds, each reduced to one short file that shows the same fault.

    python -m pytest -m gpu tests/gpu/test_lifting.py -k helion_matmul -s
    LIFTING_OPTIONS="--jobs 5 --max-time 300" python -m pytest -m gpu -n 3 tests/gpu/test_lifting.py

The two limits in seconds are meant for a GPU with nothing else to do. Without a GPU the last tests still see to it that
the programs get as far as they should on the virtual one.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Run
from tests.gpu.lifting import cases
from tests.gpu.lifting.cases import CASES, HERE, ROOT, Case, Lifted

OPTIONS = shlex.split(os.environ.get("LIFTING_OPTIONS", "--max-time 240"))


@pytest.mark.gpu
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_becomes_one_short_file(case: Case, tmp_path: Path) -> None:
    needs_helion(case)
    lifted = kept(cases.lift(case, tmp_path, *OPTIONS))
    assert lifted.code == 0, lifted.errors
    assert lifted.lines <= case.lines
    assert "NOT the same" not in lifted.told["same"]
    assert case.kernel in lifted.told["fault"] + lifted.told["lifted"]
    assert cases.imports(lifted.told["text"]) <= {"torch", "triton"}
    done = cases.plain(lifted, tmp_path)
    assert cases.faults(case, done), done.stderr[-3000:]
    assert case.seconds is None or lifted.seconds <= case.seconds


def kept(lifted: Lifted) -> Lifted:
    """The same, after a word on standard output and a copy in $OUT, where the device machine wants its files."""
    text = lifted.told.get("text", "")
    print(json.dumps(lifted.summary), lifted.errors, text, sep="\n")
    if out := os.environ.get("OUT"):
        told = {"code": lifted.code, "errors": lifted.errors, "wall": lifted.seconds, **lifted.told}
        Path(out, f"lifting_{lifted.case.name}.json").write_text(json.dumps(told, indent=1))
    return lifted


def needs_helion(case: Case) -> None:
    if case.helion and importlib.util.find_spec("helion") is None:
        pytest.skip("needs helion==1.0.0")


@pytest.mark.parametrize("name", ["helion_matmul", "jsd_generated", "tma_misaligned", "autotuned", "graphed"])
def test_the_virtual_gpu_sees_the_fault(name: str, tmp_path: Path) -> None:
    [case] = [each for each in CASES if each.name == name]
    needs_helion(case)
    run = virtually(case.folder / case.command[0], tmp_path)
    assert run.driver_error == 716, run.stderr
    assert sum(launch.fault != "" for launch in run.launches) == 1


@pytest.mark.parametrize(
    ("name", "args", "launched"),
    [
        ("heavy_setup", "--seconds 0 --gigabytes 0.01", ["norms_kernel", "rescore_kernel"]),
        ("guessed_rows", "", ["mark_kernel", "gather_kernel"]),
        ("history_workspace", "", ["plan_kernel", "gather_kernel"] * 2),
        ("history_specialised", "--repeats 2", ["gain_kernel"] * 4),
    ],
)
def test_on_the_virtual_gpu_the_others_get_to_their_launches(
    name: str, args: str, launched: list[str], tmp_path: Path
) -> None:
    """Nothing there knows where memory ends, so they end well."""
    run = virtually(HERE / f"{name}.py", tmp_path, *args.split())
    assert run.exit == 0, run.stderr
    assert [launch.kernel for launch in run.launches] == launched


def test_the_package_gets_to_its_backward_kernel(tmp_path: Path) -> None:
    tests = "tests/test_attention.py::test_backward"
    text = f"import pytest\nraise SystemExit(pytest.main(['-p', 'no:cacheprovider', '-p', 'no:xdist', {tests!r}]))\n"
    run = virtually(HERE / "package" / "driver.py", tmp_path, text=text)
    assert run.exit == 0, run.stdout + run.stderr
    assert [launch.kernel for launch in run.launches] == ["forward_kernel", "delta_kernel", "backward_kernel"]


def virtually(path: Path, folder: Path, *args: str, text: str | None = None) -> Run:
    """One run on the virtual GPU."""
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "triton"), "PYTHONDONTWRITEBYTECODE": "1"}
    setup = Setup(sys.executable, environment, ("torch", "triton"), own=(str(ROOT),), scratch=str(folder), arch=90)
    script = Script(path, cwd=path.parent, asserts=False, argv=args)
    lanes = Pool(script, setup, mode="virtual", jobs=1, seconds=120)
    try:
        return lanes.run(path.read_text() if text is None else text)
    finally:
        lanes.close()

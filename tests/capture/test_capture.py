"""`SHRINKRAY_GPU=capture`: what a program that nobody prepared leaves of the launch that broke it."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import types
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from shrinkray_gpu.cli.capsule import script_names
from shrinkray_gpu.runner.inside.capsule import hook, ring
from shrinkray_gpu.runner.inside.capsule.capsule_schema import VARIABLE
from shrinkray_gpu.runner.inside.capture import description
from shrinkray_gpu.runner.private_setup import private_setup
from tests.capture import programs
from tests.e2e.command import SHRINK, environment

ROOT = Path(__file__).parents[2]


def run(
    folder: Path, text: str, *, hooked: bool = True, **variables: str
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any] | None]:
    """The program, as its user runs it on a machine with a GPU, and the capsule that it leaves."""
    (folder / "program.py").write_text(text)
    before = set(folder.glob("capsule_*.json"))
    words = ["-m", "shrinkray_gpu.capture"] if hooked else []
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "tests.capture.on_virtual_gpu", *words, "program.py"],
        cwd=folder,
        env={**environment(), "PYTHONPATH": path, **variables},
        capture_output=True,
        text=True,
        timeout=300,
    )
    [*made] = set(folder.glob("capsule_*.json")) - before
    assert len(made) <= 1, made
    return done, json.loads(made[0].read_text()) if made else None


def known(capsule: dict[str, Any]) -> list[tuple[int, str]]:
    return [(launch["number"], launch["record"]["kernel"]) for launch in capsule["launches"]]


@pytest.mark.slow
def test_one_of_a_thousand_launches_is_reduced_without_its_program(tmp_path: Path) -> None:
    """The whole way: the program faults, its capsule is carried to an empty folder and reduced there."""
    here, away = tmp_path / "production", tmp_path / "away"
    here.mkdir(), away.mkdir()
    done, capsule = run(here, programs.WAITS)
    assert done.returncode == 1 and capsule is not None, done.stderr
    assert done.stderr.count("shrink capsule") == 1 and "misaligned address" in done.stderr
    assert (capsule["launches_seen"], capsule["exact"], capsule["error"]["where"]) == (1000, False, "synchronize")
    assert known(capsule)[0] == (1000, "scale") and (903, "jagged") in known(capsule)
    [odd] = [launch for launch in capsule["launches"] if launch["number"] == 903]
    assert (
        odd["times"] == 1
        and {"kind": "value", "name": "shift", "constexpr": False, "text": "3"} in odd["record"]["arguments"]
    )
    [path] = here.glob("capsule_*.json")
    (away / "capsule.json").write_text(path.read_text())
    words = [
        "capsule",
        "capsule.json",
        "--arch",
        "sm_90",
        "--jobs",
        "1",
        "--no-report",
        "--max-time",
        "5",
    ]
    told = subprocess.run([*SHRINK, *words], cwd=away, env=environment(), capture_output=True, text=True, timeout=300)
    assert told.returncode == 0, told.stderr
    assert (
        "capsule.json: torch.AcceleratorError: CUDA error: misaligned address; 1000 launches, 4 of them" in told.stderr
    )
    repro = (away / "repro_capsule_launch903.py").read_text()
    assert "jagged" in repro and "pick" not in repro and "'misaligned address' in 1 of 1 clean runs" in told.stdout


def test_an_error_that_the_program_caught_is_seen_at_the_next_launch(tmp_path: Path) -> None:
    done, capsule = run(tmp_path, programs.CATCHES)
    assert "went on" in done.stdout and capsule is not None, done.stderr
    assert capsule["error"]["where"] == "launch" and "misaligned address" in capsule["error"]["text"]
    assert (6, "jagged") in known(capsule) and not capsule["exact"]
    needs = {launch["record"]["kernel"]: launch["needs_contents"] for launch in capsule["launches"]}
    assert needs == {"scale": [], "pick": ["index"], "jagged": []}


def test_a_kernel_that_does_not_compile_is_known_exactly(tmp_path: Path) -> None:
    done, capsule = run(tmp_path, programs.COMPILES_NOT)
    assert done.returncode == 1 and capsule is not None, done.stderr
    assert capsule["exact"] and known(capsule)[0] == (7, "broken")
    assert capsule["error"]["type"].endswith("CompilationError"), capsule["error"]


@pytest.mark.slow
def test_a_kernel_that_does_not_compile_is_reduced_with_that_very_error(tmp_path: Path) -> None:
    done, capsule = run(tmp_path, programs.COMPILES_NOT)
    assert capsule is not None, done.stderr
    (tmp_path / "capsule.json").write_text(json.dumps(capsule))
    words = "capsule capsule.json --arch sm_90 --jobs 1 --no-report --max-time 5".split()
    told = subprocess.run([*SHRINK, *words], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert "exception:triton.compiler.errors.CompilationError:arange" in told.stdout, told.stdout
    assert "def broken(" in (tmp_path / "repro_capsule_launch7.py").read_text()
    words.append("--resume")
    again = subprocess.run([*SHRINK, *words], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert again.returncode == 0, again.stderr


def test_each_script_of_a_launch_has_a_name_of_its_own() -> None:
    assert script_names([903, 7, 903, 903]) == ["launch903", "launch7", "launch903_2", "launch903_3"]


def test_a_program_without_a_fault_leaves_nothing(tmp_path: Path) -> None:
    done, capsule = run(tmp_path, programs.ALL_WELL)
    assert (done.returncode, done.stdout, done.stderr, capsule) == (0, "well\n", "", None)


def test_a_device_error_without_a_launch_leaves_a_line(tmp_path: Path) -> None:
    done, nothing = run(tmp_path, programs.OF_ITS_OWN)
    assert done.returncode == 1 and nothing is None
    assert "shrinkray_gpu: the device is in an error, and no launch by Triton was seen" in done.stderr


def test_a_line_in_the_program_does_nothing_unless_the_variable_is_set(tmp_path: Path) -> None:
    text = "import shrinkray_gpu.capture\n" + programs.COMPILES_NOT
    quiet, nothing = run(tmp_path, text, hooked=False)
    assert quiet.returncode == 1 and nothing is None and "shrinkray_gpu:" not in quiet.stderr
    done, capsule = run(tmp_path, text, hooked=False, SHRINKRAY_GPU="capture")
    assert done.returncode == 1 and capsule is not None and known(capsule)[0] == (7, "broken")
    odd, nothing = run(tmp_path, text, hooked=False, SHRINKRAY_GPU="on")
    assert nothing is None and "SHRINKRAY_GPU=on is neither capture nor record" in odd.stderr


def test_a_program_that_is_reduced_leaves_none(tmp_path: Path) -> None:
    setup = private_setup(tmp_path, {VARIABLE: "capture", "HOME": "/"}, python=sys.executable, imports=(), own=())
    assert VARIABLE not in setup.environment and setup.environment["HOME"] == "/"


def test_capsules_go_where_they_are_told_to(tmp_path: Path) -> None:
    place = tmp_path / "capsules"
    place.mkdir()
    _, nothing = run(tmp_path, programs.COMPILES_NOT, SHRINKRAY_GPU_CAPSULES=str(place))
    assert nothing is None and len(list(place.iterdir())) == 1
    done, nothing = run(tmp_path, programs.COMPILES_NOT, SHRINKRAY_GPU_CAPSULES=str(tmp_path / "none"))
    assert nothing is None and "no capsule of this error could be written (FileNotFoundError" in done.stderr
    assert done.returncode == 1 and "CompilationError" in done.stderr  # the program's own error is as it was


@pytest.mark.slow
def test_a_second_run_records_what_tensors_hold_and_which_launch_it_was(tmp_path: Path) -> None:
    done, first = run(tmp_path, programs.CATCHES)
    [path] = tmp_path.glob("capsule_*.json")
    first = json.loads(path.read_text())
    first["launches"] = [each for each in first["launches"] if each["record"]["kernel"] != "scale"]
    path.write_text(json.dumps(first))
    done, capsule = run(tmp_path, programs.CATCHES, SHRINKRAY_GPU="record", SHRINKRAY_GPU_CAPSULE=path.name)
    assert capsule is not None and (capsule["mode"], capsule["exact"]) == ("record", True), done.stderr
    assert known(capsule) == [(6, "jagged"), (3, "jagged"), (5, "pick")] or known(capsule)[0] == (6, "jagged")
    tensors = {
        a["name"]: a["content"]
        for launch in capsule["launches"]
        for a in launch["record"]["arguments"]
        if "content" in a
    }
    assert tensors["index"]["kind"] == "arange" and "scale" not in {kernel for _, kernel in known(capsule)}
    assert not any(launch["needs_contents"] for launch in capsule["launches"])


@pytest.mark.slow
def test_the_launches_of_torch_compile_are_captured_and_recorded(tmp_path: Path) -> None:
    done, first = run(tmp_path, programs.COMPILED)
    assert first is not None, done.stderr
    assert "misaligned address" in first["error"]["text"] and not first["exact"]
    odd = [
        launch["number"]
        for launch in first["launches"]
        if launch["record"]["kernel"] == "jagged"
        and any(a["name"] == "shift" and a["text"] == "3" for a in launch["record"]["arguments"])
    ]
    assert len(odd) == 1 and any("softmax" in kernel for _, kernel in known(first))
    [path] = tmp_path.glob("capsule_*.json")
    done, capsule = run(tmp_path, programs.COMPILED, SHRINKRAY_GPU="record", SHRINKRAY_GPU_CAPSULE=path.name)
    assert capsule is not None and capsule["exact"] and known(capsule)[0][1] == "jagged", done.stderr
    words = f"capsule {path.name} --launch {odd[0]} --arch sm_90 --jobs 1 --no-report --max-time 5".split()
    told = subprocess.run([*SHRINK, *words], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    repro = (tmp_path / f"repro_{path.stem}_launch{odd[0]}.py").read_text()
    assert "def jagged(" in repro and "torch.compile" not in repro


@pytest.mark.parametrize(("words", "said"), [((), "which program?"), (("none.py",), "there is no script none.py")])
def test_the_wrong_program_is_told_in_a_line(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    command = [sys.executable, "-m", "shrinkray_gpu.capture", *words]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr


# The ring


def launched(*args: object, grid: object = (1,), **kwargs: object) -> ring.LaunchRing:
    made = ring.LaunchRing()
    run = made.watch(lambda kernel, *args, grid, warmup, **kwargs: "ran", lambda entry, error: None)
    assert run("kernel", *args, grid=grid, warmup=False, **kwargs) == "ran"
    return made


def test_no_tensor_lives_longer_for_it() -> None:
    tensor = torch.zeros(2, 3)
    at = tensor.data_ptr()
    descriptor = types.SimpleNamespace(base=tensor, shape=[2, 3], strides=[3, 1], block_shape=[1, 1])
    gone = weakref.ref(tensor)
    made = launched(tensor, (tensor, 1), descriptor, other=tensor, held=[tensor], odd={"x": tensor})
    del tensor, descriptor
    gc.collect()
    assert gone() is None
    [entry] = made.entries()
    one, several, described = map(ring.facts, entry[ring.ARGS])
    assert (one.shape, one.stride(), one.data_ptr(), one.nbytes()) == ((2, 3), (3, 1), at, 24)
    assert several[1] == 1 and several[0].data_ptr() == at and described.base.data_ptr() == at
    with pytest.raises(TypeError, match="an argument of type builtins.dict is not kept"):
        ring.facts(entry[ring.KWARGS]["odd"])


def test_it_keeps_the_latest_and_the_last_of_each_kernel() -> None:
    made = ring.LaunchRing()
    run = made.watch(lambda kernel, *args, grid, warmup: None, lambda entry, error: None)
    kernels = ["seldom", "often"]
    run(kernels[0], grid=(1,), warmup=False)
    for _ in range(2 * ring.LATEST):
        run(kernels[1], grid=(1,), warmup=False)
    run(kernels[1], grid=(1,), warmup=True)  # compiles only
    entries = made.entries()
    assert len(entries) == ring.LATEST + 1 and made.count == 2 * ring.LATEST + 1
    assert (entries[0][ring.NUMBER], entries[-1][ring.KERNEL]) == (2 * ring.LATEST + 1, "seldom")


def test_what_cannot_be_described_is_launched_all_the_same() -> None:
    [entry] = launched(torch.zeros(2).to_sparse()).entries()
    assert entry[ring.TROUBLE].startswith("RuntimeError: ") and "storage" in entry[ring.TROUBLE]


def test_a_tensor_under_another_type_is_no_tensor_of_its_own() -> None:
    tensor = torch.zeros(4, dtype=torch.int16)
    seen = triton.reinterpret(tensor, tl.float16)
    [entry] = launched(seen).entries()
    assert description.argument(ring.facts(entry[ring.ARGS][0])) == {
        **description.argument(seen),
        "base": {**description.tensor(seen.base), "storage": tensor.data_ptr(), "device": "cuda"},
    }


def test_a_grid_that_is_asked_for_is_the_launch_s_own() -> None:
    made = ring.LaunchRing()
    run = made.watch(lambda kernel, *args, grid, warmup: grid({"BLOCK": 4}), lambda entry, error: None)
    assert run("kernel", grid=lambda meta: (meta["BLOCK"],), warmup=False) == (4,)
    assert made.entries()[0][ring.GRID] == (4,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CUDA error: misaligned address", True),
        ("Triton Error [CUDA]: an illegal memory access was encountered", True),
        ("CUDA driver error: invalid argument", True),
        ("CUDA error: out of memory", False),
        ("Triton Error [CUDA]: no CUDA-capable device is detected", False),
        ("misaligned shapes", False),
    ],
)
def test_which_errors_are_the_device_s(text: str, expected: bool) -> None:
    assert hook.is_device_error(RuntimeError(text)) is expected

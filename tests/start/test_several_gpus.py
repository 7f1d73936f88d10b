"""Lanes on all GPUs, in groups of as many as the program needs. Names stand in for GPUs: the program looks at them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shrinkray_gpu.calibration import Limits
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.gpu_groups import GpuGroups
from shrinkray_gpu.runner.inside.capture import description
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.start import Start, UserProgram
from shrinkray_gpu.start.several_gpus import on_groups, on_single_gpus
from tests.start.test_choice import given

FOUR = ("a", "b", "c", "d")
RANKS = """
import os
device_count = len(os.environ.get("CUDA_VISIBLE_DEVICES", "a,b,c,d").split(","))
if device_count < 2:
    raise ValueError("skipped")
[][device_count]
"""


def placed(
    folder: Path, text: str, *, start: Start | None = None, jobs: int = 8
) -> tuple[UserProgram, Start, list[str]]:
    told: list[str] = []
    program = replace(given(folder, text, "exception:IndexError"), gpus=FOUR, limits=Limits(jobs))
    found, begins = on_groups(program, start or Start(program.program), told.append)
    return found, begins, told


def test_a_program_on_one_gpu_has_lanes_on_each(tmp_path: Path) -> None:
    found, start, told = placed(tmp_path, "[][0]\n")
    assert found.limits.groups.names == FOUR and found.limits.mode is None
    assert told == ["lanes on 4 of 4 GPUs (--gpus N takes fewer)"]
    [run] = start.seen  # the run that told it is used once more
    assert run.failure is not None and run.failure.type == "IndexError"
    assert placed(tmp_path, "[][0]\n", jobs=3)[0].limits.groups.names == FOUR[:3]


def test_where_there_is_one_gpu_nothing_is_said_or_run(tmp_path: Path) -> None:
    program = given(tmp_path, "[][0]\n", "exception:IndexError")
    start = Start(program.program)
    assert on_groups(program, start, lambda line: pytest.fail(line)) == (program, start)


def test_a_program_whose_tensors_are_on_two_has_groups_of_two_and_contexts_of_its_own(tmp_path: Path) -> None:
    used = Start(Program.from_text("[][0]\n", "failing.py"), seen=(Run("cold", 1, gpus=2),))
    found, _, told = placed(tmp_path, "[][0]\n", start=used)
    assert found.limits.groups.names == ("a,b", "c,d") and found.limits.mode == "fork"
    assert told == ["lanes on 2 groups of 2 of 4 GPUs: what is reduced needs 2 (--gpus N takes fewer)"]


@pytest.mark.parametrize(("used", "kept"), [(1, True), (2, False)])
def test_lanes_that_are_up_on_each_gpu_stay_for_a_program_on_one(tmp_path: Path, used: int, kept: bool) -> None:
    on_each = on_single_gpus(replace(given(tmp_path, "x = 1\n", "exception:IndexError"), gpus=FOUR))
    assert on_each.limits.groups.names == FOUR[:2]  # there are two jobs
    several = replace(given(tmp_path, "device_count = 1\n", "exception:IndexError"), gpus=FOUR)
    assert on_single_gpus(several) is several
    closed: list[bool] = []
    groups = GpuGroups(FOUR)
    lanes: Any = SimpleNamespace(cold=SimpleNamespace(groups=groups), close=lambda: closed.append(True))
    program = Program.from_text("[][0]\n", "failing.py")
    found, begins, _ = placed(tmp_path, "[][0]\n", start=Start(program, seen=(Run("cold", 1, gpus=used),), lanes=lanes))
    assert (found.limits.groups is groups, begins.lanes is lanes, closed == []) == (kept, kept, kept)


def test_one_that_only_counts_them_has_as_few_as_its_fault_shows_with(tmp_path: Path) -> None:
    """Its processes, or NCCL, hold the memory: torch holds none here."""
    found, _, _ = placed(tmp_path, RANKS)
    assert found.limits.groups.names == ("a,b", "c,d")
    found, _, told = placed(tmp_path, RANKS.replace("device_count < 2", "device_count < 3"))
    assert found.limits.groups.names == ("a,b,c,d",) and told[0].startswith("lanes on 1 group of 4 of 4 GPUs: ")
    found, _, _ = placed(tmp_path, "device_count = 2\n[][0]\n")
    assert found.limits.groups.names == FOUR


@pytest.mark.parametrize(
    ("count", "current", "names"),
    [(1, 0, ["cuda", "cuda"]), (2, 0, ["cuda", "cuda:1"]), (2, 1, ["cuda:1", "cuda"]), (3, 2, ["cuda:2", "cuda:1"])],
)
def test_a_tensor_is_written_down_with_its_gpu_as_seen_from_the_launch(
    count: int, current: int, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cuda = SimpleNamespace(device_count=lambda: count, current_device=lambda: current)
    monkeypatch.setitem(description.sys.modules, "torch", SimpleNamespace(cuda=cuda))  # type: ignore[arg-type]
    devices = [SimpleNamespace(type="cuda", index=index) for index in (0, 1)]
    assert [description._device(each) for each in devices] == names
    assert description._device(SimpleNamespace(type="cpu", index=None)) == "cpu"

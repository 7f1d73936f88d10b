"""Which processes of a reduction are new interpreters: the program's first run, and the clean ones of the result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import shrinkray_gpu
from shrinkray_gpu.runner import lanes, plain
from shrinkray_gpu.runner.request import Request, RunSettings
from shrinkray_gpu.runner.run import Run
from tests.e2e.programs import NARROW_TILES


def test_workers_and_what_is_no_evidence_are_forks_of_one_that_has_torch_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[tuple[list[str], bool]] = []
    usual = lanes.Guarded

    def recorded(command: list[str], **how: Any) -> lanes.Guarded:
        starts.append((command[3:], how["zygote"] is not None))
        return usual(command, **how)

    cold_texts: list[str] = []
    in_lane = lanes.Lane.run

    def run(lane: lanes.Lane, request: Request, settings: RunSettings, *, mode: str, seconds: float) -> Any:
        if mode == "cold":
            cold_texts.append(request.source)
        return in_lane(lane, request, settings, mode=mode, seconds=seconds)

    monkeypatch.setattr(lanes, "Guarded", recorded)
    monkeypatch.setattr(lanes.Lane, "run", run)
    path = tmp_path / "failing.py"
    path.write_text(NARROW_TILES)
    shrinkray_gpu.reduce(path, oracle="misaligned address", arch="sm_90", report=False, jobs=2)
    cold = [forked for options, forked in starts if options]
    # The first run, those that confirm a step and those of the result are new interpreters.
    assert (cold[0], cold[-1]) == (False, False) and any(cold[1:-1]) and len(cold) > 3, starts
    assert all(forked for options, forked in starts if not options), starts
    assert len(cold_texts) == len(set(cold_texts)), "none is run twice: the result's clean run may be the search's last"


COMPILE = """\
import torch
import triton
import triton.language as tl


def scale(rows):
    return [2 * row for row in rows]


@triton.jit
def product(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at[:, None] * N + at[None, :])
    tl.store(y_ptr + at[:, None] * N + at[None, :], tl.dot(x, x.to(tl.float16)))


print(scale([1, 2]))
x = torch.zeros(32, 32, device="cuda")
product[(1,)](x, torch.empty_like(x), N=32)
torch.cuda.synchronize()
"""


@pytest.mark.parametrize("text, spec", [(NARROW_TILES, "misaligned address"), (COMPILE, "compile:.")])
def test_a_program_whose_launch_is_lifted_runs_twice_at_most(
    text: str, spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To get to its launch may take it minutes. The first run shows its fault, and tells all that lifting and the
    instruments need. Whose fault it is, is asked of it in a lane. All else is asked of the launch alone."""
    asked: list[tuple[str, str]] = []
    in_lane, plainly = lanes.Lane.run, plain.run_words

    def run(lane: lanes.Lane, request: Request, settings: RunSettings, *, mode: str, seconds: float) -> Any:
        asked.append((mode, request.source))
        return in_lane(lane, request, settings, mode=mode, seconds=seconds)

    def run_words(command: Sequence[str], **how: Any) -> Run:
        asked.append(("plain", next((Path(word).read_text() for word in command if word.endswith(".py")), "")))
        return plainly(command, **how)

    monkeypatch.setattr(lanes.Lane, "run", run)
    monkeypatch.setattr(plain, "run_words", run_words)
    path = tmp_path / "failing.py"
    path.write_text(text)
    shrinkray_gpu.reduce(path, oracle=spec, arch="sm_90", jobs=2, max_time=1.0)
    modes = [mode for mode, source in asked if source == text]
    assert modes[0] == "cold" and "virtual" in modes[1:] and len(modes) <= 2 < len(asked), modes

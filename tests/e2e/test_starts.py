"""Which processes of a reduction are new interpreters: the program's first run, and the clean ones of the result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shrinkray_gpu
from shrinkray_gpu.runner import lanes
from tests.e2e.programs import NARROW_TILES


def test_workers_and_what_is_no_evidence_are_forks_of_one_that_has_torch_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[tuple[list[str], bool]] = []
    usual = lanes.Guarded

    def recorded(command: list[str], **how: Any) -> lanes.Guarded:
        starts.append((command[3:], how["zygote"] is not None))
        return usual(command, **how)

    monkeypatch.setattr(lanes, "Guarded", recorded)
    path = tmp_path / "failing.py"
    path.write_text(NARROW_TILES)
    shrinkray_gpu.reduce(path, oracle="misaligned address", arch="sm_90", report=False, jobs=2)
    cold = [forked for options, forked in starts if options]
    # The first run, those that confirm a step and those of the result are new interpreters.
    assert (cold[0], cold[-1]) == (False, False) and any(cold[1:-1]) and len(cold) > 3, starts
    assert all(forked for options, forked in starts if not options), starts

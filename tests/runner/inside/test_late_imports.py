"""Dynamo and distributed tensors: imported where a script needs them, then once for all lanes, and out of our way."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrinkray_gpu.runner.inside.late_imports import INDUCTOR, MODULES
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import SPARES, Pool, Script

PLAIN = f"""
import sys, torch
there = [name in sys.modules for name in {MODULES}]
x = torch.randn(8, 8, device="cuda", requires_grad=True)
(x @ x).sum().backward()
torch.cuda.synchronize()
print(there, [name in sys.modules for name in {MODULES}])
"""
NEEDY = """
import torch
from importlib import import_module  # no lane imports ahead what only this names
x = torch.ones(8, device="cuda")
torch.testing.assert_close(x, x + 0)
traced = import_module("torch._dynamo").optimize("eager")(lambda x: (x + 1).sum())(x)
frames = import_module("torch._dynamo.utils").counters["frames"]
print(traced.item(), traced.is_cuda, dict(frames))
"""


@pytest.fixture
def lanes(tmp_path: Path) -> Iterator[Pool]:
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    setup = Setup(sys.executable, environment, imports=("torch",), own=(), scratch=str(tmp_path), arch=90)
    pool = Pool(Script(tmp_path / "script.py", cwd=tmp_path), setup, mode="virtual", jobs=1, seconds=100)
    yield pool
    pool.close()


def test_what_most_scripts_never_need_is_imported_for_all_lanes_once_one_needed_it(lanes: Pool) -> None:
    assert lanes.run(PLAIN).stdout == f"{[False] * 4} {[False] * 4}\n" == lanes.cold(PLAIN).stdout
    # Dynamo would trace the handler of each operation, had it not been kept out: it counts the frames that it saw.
    assert lanes.run(NEEDY).stdout == "16.0 True {'total': 1, 'ok': 1}\n" == lanes.cold(NEEDY).stdout
    said = [lanes.run(PLAIN).stdout for _ in range(SPARES + 3)]  # the first lanes were forked before
    both = [name != INDUCTOR for name in MODULES]
    assert said[-1] == f"{both} {both}\n", said
    assert lanes.run(NEEDY).stdout == "16.0 True {'total': 1, 'ok': 1}\n"


def test_a_backward_pass_from_a_given_gradient_costs_each_lane_no_import(lanes: Pool) -> None:
    given = PLAIN.replace(".sum().backward()", ".backward(torch.ones(8, 8, device='cuda'))")
    assert lanes.run(given).stdout == "[False, False, False, False] [True, False, False, False]\n"
    said = [lanes.run(given).stdout for _ in range(SPARES + 3)]
    assert said[-1] == "[True, False, False, False] [True, False, False, False]\n", said


def test_each_lane_draws_otherwise_by_numpy(lanes: Pool) -> None:
    """Chance must stay chance where a fault hangs on it, though the fork server imported what draws."""
    drawn = {lanes.run("import numpy, torch\nprint(numpy.random.rand())").stdout for _ in range(SPARES + 3)}
    assert len(drawn) == SPARES + 3, drawn

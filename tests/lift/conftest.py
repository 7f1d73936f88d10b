"""Runs scripts in the real worker on the virtual GPU, captures, lifts, and runs what was lifted."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from shrinkray_gpu import lift
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Launch, Run
from tests.lift.record_problems import problems


@dataclass(frozen=True)
class Lifted:
    original: Run
    texts: tuple[str, ...]
    again: Run
    """What became of the first text."""

    @property
    def text(self) -> str:
        return self.texts[0]


Lift = Callable[[str], Lifted]


@pytest.fixture(scope="session")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    folder = tmp_path_factory.mktemp("lift")
    setup = Setup(
        python=sys.executable,
        environment={**os.environ, "TRITON_CACHE_DIR": str(folder / "triton")},
        imports=("torch", "triton"),
        own=(str(folder),),
        scratch=str(folder),
        arch=90,
    )
    lanes = Pool(Script(folder / "script.py", cwd=folder, asserts=False), setup, mode="virtual", jobs=1, seconds=120)
    yield lanes
    lanes.close()


@pytest.fixture
def lifted(pool: Pool) -> Lift:
    """lifted(source): the launch of `source` that faults, as a script, and how that script ran."""

    def run(source: str) -> Lifted:
        original = pool.run(source, capture="launch")
        assert problems(original.captured) == []
        texts = lift.candidates(original)
        assert texts, (lift.obstacles(original), original.stderr)
        return Lifted(original, texts, pool.run(texts[0]))

    return run


@pytest.fixture
def folder(pool: Pool) -> Path:
    """Where the script and its modules lie."""
    return pool.script.path.parent


def same_launch(one: Run, launch: Launch, other: Run) -> None:
    """The only launch of `other` is `launch` of `one`: kernel by its TTIR, options, grid, arguments but for content."""
    assert other.failure is None or other.driver_error, other.failure
    [again] = other.launches
    assert (_grid(again), _words(again)) == (_grid(launch), _words(launch))
    assert _compiled(other, again) == _compiled(one, launch)


def _grid(launch: Launch) -> tuple[int, ...]:
    return (*launch.grid, 1, 1)[:3]


def _words(launch: Launch) -> list[str]:
    return [re.sub(r" #\S+", "", word) for word in launch.args]


def _compiled(run: Run, launch: Launch) -> tuple[object, ...]:
    compiled = next(c for c in run.compiles if c.hash == launch.hash)
    return compiled.ttir_key, {
        k: v for k, v in compiled.options.items() if k in ("num_warps", "num_stages", "num_ctas")
    }

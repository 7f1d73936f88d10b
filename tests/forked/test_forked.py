"""A fork in place of an interpreter says the same, and is one only where that may be."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.runner import guarded
from shrinkray_gpu.runner.guarded import Keeper
from shrinkray_gpu.runner.host_memory import MemoryTerms
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.private_setup import private_setup
from shrinkray_gpu.runner.run import Launch, Run
from tests.e2e.programs import NARROW_TILES
from tests.forked.keepers import ForkedKeeper

TELLS = """\
import json, os, sys
there = [name for name in ("torch", "triton") if name in sys.modules]
files = [path for path in map("/proc/self/fd/{}".format, os.listdir("/proc/self/fd")) if os.path.lexists(path)]
files = sorted(os.readlink(path).partition(":")[0] for path in files)
print(json.dumps([there, sys.argv, sys.path, sorted(os.environ), files, __name__, os.getcwd(), sys.flags[:]]))
"""
"""What a candidate sees of its process."""
Cold = Callable[..., Run]


@pytest.fixture(scope="module")
def forks() -> Iterator[ForkedKeeper]:
    pytest.importorskip("triton")
    yield ForkedKeeper()


@pytest.fixture
def cold(tmp_path: Path, forks: ForkedKeeper, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cold]:
    """cold(text, forked, **fields of the setup): a cold run, below a keeper that forks or the usual one."""
    keepers = {True: forks, False: Keeper(MemoryTerms())}

    def run(text: str, forked: bool, **fields: object) -> Run:
        monkeypatch.setattr(guarded, "KEEPER", keepers[forked])
        setup: Setup = private_setup(tmp_path, os.environ, python=sys.executable, imports=(), own=(), arch=90)
        script = Script(tmp_path / "failing.py", cwd=tmp_path)
        with closing(Pool(script, replace(setup, **fields), mode="cold", jobs=1, seconds=60)) as pool:  # type: ignore
            return pool.cold(text)

    yield run


def test_it_shows_the_same_fault(cold: Cold) -> None:
    text = NARROW_TILES.replace("torch.randn(", "torch.ones(")
    forked, usual = cold(text, True), cold(text, False)
    assert usual.launches and usual.launches[0].fault
    assert _untimed(forked.launches) == _untimed(usual.launches) and forked.failure == usual.failure


def _untimed(launches: Sequence[Launch]) -> list[Launch]:
    return [replace(each, evaluating=0.0) for each in launches]


def test_a_candidate_sees_the_same_of_its_process(cold: Cold) -> None:
    forked, usual = cold(TELLS, True), cold(TELLS, False)
    assert '["torch", "triton"]' in forked.stdout and forked.stdout == usual.stdout


def test_without_a_virtual_gpu_it_is_an_interpreter(cold: Cold) -> None:
    for fields in ({"arch": None}, {"plain": True}):
        assert cold(TELLS, True, **fields).stdout.startswith("[[], "), fields


def test_in_another_environment_it_is_an_interpreter(cold: Cold) -> None:
    text = "import sys\nprint(sys.flags.hash_randomization)\n"
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    assert cold(text, True, environment=environment).stdout == "0\n"
    assert cold(text, True).stdout == "1\n"


def test_a_keeper_that_was_killed_is_forked_anew(cold: Cold, forks: ForkedKeeper) -> None:
    cold("print(1)\n", True)
    first = forks.process.pid
    os.kill(first, signal.SIGKILL)
    assert cold("print(2)\n", True).stdout == "2\n" and forks.process.pid != first

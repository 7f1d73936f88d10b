"""Plays small scripts on the virtual GPU, each in a forked child, as the worker does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.runner.inside import late_imports, preloading, vgpu
from shrinkray_gpu.runner.inside.launches import launch_log
from shrinkray_gpu.runner.inside.process import script
from tests.runner.inside.forked import forked

ARCH = 90


@dataclass(frozen=True)
class Outcome:
    exit: int
    failure: dict[str, Any] | None
    sticky: int
    compiles: list[dict[str, Any]]
    launches: list[dict[str, Any]]
    printed: str

    @property
    def faults(self) -> list[str]:
        return [launch["fault"] for launch in self.launches if launch["fault"]]

    @property
    def undecided(self) -> list[str]:
        return [launch["undecided"] for launch in self.launches if launch["undecided"]]

    @property
    def error(self) -> str:
        return "" if self.failure is None else f"{self.failure['type']}: {self.failure['text']}"


Play = Callable[..., Outcome]


@pytest.fixture(scope="session")
def prepared() -> Iterator[None]:
    vgpu.prepare(ARCH)
    yield


@pytest.fixture
def play(prepared: None, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Play:
    """play(source, wants=..., env=...): what became of the script."""
    cache = tmp_path_factory.getbasetemp() / "triton"

    def run(
        source: str, *, wants: frozenset[str] = frozenset(), env: dict[str, str] | None = None, arch: int = ARCH
    ) -> Outcome:
        printed = tmp_path / "printed.txt"

        def work() -> dict[str, Any]:
            os.environ.update({"TRITON_CACHE_DIR": str(cache), **(env or {})})
            fd = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(fd, 1)
            os.dup2(fd, 2)
            return _perform(source, str(tmp_path / "script.py"), wants, arch)

        preloading.preload_again({"arch": ARCH})
        said = forked(tmp_path, work)
        return Outcome(printed=printed.read_text(), **said)

    return run


def _perform(source: str, path: str, wants: frozenset[str], arch: int) -> dict[str, Any]:
    import sys

    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # pytest put its own there
    late_imports.watch()
    log = launch_log.LaunchLog(wants)
    log.install()
    with vgpu.virtual(arch, log, ends=True) as gpu:
        status, failure, _ = script.perform(source, path, [], asserts=False, at_end=gpu.end)
    return {
        "exit": status,
        "failure": failure,
        "sticky": vgpu.sticky(),
        "compiles": log.compiles,
        "launches": log.launches,
    }

"""A pool of lanes on the virtual GPU for each release of Triton."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from tests.versions import environments

With = Callable[[str], Pool]


def each(versions: Iterable[str]) -> list[object]:
    """As values of a parameter, each in one process of pytest, so that its lanes come up once."""
    return [pytest.param(version, id=version, marks=pytest.mark.xdist_group(version)) for version in versions]


@pytest.fixture(scope="session")
def with_triton(tmp_path_factory: pytest.TempPathFactory) -> Iterator[With]:
    """with_triton(version): lanes in an interpreter that has this release."""
    opened: list[Pool] = []

    @cache
    def pool(version: str) -> Pool:
        folder = Path(tmp_path_factory.mktemp(f"triton-{version}"))
        setup = Setup(
            python=environments.python(version),
            environment={**os.environ, "TRITON_CACHE_DIR": str(folder / "triton")},
            imports=("torch", "triton"),
            own=(str(folder),),
            scratch=str(folder),
            arch=90,
        )
        lanes = Pool(Script(folder / "script.py", cwd=folder, asserts=False), setup, mode="virtual", jobs=1, seconds=60)
        opened.append(lanes)
        assert lanes.start("import torch, triton\n")["versions"]["triton"] == version
        return lanes

    yield pool
    for lanes in opened:
        lanes.close()

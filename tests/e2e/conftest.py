"""One worker on the virtual GPU for what these tests ask beside the command that they test."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from shrinkray_gpu.oracle import Verdict, parse
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.private_setup import private_setup

Judged = Callable[..., Verdict]


@pytest.fixture(scope="session")
def virtual_pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """On sm_90. Each text is a fork, where `--check` starts up to six processes and imports torch in each."""
    folder = tmp_path_factory.mktemp("judged")
    setup = private_setup(folder, os.environ, python=sys.executable, imports=("torch", "triton"), own=(), arch=90)
    script = Script(folder / "failing.py", cwd=folder)
    with closing(Pool(script, setup, mode="virtual", jobs=1, seconds=60)) as pool:
        yield pool


@pytest.fixture(scope="session")
def judged(virtual_pool: Pool) -> Judged:
    """judged(text, oracle, *wants): whether the text shows it, in a run that has these wants too."""

    def verdict(text: str, spec: str, *wants: str) -> Verdict:
        oracle = parse(spec, folder=virtual_pool.script.path.parent)
        asked = oracle.needs.on(virtual_pool.script, virtual=True)
        asked = replace(asked, wants=(*asked.wants, *wants))
        return oracle.judge(virtual_pool.serving(asked, seconds=200).run(text))

    return verdict

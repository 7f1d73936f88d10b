"""Soundness of warm lanes on a real GPU: the same verdicts as one cold process a candidate."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shrinkray_gpu.judging.tiered_test import TieredTest
from shrinkray_gpu.oracle import parse
from shrinkray_gpu.oracle.verdict import Answer
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from tests.gpu.candidates import HEAD, candidates

pytestmark = pytest.mark.gpu


def pool(folder: Path, mode: str, jobs: int, **setup: bool) -> Pool:
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "triton"), "PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
    made = Setup(sys.executable, environment, ("torch", "triton"), (), str(folder), (str(folder),), **setup)
    return Pool(Script(folder / "script.py", cwd=folder), made, mode=mode, jobs=jobs, seconds=8, extra=22)


@pytest.mark.parametrize(
    ("spec", "shows"),
    [
        ("an illegal memory access", True),
        ("misaligned address", True),
        ("exception:AssertionError", False),  # none asserts wrongly by itself: only what another left behind could
    ],
)
def test_warm_lanes_and_cold_processes_agree_on_240_candidates(tmp_path: Path, spec: str, shows: bool) -> None:
    texts = candidates()
    colds = cold_runs(tmp_path, texts)
    oracle = parse(spec, folder=tmp_path)
    expected = [oracle.judge(run).answer for run in colds]
    warm = pool(tmp_path, "fork", 8, warm=True, reuse=True)
    warm.start(HEAD)
    test = TieredTest(oracle, warm)
    programs = [Program.from_text(text) for text in texts]
    try:
        started = time.monotonic()
        first = test.judge(programs)
        middle = time.monotonic()
        test.insist(True)
        doubtful = [i for i, verdict in enumerate(first) if verdict.provisional]
        last = dict(zip(doubtful, test.judge([programs[i] for i in doubtful])))
        ended = time.monotonic()
    finally:
        test.close()
        warm.close()
    answers = [last.get(i, verdict).answer for i, verdict in enumerate(first)]
    turned = sum(last[i].answer is not first[i].answer for i in doubtful)
    print(
        f"{spec}: {Counter(answer.value for answer in answers)}; first round {middle - started:.1f} s, last round "
        f"{ended - middle:.1f} s over {len(doubtful)} provisional, {turned} turned"
    )
    wrong = [(i, a, e, first[i].why, texts[i][-200:]) for i, (a, e) in enumerate(zip(answers, expected)) if a is not e]
    assert not wrong, wrong[:5]
    assert (Answer.FAULTS in answers) is shows


RUNS: dict[str, list[object]] = {}


def cold_runs(folder: Path, texts: list[str]) -> list:  # type: ignore[type-arg]
    """240 cold processes, once for all oracles."""
    if "cold" not in RUNS:
        cold = pool(folder, "cold", 12)
        started = time.monotonic()
        with ThreadPoolExecutor(12) as threads:
            RUNS["cold"] = list(threads.map(cold.run, texts))
        print(f"240 cold processes, 12 at a time: {time.monotonic() - started:.1f} s")
        cold.close()
    return RUNS["cold"]

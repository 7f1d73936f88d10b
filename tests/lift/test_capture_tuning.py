"""Launches that an autotuner makes are marked, and stand behind those that the program asked for."""

from __future__ import annotations

from shrinkray_gpu import lift
from shrinkray_gpu.runner.pool import Pool

TUNED = """
import torch, triton, triton.language as tl

@triton.autotune([triton.Config({"N": n}, num_warps=w, num_stages=2) for n, w in ((16, 1), (32, 2), (64, 8))], key=[])
@triton.jit
def fill(x, N: tl.constexpr):
    tl.store(x + tl.arange(0, N), 1.0)

@triton.jit
def plain(x):
    tl.store(x, 2.0)

x = torch.zeros(64, device="cuda")
"""


def test_what_was_asked_for_comes_first(pool: Pool) -> None:
    run = pool.run(f"{TUNED}plain[(1,)](x)\nfill[(2,)](x)\n", capture="launch")
    assert run.captured is not None
    marked = [(launch["kernel"], launch["tuning"]) for launch in run.captured["launches"]]
    assert marked == [("fill", False), ("plain", False), ("fill", True), ("fill", True)]
    # On the virtual GPU each trial takes as long as the next, so the first config wins: it is the real launch, though
    # it was a trial before.
    assert "fill[(2,)](x, N=16, num_warps=1, num_stages=2)" in lift.candidates(run)[0]


def test_a_trial_that_raises_is_the_one(pool: Pool) -> None:
    wrong = TUNED.replace("tl.store(x + tl.arange(0, N), 1.0)", "tl.store(x + tl.arange(0, 96 // N * N // 3), N)")
    run = pool.run(f"{wrong}plain[(1,)](x)\nfill[(2,)](x)\n", capture="launch")
    assert run.failure is not None and run.captured is not None
    [launch] = run.captured["launches"]
    assert launch["tuning"] and launch["kernel"] == "fill"
    text = lift.candidates(run)[0]
    assert "N=64, num_warps=8, num_stages=2)" in text and "autotune" not in text
    again = pool.run(text)
    assert again.failure is not None and again.failure.type == run.failure.type


def test_where_the_process_dies_in_a_trial_the_trial_comes_first(pool: Pool) -> None:
    dying = TUNED.replace("key=[])", "key=[], pre_hook=stop)").replace(
        "@triton.autotune",
        """
import os
seen = []
def stop(arguments, reset_only=False):
    seen.append(arguments["N"])
    if len(seen) == 3:
        os._exit(5)

@triton.autotune""",
    )
    run = pool.run(f"{dying}plain[(1,)](x)\nfill[(2,)](x)\n", capture="launch")
    assert run.exit == 5 and run.captured is not None
    # The third trial never began.
    marked = [(launch["kernel"], launch["tuning"]) for launch in run.captured["launches"]]
    assert marked == [("fill", True), ("fill", True), ("plain", False)]
    assert "N=32, num_warps=2" in lift.candidates(run)[0]

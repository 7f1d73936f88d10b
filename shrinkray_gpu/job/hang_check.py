"""Clean runs of a program that hangs, which `python FILE` alone cannot show: nobody asks it who is at work.

What it can show is that the program does end, once nothing of ours is in the process. So each run is two: one that is
watched, and one of a user's own, which must not have ended when the watched one was found to hang.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Answer
from shrinkray_gpu.runner.run import Run

AS_LONG = 1.5
"""A plain run may take so many times what a watched one did, which took as long to import and compile."""


def showing(
    oracle: Oracle,
    count: int,
    *,
    watched: Callable[[], Run],
    plain: Callable[[float], Run],
    most: float,
    at_once: int,
) -> int:
    """How many of `count` runs show that the program hangs.

    `plain` is given its seconds, `most` at the most. Time is the question, so the first watched run has nothing beside
    it. That the program hangs each time, and without us as well, is asked `at_once` at a time then: a process that ends
    is none that hangs, whatever is beside it.
    """
    first = watched()
    seconds = min(most, AS_LONG * first.seconds) if oracle.judge(first).faults else most
    with ThreadPoolExecutor(at_once, thread_name_prefix="clean") as threads:
        others = [threads.submit(watched) for _ in range(count - 1)]
        plains = [threads.submit(plain, seconds) for _ in range(count)]
    hang = [oracle.judge(run).faults for run in (first, *(each.result() for each in others))]
    denied = [oracle.judge(each.result()).answer is Answer.PASSES for each in plains]
    return sum(hangs and not ends for hangs, ends in zip(hang, denied))

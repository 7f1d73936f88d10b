"""A golden trajectory: the whole course of one small reduction. A change of search or engine is seen here.

If it changes on purpose, check that it did not get longer, and paste the new one.
"""

from __future__ import annotations

from pathlib import Path

from tests.reduction.course import Bench, blocks, numbers, statements

PROGRAM = '''\
import math
import time

SIZE = 64


def helper(n):
    total = 0
    for i in range(n):
        total += i * 2
    return total


def launch(size):
    for attempt in range(3):
        if attempt == 2:
            kernel(size)
        else:
            time.sleep(0)
    return helper(size)


start = time.time()
print(launch(SIZE))
print(math.floor(time.time() - start))
'''


def faults(text: str) -> bool:
    """Runs the program: the fault is a kernel launched with 8 or more."""
    launched: list[int] = []
    try:
        exec(text, {"kernel": launched.append, "print": lambda *args: None})
    except Exception:
        return False
    return max(launched, default=0) >= 8


GOLDEN = []


def test_the_course_is_as_it_was(tmp_path: Path) -> None:
    bench = Bench(faults)
    result = bench.reduce(PROGRAM, tmp_path, passes=(statements, blocks, numbers), width=4)
    course = [
        f"round {e.round}, {e.pass_name}, {e.tries} tries: {e.program.size.tokens} tokens"
        for e in bench.events
        if e.kind == "accepted"
    ]
    assert course == GOLDEN
    assert result.program.text == "kernel(8)\n"
    assert (result.tries, result.rounds) == (0, 0)

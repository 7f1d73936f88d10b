"""A golden trajectory: the whole course of one small reduction. A change of search or engine is seen here.

If it changes on purpose, look whether it got longer, and paste the new one.
"""

from __future__ import annotations

from pathlib import Path

from tests.reduction.course import Bench, blocks, numbers, statements

PROGRAM = """\
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
"""


def faults(text: str) -> bool:
    """Runs the program: the fault is a kernel launched with 8 or more."""
    launched: list[int] = []
    try:
        exec(text, {"kernel": launched.append, "print": lambda *args: None})
    except Exception:
        return False
    return max(launched, default=0) >= 8


GOLDEN = [  # accepted candidates; numbers repeats itself, since no new round comes for a smaller literal
    "round 1, statements, 11 tries: 81 tokens",
    "round 1, statements, 16 tries: 76 tokens",
    "round 1, statements, 20 tries: 73 tokens",
    "round 1, statements, 22 tries: 59 tokens",
    "round 1, statements, 26 tries: 54 tokens",
    "round 1, blocks, 28 tries: 46 tokens",
    "round 1, numbers, 35 tries: 46 tokens",
    "round 1, numbers, 36 tries: 46 tokens",
    "round 1, numbers, 39 tries: 46 tokens",
    "round 1, numbers, 41 tries: 46 tokens",
    "round 2, statements, 47 tries: 44 tokens",
    "round 2, statements, 51 tries: 37 tokens",
    "round 2, statements, 53 tries: 30 tokens",
    "round 2, blocks, 56 tries: 22 tokens",
    "round 3, statements, 61 tries: 20 tokens",
]


def test_the_course_is_as_it_was(tmp_path: Path) -> None:
    bench = Bench(faults)
    result = bench.reduce(PROGRAM, tmp_path, passes=(statements, blocks, numbers), width=4)
    course = [
        f"round {e.round}, {e.pass_name}, {e.tries} tries: {e.program.size.tokens} tokens"
        for e in bench.events
        if e.kind == "accepted"
    ]
    assert course == GOLDEN
    kept = [line for line in result.program.text.splitlines() if line]
    assert kept == ["SIZE = 8", "def launch(size):", "    kernel(size)", "print(launch(SIZE))"]
    assert (result.cost.tries, result.cost.rounds) == (68, 5)

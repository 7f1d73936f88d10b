"""The case of a test loop that fails, found by real runs; and the cases before it that it needs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from shrinkray_gpu.runner.run import Launch, Run
from shrinkray_gpu.start.capture_runs import Runs
from shrinkray_gpu.start.failing_case import TRIES, FailingCase, are_among
from tests.start.test_choice import begun, given

OPTIONS = """\
import argparse

def check(width, rows):
    for row in range(rows):
        for column in range(width):
            if column == 5:
                raise ValueError("too wide")

parser = argparse.ArgumentParser()
parser.add_argument("--widths", type=int, nargs="+", default=[2, 8, 4])
parser.add_argument("--rows", type=int, default=3)
args = parser.parse_args()
for width in args.widths:
    check(width, args.rows)
"""
LEFT = """\
TABLE = {"rows": 2}
cases = {"first": 1, "wide": 9, "second": 2, "last": 3, "never": 4}
for name, size in cases.items():
    if size > 8:
        TABLE["rows"] = 40
    if name == "last" and TABLE["rows"] > 30:
        raise ValueError("too many rows")
"""
POSITION = """\
import os
os.environ["TRITON_INTERPRET"] = "1"
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x, position):
    tl.store(x + position, 1.0)

x = torch.zeros(8)
at = 0
for step in (1, 2, 4):
    at += step
    kernel[(1,)](x, at)
    if step == 4:
        raise ValueError("too far")
"""


def alone(folder: Path, text: str, *, typed: bool = False) -> tuple[str, int]:
    """The program with its failing case, or as it was, and how many runs that took."""
    asked = given(folder, text, "exception:ValueError")
    runs = Runs(asked, print)
    [shown] = runs.until(runs.worth_it, text, 1, capture="launch")
    oracle = runs.calibrated_oracle(shown)
    assert oracle is not None
    texts: list[str] = []

    def of_text(text: str) -> object:
        texts.append(text)
        return runs.until(runs.worth_it, text, 1, capture="launch")[-1]

    found = FailingCase(shown, of_text, partial(runs.shows, oracle)).of(asked.program, typed=typed)  # type: ignore[arg-type]
    runs.close()
    return found[0].text if found is not None else text, len(texts)


def test_of_a_loop_over_an_option_the_failing_case_stays(tmp_path: Path) -> None:
    text, runs = alone(tmp_path, OPTIONS)
    # Before the sixth column the row does nothing that a case is: a range that began goes on.
    assert text.endswith("\nwidth = 8\ncheck(width, 3)\n") and "argparse." not in text, text
    assert "    row = 0\n    for column in range(width):" in text, text
    assert runs == 2, "one to see which case it is, one without the others"


def test_what_somebody_types_stays(tmp_path: Path) -> None:
    text, _ = alone(tmp_path, OPTIONS, typed=True)
    assert "for width in args.widths:" in text and "    row = 0\n" in text


def test_a_case_that_leaves_something_stays(tmp_path: Path) -> None:
    text, runs = alone(tmp_path, LEFT)
    assert 'cases = {"wide": 9, "last": 3}\nfor name, size in cases.items():' in text, text
    assert runs <= TRIES


def test_a_case_stays_without_which_a_launch_is_another_one(tmp_path: Path) -> None:
    text, _ = alone(tmp_path, POSITION)
    assert "for step in (1, 2, 4):" in text, text
    text, _ = alone(tmp_path / "other", POSITION.replace("at += step", "at = step"))
    assert "step = 4\nat = step\n" in text, text


def test_a_case_may_go_whose_launch_is_of_another_kind(tmp_path: Path) -> None:
    """The records of launches begin with the likeliest one: the last, of the case that fails."""
    records = [{"kernel": "rows", "grid": [grid], "options": [], "arguments": []} for grid in (2, 1)]
    launches = tuple(Launch("rows", "h", (grid,)) for grid in (1, 2))
    shown = Run("cold", 1, launches=launches, captured={"launches": records})  # type: ignore[typeddict-item]
    alone = Run("cold", 1, launches=launches[1:], captured={"launches": records[:1]})  # type: ignore[typeddict-item]
    other = Run("cold", 1, launches=launches[:1], captured={"launches": records[1:]})  # type: ignore[typeddict-item]
    assert are_among(alone, shown) and not are_among(other, shown)


CHECK = """\
import os
os.environ["TRITON_INTERPRET"] = "1"
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, 2.0, mask=at < n)

for n in (8, 16, 20):
    x = torch.ones(n)
    kernel[(1,)](x, n, BLOCK=16)
    torch.testing.assert_close(x, torch.full((n,), 2.0))
"""


EXIT = "if x[-1] != 2.0:\n        raise SystemExit('a tensor is off by one')"


@pytest.mark.parametrize(("check", "words"), [("", "Tensor-likes are not close"), (EXIT, "a tensor is off by")])
def test_so_does_the_failing_one_of_a_check(tmp_path: Path, check: str, words: str) -> None:
    loop = f"for _ in range(2):\n        print(n)\n    {check}\n"
    text = CHECK[: CHECK.index("torch.testing")] + loop if check else CHECK
    start = begun(given(tmp_path, text, words), [])
    assert "for n in" not in start.program.text and "\nn = 20\n" in start.program.text, start.program.text
    assert ("for _ in range(2):" in start.program.text) is bool(check), "that one ended before"
    assert start.lifted and not start.alone

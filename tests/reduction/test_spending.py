"""The bill of a reduction: what each pass cost and gained."""

from __future__ import annotations

from pathlib import Path

from shrinkray_gpu.reduction.spending import PassCost, cost_table
from tests.reduction.course import Bench, numbers, statements

PROGRAM = "x = 64\n" + "".join(f"s{i} = {i}\n" for i in range(10))


def test_the_bills_add_up(tmp_path: Path) -> None:
    bench = Bench(lambda text: "x =" in text)
    result = bench.reduce(PROGRAM, tmp_path, passes=(statements, numbers), clock=lambda: float(len(bench.asked)))
    bills = result.cost.passes
    assert sum(bill.tries for bill in bills.values()) == result.cost.tries == len(bench.asked)
    assert sum(bill.accepted for bill in bills.values()) == result.cost.accepted
    assert (bills["statements"].tokens, bills["numbers"].tokens) == (30, 0)
    assert bills["statements"].judging == bills["statements"].tries, "a second each, by that clock"


def test_the_dearest_comes_first() -> None:
    cheap, dear = PassCost(tries=9, seconds=1.0), PassCost(tries=2, seconds=5.0)
    lines = cost_table({"cheap": cheap, "found nothing": PassCost(seconds=0.2), "dear": dear}).splitlines()
    assert [line.split()[0] for line in lines] == ["pass", "dear", "cheap", "all"]
    assert lines[-1].split()[1:] == ["11", "0", "0", "0", "6.0", "0.0", "0.0"]

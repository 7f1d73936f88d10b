"""The orders of the schedule: each pass once, and what may be the mistake left alone where values are wrong."""

from __future__ import annotations

import pytest

from shrinkray_gpu.passes import inlining
from shrinkray_gpu.passes.host import observed
from shrinkray_gpu.passes.kernel import tiles
from shrinkray_gpu.passes.python import arguments, statements
from shrinkray_gpu.passes.schedule import CHECK, HOST, ONE_LAUNCH, PASSES, Pass, order_for
from shrinkray_gpu.reduction.program import Program


@pytest.mark.parametrize("order", [CHECK, HOST, ONE_LAUNCH], ids=["check", "host", "one launch"])
def test_each_row_of_the_table_has_its_place(order: tuple[Pass, ...]) -> None:
    rows = [each.module for each in PASSES if not each.plain or order is HOST]
    rows += [arguments] if order is CHECK else []  # what changes no value first, all the rest at the end
    assert sorted(each.module.__name__ for each in order) == sorted(module.__name__ for module in rows)


def test_where_values_are_wrong_what_changes_them_comes_last_and_what_the_host_hands_over_stays() -> None:
    order = order_for(Program.from_text("import torch\n"), one_launch=False, checked=True)
    at = {each.module: place for place, each in enumerate(order)}
    assert at[inlining] < at[statements] < at[arguments] < at[tiles]
    assert [(each.module, each.function) for each in order if each.module in (arguments, observed)] == [
        (observed, "find_told"),
        (arguments, "find_spare"),
        (arguments, "find_apart"),
    ]

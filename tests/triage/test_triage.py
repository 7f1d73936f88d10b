"""The order in which failures are run: one of each kind of text before a second one of any."""

from __future__ import annotations

from shrinkray_gpu.triage.triage import in_turn
from tests.triage.test_clusters import report


def test_one_of_each_kind_comes_before_a_second_one_and_each_test_once() -> None:
    reports = [
        report("test_0[1]", "ValueError: a"),
        report("test_0[2]", "ValueError: a"),
        report("test_0[1]", "ValueError: a", "other.xml"),
        report("test_1", "TypeError: b"),
    ]
    names = [each.name.partition("::")[2] for each in in_turn(reports)]
    assert names == ["test_0[1]", "test_1", "test_0[2]"]

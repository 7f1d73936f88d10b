"""Cells on this machine: a place after the other, several at a time, and what must be alone at its end."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import Any

import pytest

from shrinkray_gpu.cells.cell import OpenLanes
from shrinkray_gpu.cells.this_machine import ThisMachine
from shrinkray_gpu.errors import SickDevice, UsageError
from tests.cells.toys import ToyCell, ToyLanes


def test_each_row_comes_with_the_index_of_its_cell_and_the_host() -> None:
    told: list[str] = []
    with closing(ThisMachine(2, say=told.append)) as machine:
        rows = dict(machine.run([ToyCell("a"), ToyCell("b"), ToyCell("c", "there")]))
    assert {index: row["says"] for index, row in rows.items()} == {0: "a", 1: "b", 2: "c"}
    assert all(row["host"] for row in rows.values())
    assert told == ["2 with here ...", "1 with there ..."]


def test_what_must_be_alone_comes_after_the_others_of_its_place() -> None:
    with closing(ThisMachine(2)) as machine:
        cells = [ToyCell("clock", by_itself=True), ToyCell("a"), ToyCell("b"), ToyCell("c", "there")]
        assert [index for index, _ in machine.run(cells)][2:] == [0, 3]


def test_rows_come_while_others_are_at_work() -> None:
    entered = threading.Event()

    class Waits(ToyCell):
        def run(self, lanes: ToyLanes) -> dict[str, Any]:
            assert entered.wait(30)
            return super().run(lanes)

    with closing(ThisMachine(2)) as machine:
        rows = machine.run([Waits("late"), ToyCell("early")])
        assert next(rows)[1]["says"] == "early"
        entered.set()
        assert next(rows)[1]["says"] == "late"


def test_lanes_stay_open_for_so_many_places() -> None:
    lanes = OpenLanes(1, 2)
    first, second = lanes.of(ToyCell("a", "one")), lanes.of(ToyCell("a", "two"))
    assert lanes.of(ToyCell("b", "one")) is first
    third = lanes.of(ToyCell("c", "three"))
    assert isinstance(second, ToyLanes) and isinstance(first, ToyLanes) and isinstance(third, ToyLanes)
    assert (first.closed, second.closed, third.closed) == (False, True, False)
    assert lanes.of(ToyCell("a", "one"), "another GPU") is not first
    lanes.close()
    assert first.closed and third.closed


def test_a_sick_gpu_ends_it_and_a_place_that_cannot_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SICK_GPU", "cuInit gives error 999")
    with closing(ThisMachine(1)) as machine:
        with pytest.raises(SickDevice, match="the GPU is sick, so no answer from it counts: cuInit gives error 999"):
            list(machine.run([ToyCell("a", resources={"GPU": 1})]))
        with pytest.raises(UsageError, match="nothing runs there"):
            list(machine.run([ToyCell("a", "nowhere")]))

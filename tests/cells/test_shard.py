"""Which cells are whose."""

from __future__ import annotations

import pytest

from shrinkray_gpu.cells.shard import Shard, digest
from shrinkray_gpu.errors import UsageError
from tests.cells.toys import ToyCell


@pytest.mark.parametrize("total", [0, 1, 2, 7, 30])
@pytest.mark.parametrize("count", [1, 3, 8])
def test_all_parts_together_are_all(total: int, count: int) -> None:
    parts = [Shard(index, count).part(total) for index in range(1, count + 1)]
    assert [index for part in parts for index in part] == list(range(total))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_neighbours_stay_together() -> None:
    cells = [ToyCell("a", place) for place in ("one", "one", "two", "two")]
    assert [{cell.where for cell in Shard(index, 2).of(cells)} for index in (1, 2)] == [{"one"}, {"two"}]


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/0", "-1/2", "1/3 "])
def test_what_is_no_shard(text: str) -> None:
    with pytest.raises(UsageError, match="write 2/3 for the second of three"):
        Shard.parse(text)
    assert str(Shard.parse("2/3")) == "2/3"


def test_another_list_has_another_digest() -> None:
    assert digest(["a", "b"]) == digest(["a", "b"]) != digest(["b", "a"])

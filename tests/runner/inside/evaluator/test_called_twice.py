"""A function of the kernel that is called several times: what is passed in one call explains that one's access."""

from __future__ import annotations

from typing import Any

WANTS = frozenset({"static:bounds"})

PROGRAM = """
import torch, triton, triton.language as tl


@triton.jit
def places(base, rows, columns, row_stride, column_stride):
    return base + rows[:, None] * row_stride + columns[None, :] * column_stride


@triton.jit
def transposed(x, y, n, k, x_row, x_column, y_row, y_column):
    rows, columns = tl.arange(0, 64), tl.arange(0, 32)
    inside = (rows[:, None] < k) & (columns[None, :] < n)
    value = tl.load(places(x, rows, columns, x_row, x_column), mask=inside, other=0.0)
    tl.store(places(y, rows, columns, y_row, y_column), value)


@triton.jit
def element(x, row, column):
    return tl.load(x + row * 40 + column)


@triton.jit
def literal(x, y):
    row = tl.arange(0, 16)
    tl.store(y + row, element(x, row, 0) + element(x, row, 1))


x, y = torch.zeros(20, 40, device="cuda"), torch.zeros(64, 32, device="cuda")
transposed[(1,)](x, y, 20, 40, 40, 1, 32, 1)
transposed[(1,)](x, y, 20, 40, 1, 40, 32, 1)
literal[(1,)](torch.zeros(16, 20, device="cuda"), y)
literal[(1,)](torch.zeros(16, 40, device="cuda"), y)
"""


def test_a_stride_of_1_is_a_literal_in_each_call(played: list[dict[str, Any]]) -> None:
    """The other call has a tensor of its own, which the row's stride of the first leaves."""
    swapped, sound = played[:2]
    assert [each["kind"] for each in swapped["causes"]] == ["strides in the wrong order"]
    assert set(swapped["causes"][0]["inputs"]) == {"argument", "constant"} and sound["causes"] == []


def test_what_is_written_there_is_the_same_in_all_calls(played: list[dict[str, Any]]) -> None:
    """Put right in one call alone it would not end the other's fault."""
    wrong, sound = played[2:]
    assert {each["kind"] for each in wrong["causes"]} == {"stride that is not the tensor's"}
    assert sound["causes"] == []

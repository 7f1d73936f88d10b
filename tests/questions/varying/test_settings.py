"""What the user types as an axis, and what is refused in one line."""

from __future__ import annotations

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.questions.varying.settings import axis, combinations


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ("BLOCK_M=64,80,128", "BLOCK_M", ("64", "80", "128")),
        ("ORDER=(1,0),(0,1)", "ORDER", ("(1,0)", "(0,1)")),
        ("tile=[1, 4], [1, 32]", "tile", ("[1, 4]", "[1, 32]")),
        ("mode='a,b',c", "mode", ("'a,b'", "c")),
        ("env:TRITON_DEFAULT_FP_FUSION=0,1", "env:TRITON_DEFAULT_FP_FUSION", ("0", "1")),
        ("--block-m=64,128", "--block-m", ("64", "128")),
        ("expr=a=1", "expr", ("a=1",)),
    ],
)
def test_values_end_at_commas_outside_of_brackets(text: str, name: str, values: tuple[str, ...]) -> None:
    assert (axis(text).name, axis(text).values) == (name, values)


@pytest.mark.parametrize("text", ["BLOCK_M", "BLOCK_M=", "BLOCK_M=1,,2", "BLOCK_M=1,1", "=1", "9=1", "a b=1"])
def test_what_is_no_axis(text: str) -> None:
    with pytest.raises(UsageError, match="--over"):
        axis(text)


def test_all_with_all_the_last_the_fastest() -> None:
    found = combinations([axis("A=1,2"), axis("B=x,y")])
    assert [" ".join(map(str, one)) for one in found] == ["A=1 B=x", "A=1 B=y", "A=2 B=x", "A=2 B=y"]


def test_one_name_twice_and_too_many() -> None:
    with pytest.raises(UsageError, match="there twice"):
        combinations([axis("A=1"), axis("A=2")])
    many = ",".join(map(str, range(101)))
    with pytest.raises(UsageError, match="10201 combinations"):
        combinations([axis(f"A={many}"), axis(f"B={many}")])

"""Values as source text: each is equal to what it was once that text is run, after the definitions that it needs."""

from __future__ import annotations

import enum
from typing import Any

import pytest

from shrinkray_gpu.runner.inside.capture.kernelsource import Sources


class Side(enum.Enum):
    LEFT = "left"
    RIGHT = "right"


class Parts(enum.Flag):
    HEAD = 1
    BODY = 2
    TAIL = 4


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Side.RIGHT, "Side.RIGHT"),
        (Parts.BODY, "Parts.BODY"),
        (Parts.HEAD | Parts.TAIL, "Parts(5)"),
        ((Parts(0), 1.5), "(Parts(0), 1.5)"),
    ],
)
def test_members_of_an_enumeration(value: Any, text: str) -> None:
    sources = Sources()
    assert sources.literal(value) == text
    names: dict[str, Any] = {}
    kinds = ["import", "constant", "function"]
    for definition in sorted(sources.definitions, key=lambda each: kinds.index(each["kind"])):
        exec(definition["text"], names)
    again = eval(text, names)
    assert str(again) == str(value)

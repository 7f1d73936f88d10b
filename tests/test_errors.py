"""A step that only helps ends nothing, and says whose fault it is."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError, if_it_helps


def failing(error: Exception) -> int:
    raise error


def test_a_bug_of_ours_is_told_as_ours() -> None:
    said: list[str] = []
    assert if_it_helps(lambda: failing(KeyError("x")), 3, "lifting", said.append) == 3
    line = failing.__code__.co_firstlineno + 1
    assert said == [
        "lifting failed by a bug of shrink's own, which says nothing of the program "
        f"(KeyError: 'x' at {Path(__file__).name}:{line})"
    ]
    assert if_it_helps(lambda: 7, 3, "lifting", said.append) == 7 and len(said) == 1


@pytest.mark.parametrize("error", [UsageError("no such file"), OSError(errno.ENOSPC, "full")])
def test_what_the_user_must_read_goes_on(error: Exception) -> None:
    with pytest.raises(type(error)):
        if_it_helps(lambda: failing(error), 3, "lifting", print)

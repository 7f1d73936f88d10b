"""Text of others in Markdown does nothing."""

from __future__ import annotations

import pytest

from shrinkray_gpu.attachment.markdown import cell, code, fenced, prose


@pytest.mark.parametrize("text", ["plain", "```\nx\n```", "``````", "`a`"])
def test_a_fence_is_longer_than_any_in_it(text: str) -> None:
    first, *lines, last = fenced(text, "python").split("\n")
    assert first == last + "python" and "\n".join(lines) == text
    assert set(last) == {"`"} and len(last) >= 3 and last not in text


def test_code_in_a_line_ends_where_it_should() -> None:
    assert code("x | y") == "`x | y`" and cell("x | y") == "`x \\| y`"
    assert code("a `b` ``c``\nd") == "``` a `b` ``c`` d ```"


def test_nobody_is_called_and_nothing_is_linked() -> None:
    gap = "\N{ZERO WIDTH SPACE}"
    assert prose("by @user, see #12 and owner/repo#3, GH-4") == (
        f"by @{gap}user, see #{gap}12 and owner/repo#{gap}3, GH-{gap}4"
    )
    assert prose("</details><img src=x> a < b") == "&lt;/details>&lt;img src=x> a < b"


def test_code_within_prose_stays() -> None:
    assert prose("`@triton.jit` #1").startswith("`@triton.jit` #\N{ZERO WIDTH SPACE}")
    assert prose("`` a`b @c `` @d") == "`` a`b @c `` @\N{ZERO WIDTH SPACE}d"

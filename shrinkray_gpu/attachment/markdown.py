"""Text of others in Markdown: code stays code, and prose neither calls people nor links to issues nor makes tags."""

from __future__ import annotations

import re
from collections.abc import Callable

_RUN = re.compile(r"`+")
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:.*?[^`])\1(?!`)")
_CALL = re.compile(r"@(?=\w)|#(?=\d)|\b[Gg][Hh]-(?=\d)")
_TAG = re.compile(r"<(?=[a-zA-Z/!?])")
_LINK = re.compile(r"[\\\[\]]")
_NOTHING = "\N{ZERO WIDTH SPACE}"


class Markdown(str):
    """Text that is Markdown already."""


def fenced(text: str, language: str = "") -> str:
    """As a block of code, in a fence longer than any that stands in it."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def code(text: str) -> str:
    """As code within a line."""
    line, ticks = " ".join(text.split("\n")), "`" * (_longest_run(text) + 1)
    return f"{ticks} {line} {ticks}" if len(ticks) > 1 else f"`{line}`"


def cell(text: str) -> str:
    """As code in a table."""
    return code(text).replace("|", "\\|")


def _longest_run(text: str) -> int:
    return max(map(len, _RUN.findall(text)), default=0)


def prose(text: str) -> str:
    """The text in which `@user` and `#1` are read and do nothing, and tags are shown. Code within it stays."""
    return _outside_code(text, _defused)


def plain(text: str) -> str:
    """As `prose`, on one line, and without links and images: of a text that anybody may have written."""
    return _outside_code(" ".join(text.split()), lambda part: _defused(_LINK.sub(r"\\\g<0>", part)))


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    parts, end = [], 0
    for span in _SPAN.finditer(text):
        parts += [change(text[end : span.start()]), span.group()]
        end = span.end()
    return "".join([*parts, change(text[end:])])


def _defused(text: str) -> str:
    """A run of backticks that nothing ends might end further down: as characters they open no code."""
    return _TAG.sub("&lt;", _CALL.sub(lambda call: call.group() + _NOTHING, text)).replace("`", "&#96;")

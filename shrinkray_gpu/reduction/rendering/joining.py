"""How two pieces of Python text are put together."""

from __future__ import annotations

import re

_OPERATORS = "in not is and or if else for from await yield return lambda async as import del assert raise while with"
_ENDS_IN_WORD = re.compile(rf"(?<![\w.])(?:{_OPERATORS.replace(' ', '|')}|elif|case|match)\Z")
_BEGINS_WITH_WORD = re.compile(rf"(?:{_OPERATORS.replace(' ', '|')})\b")


def join(left: str, right: str) -> str:
    """Concatenate, with a space where two words would become one, or where libcst (not Python) wants one: it refuses
    `in(a if b else c)` and its like, and the next pass reads this text with libcst."""
    if not left or not right:
        return left + right
    last, first = left[-1], right[0]
    if last.isalnum() or last == "_":
        apart = first.isalnum() or first == "_" or (first in "([{\"'-+~." and _ENDS_IN_WORD.search(left[-8:]))
    else:
        apart = last in ")]}\"'" and _BEGINS_WITH_WORD.match(right)
    return f"{left} {right}" if apart else left + right


_PIECE = re.compile(
    r"(?P<string>'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|'(?:\\.|[^\\'\n])*'|\"(?:\\.|[^\\\"\n])*\")"
    r"|(?P<skip>#[^\n]*|\\\n)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<newline>\n)",
    re.DOTALL,
)


def breaks_line(text: str) -> bool:
    """Whether a line ends in it outside of brackets and strings."""
    if "\n" not in text:
        return False
    depth = 0
    for match in _PIECE.finditer(text):
        if match.lastgroup == "newline" and depth == 0:
            return True
        depth += (match.lastgroup == "open") - (match.lastgroup == "close")
    return False

"""A Python source cut wherever a statement begins at its margin: a guess, which whoever parses the parts proves.

A candidate differs from the one before it in one or two functions of a long file. What is known of the other parts need
not be worked out again, and to parse 4,000 lines takes 40 ms, several times a candidate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeVar

Known = TypeVar("Known")

KEPT = 8192
"""Parts that are remembered: a few MiB."""
LONGEST = 16_384
"""Characters of a part that is remembered. A longer one is a whole program, as a rule, and comes but once."""

_EDGE = re.compile(
    r'''"""(?:\\.|[^\\])*?"""|\'{3}(?:\\.|[^\\])*?\'{3}|\n(?=[^\s#)\]}])(?!(?:else|elif|except|finally)\b)''', re.DOTALL
)
"""A triple-quoted string, or the end of a line behind which a statement may begin: no clause, no closing bracket."""


def parts(text: str) -> Iterator[str]:
    """Stretches that make up the text. If each of them parses alone, then no string, bracket or block goes on past its
    end, and the statements of the text are those of the parts; otherwise the guess was wrong somewhere."""
    begin = last = 0
    for edge in _EDGE.finditer(text):
        if edge.group() == "\n":
            decorator, last = text[last] == "@", edge.end()
            if not decorator:  # what it decorates is of the same statement
                yield text[begin:last]
                begin = last
    yield text[begin:]


def cached(read: Callable[[str], Known]) -> Callable[[str], Known]:
    """The same of a part, but what is known of one is not worked out again."""
    recall = lru_cache(KEPT)(read)
    return lambda part: recall(part) if len(part) <= LONGEST else read(part)

"""What is CUDA C++ among the strings of a program, and how much of it there is: tokens, loops, numbers.

By the text alone, so that a string counts the same wherever it stands and whatever is left around it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_SURE = re.compile(r"\b__(?:global|device|host|shared)__\b|^[ \t]*#[ \t]*include\b", re.MULTILINE)
_CALL = re.compile(r"\w\(")
_ENDS = re.compile(r"[;}]\s*\Z")
_LEXEME = re.compile(
    r"""
    (?P<skip>\s+|//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)|\\\n)
  | (?P<raw>(?:u8|[uUL])?R"(?P<fence>[^()\s\\]{0,16})\(.*?\)(?P=fence)")
  | (?P<string>(?:u8|[uUL])?(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'))
  | (?P<number>(?:0[xX][0-9a-fA-F']+|0[bB][01']+|(?:\d[\d']*\.?[\d']*|\.\d[\d']*)(?:[eEpP][+-]?\d+)?)\w*)
  | (?P<name>[A-Za-z_$]\w*)
  | (?P<operator>\#\#|<<=|>>=|\.\.\.|->\*?|::|\+\+|--|&&|\|\||[-+*/%&|^=!<>]=|<<|>>|.)
    """,
    re.VERBOSE | re.DOTALL,
)


class Amount(NamedTuple):
    """How much code there is: see `reduction.size.Size`."""

    tokens: int
    loops: int
    literals: int


def is_code(value: str) -> bool:
    """Whether a string is C++ source: a marker of CUDA's, an include, or text that ends as declarations do."""
    if _SURE.search(value):
        return True
    return ";" in value and _ENDS.search(value) is not None and _CALL.search(value) is not None


def may_hold_code(text: str) -> bool:
    """Whether any string in this Python text may be: cheap, since it is asked of each candidate."""
    return _SURE.search(text) is not None or "#include" in text


def lexemes(source: str) -> Iterator[re.Match[str]]:
    """The tokens, comments and white space left out."""
    return (found for found in _LEXEME.finditer(source) if found.lastgroup != "skip")


@lru_cache(4096)
def amount(source: str) -> Amount:
    """What a C++ source adds to the size of its program."""
    count = loops = literals = 0
    for found in lexemes(source):
        count += 1
        word = found.group()
        if found.lastgroup == "number":
            literals += _bits(word)
        elif word in ("for", "while"):
            loops += 1
    return Amount(count, loops, literals)


def number(word: str) -> int | None:
    """The value of an integer literal; None for any other."""
    bare = word.replace("'", "").rstrip("uUlLzZ")
    try:
        return int(bare, 8) if re.fullmatch(r"0[0-7]+", bare) else int(bare, 0)
    except ValueError:
        return None


def _bits(word: str) -> int:
    value = number(word)
    return 0 if value is None else round(1000 * math.log2(1 + min(value, 2**64)))


@lru_cache(4096)
def normal(source: str) -> str:
    """The same for sources that differ in comments and layout only. Directives keep their lines, and `#define f(x)` is
    not `#define f (x)`."""
    out: list[str] = []
    at_start, directive = True, False
    end = 0
    for found in lexemes(source):
        gap = source[end : found.start()]
        end = found.end()
        newline = "\n" in gap.replace("\\\n", "") and not gap.endswith("*/") or not out
        if newline and (directive or found.group() == "#"):
            out.append("\n")
            at_start = True
        elif not at_start and (gap or not directive):
            out.append(" ")
        if at_start:
            directive = found.group() == "#"
        at_start = False
        out.append(found.group())
    return "".join(out)

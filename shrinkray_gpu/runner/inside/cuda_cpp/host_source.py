"""What the host's compiler needs of a CUDA source: kernels without their bodies, no functions of the device alone.

Most edits of a kernel leave that text as it is, so that the host code of a candidate is seldom built anew. By brackets
and words, no parser: what is not sure to be the device's alone (`__host__`, `constexpr`, members, macros) stays, and a
text in which the brackets do not match up keeps all of it. Standard library only.
"""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Tuple

_LEXEME = re.compile(
    r"""
    (?P<directive>^[ \t]*\#(?:[^\\\n/]|\\(?:\r?\n|.)|//(?:\\\n|[^\n])*|/\*.*?\*/|/)*)
  | (?P<skip>\n|[^\S\n]+|//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))
  | (?P<raw>(?:u8|[uUL])?R"(?P<fence>[^()\s\\]{0,16})\(.*?\)(?P=fence)")
  | (?P<string>(?:u8|[uUL])?(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'))
  | (?P<word>\w[\w']*)
  | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_SHARED = frozenset({"__host__", "constexpr", "consteval", "auto", "friend"})
"""Words of a function that the host may call, or whose body says what it returns."""

Lexeme = Tuple[str, str]


def host_side(text: str) -> str:
    """The text without comments and layout, and without what only the device's compiler reads."""
    lexemes = [(str(found.lastgroup), found.group()) for found in _LEXEME.finditer(text)]
    closing = _closing(lexemes)
    out = ""
    for at in range(len(lexemes)) if closing is None else _kept(lexemes, closing):
        kind, word = lexemes[at]
        if kind == "directive":
            out = out.rstrip() + "\n" + word.strip() + "\n"
        elif kind != "skip":
            out += word
        elif not out.endswith((" ", "\n")):
            out += " "
    return out


def _closing(lexemes: List[Lexeme]) -> Optional[Dict[int, int]]:
    """Where each bracket closes; None where one does not."""
    found: Dict[int, int] = {}
    stack: List[Tuple[int, str]] = []
    for at, (kind, word) in enumerate(lexemes):
        if kind != "sign":
            continue
        if word in _PAIRS:
            stack.append((at, _PAIRS[word]))
        elif word in _PAIRS.values():
            if not stack or stack[-1][1] != word:
                return None
            found[stack.pop()[0]] = at
    return None if stack else found


def _kept(lexemes: List[Lexeme], closing: Dict[int, int]) -> List[int]:
    """The lexemes that stay, definition by definition, within namespaces too."""
    kept: List[int] = []
    begin = at = 0  # where the definition began, and how far it was read
    while at < len(lexemes):
        kind, word = lexemes[at]
        if kind == "directive" or (kind == "sign" and word in ";}"):
            kept += range(begin, at + 1)
            begin = at = at + 1
        elif kind == "sign" and word in "([":
            at = closing[at] + 1
        elif kind == "sign" and word == "{":
            end = closing[at]
            head = [each for each in lexemes[begin:at] if each[0] != "skip"]
            words = {each[1] for each in head if each[0] == "word"}
            is_function = head[-1:] == [("sign", ")")] and not words & _SHARED
            if _is_scope(head):
                kept += range(begin, at + 1)
                begin = at = at + 1
            elif is_function and "__global__" in words:
                kept += [*range(begin, at + 1), end]
                begin = at = end + 1
            elif is_function and "__device__" in words:
                begin = at = end + 1
            else:
                at = end + 1
        else:
            at += 1
    return [*kept, *range(begin, len(lexemes))]


def _is_scope(head: List[Lexeme]) -> bool:
    """`namespace a::b {`, `inline namespace {`, `extern "C" {`."""
    words = [word for kind, word in head if kind == "word"]
    return "namespace" in words[:2] or (words[:1] == ["extern"] and head[-1][0] == "string")

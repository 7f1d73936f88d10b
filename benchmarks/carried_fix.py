"""The fix of a program, carried over to what a reduction left of it.

Three ways are tried in turn, until one places all of it: the tool's own patch; the words of each changed line, where
they stand once; and replacements by hand, if the program's card has any.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Sequence
from pathlib import Path

from shrinkray_gpu.same_fault.patch import patches
from shrinkray_gpu.same_fault.patch.merge import MergedText

_WORD = re.compile(r"\w+|[^\w\s]")
CONTEXT = 4
"""Tokens before a change, by which its place is known where statements were merged."""


def carried(fix: Path, source: str, script: str, text: str, again: Sequence[Sequence[str]] = ()) -> MergedText:
    """The text with the fix, which is a diff against the source of the script. `again`: the same as replacements."""
    merged = patches.read(fix, source, script).carry(text)
    for other, placed in (_by_tokens(fix.read_text(), text), _replaced(again, text)) if not merged.whole else ():
        if placed or merged.text is None:
            merged = MergedText(other, placed, merged.why)
        if merged.whole:
            break
    return merged


def _by_tokens(diff: str, text: str) -> tuple[str | None, bool]:
    """The text with what the fix changes within lines, and whether all of it found its place.

    A place is the tokens that change and those before them, where they stand there once.
    """
    old, new = ([line[1:] for line in diff.splitlines() if re.match(rf"[{sign}](?![-+])", line)] for sign in ("-", "+"))
    if len(old) != len(new):
        return None, False
    placed = 0
    for before, after in zip(old, new):
        was, now = list(_WORD.finditer(before)), list(_WORD.finditer(after))
        words, others = [each[0] for each in was], [each[0] for each in now]
        same = len(os.path.commonprefix([words, others]))
        ends = len(os.path.commonprefix([words[::-1], others[::-1]]))
        ends = min(ends, len(was) - same, len(now) - same)
        put = now[same : len(now) - ends]
        into = after[put[0].start() : put[-1].end()] if put else ""
        context, taken = words[max(0, same - CONTEXT) : same], words[same : len(was) - ends]
        head, tail = (r"\s*".join(map(re.escape, each)) for each in (context, taken))
        found = list(re.finditer(rf"({head}\s*)({tail})", text)) if context and taken else []
        if len(found) == 1:
            text = text[: found[0].start(2)] + into + text[found[0].end() :]
            placed += 1
    return text if placed and _is_python(text) else None, placed == len(old) and _is_python(text)


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _replaced(pairs: Sequence[Sequence[str]], text: str) -> tuple[str | None, bool]:
    """The text with the fix as its .toml says it again, as replacements, where all of them find their words."""
    placed = bool(pairs) and all(old in text for old, _ in pairs)
    for old, new in pairs if placed else ():
        text = text.replace(old, new)
    return text if placed else None, placed

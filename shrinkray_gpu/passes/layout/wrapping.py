"""Lines that are too long are broken at their last bracket, and what it holds fills as few rows as it takes."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator, Sequence

WIDTH = 100
WIDER = (120, 160, 1 << 30)
"""Where lines of that width are too many."""


def wrap_lines(text: str, width: int = WIDTH) -> str:
    """The text with its long lines broken; those that hold a comment, or are broken already, stay."""
    lines = text.split("\n")
    alone = _alone(text)
    return "\n".join("\n".join(_wrapped(line, width)) if at in alone else line for at, line in enumerate(lines, 1))


def _alone(text: str) -> set[int]:
    """Numbers of the lines that are one logical line each, without a comment."""
    found: set[int] = set()
    first = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            continue
        if token.type == tokenize.COMMENT:
            first = -1
        elif token.type == tokenize.NEWLINE:
            if first == token.start[0]:
                found.add(first)
            first = 0
        elif first == 0:
            first = token.start[0]
    return found


def _wrapped(line: str, width: int) -> Iterator[str]:
    split = _last_bracket(line) if len(line) > width else None
    if split is None:
        yield line
        return
    opening, closing, commas = split
    indent = line[: len(line) - len(line.lstrip())]
    inner = line[opening + 1 : closing].strip()
    yield line[: opening + 1]
    parts = [line[a + 1 : b].strip() for a, b in zip([opening, *commas], [*commas, closing])]
    parts = [part for part in parts if part]
    if len(f"{indent}    {inner}") <= width or not commas:
        yield from _wrapped(f"{indent}    {inner}", width)
    else:
        members = [*(f"{part}," for part in parts[:-1]), parts[-1] if len(parts) > 1 else f"{parts[-1]},"]
        for row in _filled(members, width - len(indent) - 4):
            yield from _wrapped(f"{indent}    {row}", width)
    yield f"{indent}{line[closing:]}"


def _filled(members: Sequence[str], width: int) -> Iterator[str]:
    """As many members a row as fit; one a row would make a short program look long."""
    row = ""
    for member in members:
        if row and len(f"{row} {member}") > width:
            yield row
            row = ""
        row += f" {member}" if row else member
    if row:
        yield row


def _last_bracket(line: str) -> tuple[int, int, list[int]] | None:
    """The last bracket pair of a line that nothing encloses and that holds something; with its commas, if it is a list
    (in a comprehension they mean something else)."""
    stack: list[int] = []
    commas: dict[int, list[int]] = {}
    found: tuple[int, int] | None = None
    comprehensions: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(line.strip() + "\n").readline):
            at = token.start[1] + len(line) - len(line.lstrip())
            if token.string in ("(", "[", "{") and token.type == tokenize.OP:
                stack.append(at)
            elif token.string in (")", "]", "}") and token.type == tokenize.OP and stack:
                opening = stack.pop()
                if not stack and at - opening > 8:
                    found = (opening, at)
            elif stack and token.string == ",":
                commas.setdefault(stack[-1], []).append(at)
            elif stack and token.string in ("for", "lambda") and token.type == tokenize.NAME:
                comprehensions.add(stack[-1])
    except (tokenize.TokenError, IndentationError):
        pass  # the head of a block, `def f(...):`, ends too soon for the tokenizer
    if found is None:
        return None
    return (*found, [] if found[0] in comprehensions else commas.get(found[0], []))

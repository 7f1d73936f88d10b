"""A source in pieces, one for each statement at its left margin, so that what is known of a piece is not asked again.

A candidate differs from the one before it in one or two of the functions of a long file. To parse, to hash and to count
all of 4,000 lines took 0.1 s a candidate; most of it had been done for the candidate before.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cached_property

from shrinkray_gpu.language.statement_starts import cached, parts
from shrinkray_gpu.reduction.native.code import is_code, may_hold_code, normal
from shrinkray_gpu.reduction.size import PartSize, part_size


class Piece:
    """Some whole statements: what they mean, and how much they are."""

    def __init__(self, text: str, meaning: bytes) -> None:
        self.text = text
        self.meaning = meaning
        """The same for texts that differ in comments and layout only. That of several pieces is the meanings of all."""

    @cached_property
    def part_size(self) -> PartSize:
        """What the size of the program takes from this piece."""
        return part_size(self.text)


def pieces_of(text: str) -> list[Piece] | None:
    """The pieces that the text is made of; a single one where no edge can be trusted; None if it is not Python.

    An edge is a guess. If each piece parses alone it was right: then no string, bracket or block goes on past it.
    """
    found = []
    for part in parts(text):
        piece = _piece(part)
        if piece is None:
            whole = _piece(text)
            return None if whole is None else [whole]
        found.append(piece)
    return found


@cached
def _piece(text: str) -> Piece | None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if may_hold_code(text):
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and is_code(node.value):
                node.value = normal(node.value)
    meanings = (hashlib.blake2b(ast.dump(each).encode("utf-8", "surrogatepass"), digest_size=16) for each in tree.body)
    return Piece(text, b"".join(each.digest() for each in meanings))

"""Options become their defaults where these are read, and only if nothing else is made of them."""

from __future__ import annotations

import pytest

from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.start.option_defaults import with_defaults

PROGRAM = """\
import argparse
NAMES = ["a", "b"]

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument(ADDED)
    args = parser.parse_args()
    print(args.READ)
"""


def defaults(added: str, read: str) -> str:
    text = PROGRAM.replace("ADDED", added).replace("READ", read)
    less = with_defaults(Program.from_text(text)).text
    return less.replace(text[: text.index("    parser =")], "")


@pytest.mark.parametrize(
    ("added", "read", "value"),
    [
        ('"--rows", type=int, default=3', "rows", "3"),
        ('"-r", "--row-count", type=int, default=-3', "row_count", "-3"),
        ('"--rows", dest="other", default=(1, 2)', "other", "(1, 2)"),
        ('"--names", default=list(NAMES), nargs="+"', "names", "list(NAMES)"),
        ('"--fast", action="store_true"', "fast", "False"),
        ('"name", nargs="?", default="a"', "name", '"a"'),
        ('"--name"', "name", "None"),
    ],
)
def test_the_value_stands_where_it_is_read(added: str, read: str, value: str) -> None:
    assert defaults(added, read) == f"    print({value})\n"


@pytest.mark.parametrize(
    ("added", "read"),
    [
        ('"--rows", type=int, default="3"', "rows"),
        ('"rows"', "rows"),
        ('"--rows", action="append"', "rows"),
        ('"--rows", default=parser.rows', "rows"),
    ],
)
def test_what_is_made_of_a_default_or_typed_stays(added: str, read: str) -> None:
    assert f"print(args.{read})" in defaults(added, read)


def test_a_parser_stays_that_something_else_reads() -> None:
    text = defaults('"--rows", default=3', "rows, args")
    assert "print(3, args)" in text and "args = parser.parse_args()" in text

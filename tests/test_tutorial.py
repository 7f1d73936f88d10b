"""docs/tutorial.md shows what the tool prints. `python -m tests.tutorial` checks all of the page in 3 minutes; here its
reproducer alone is run, as the page runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import tutorial
from tests.tutorial import Quoted, unprinted


@pytest.mark.slow
def test_the_reproducer_of_the_page_shows_its_fault(tmp_path: Path) -> None:
    (tmp_path / tutorial.REPRO).write_text(tutorial.repro())
    (check,) = [quoted for quoted in tutorial.commands() if "--check" in quoted.command]
    printed = tutorial.output(check.command, tmp_path)
    assert unprinted(check, printed) is None, printed


def test_the_page_quotes_each_step() -> None:
    steps = [quoted.command.split(" --")[0] for quoted in tutorial.commands() if quoted.command.startswith("shrink")]
    assert steps == [
        "shrink explain failing.py",
        "shrink failing.py",
        "shrink repro_failing.py",
        "shrink corpus add failing.shrink",
        "shrink replay corpus",
        "shrink replay corpus",
    ]
    assert all(quoted.lines for quoted in tutorial.commands())


@pytest.mark.parametrize(
    ("lines", "printed", "missing"),
    [
        (("a", "b"), "a\nb\n", None),
        (("a", "c"), "a\nb\nc\n", "c"),
        (("a", "...", "c"), "a\nb\nc\n", None),
        (("took 3 s",), "took 5.1 s\n", None),
        (("known: ...",), "known: much\n", None),
        (("known: ...",), "new: much\n", "known: ..."),
        (("b", "a"), "a\nb\n", "b"),
    ],
)
def test_a_line_that_is_not_printed_is_found(lines: tuple[str, ...], printed: str, missing: str | None) -> None:
    assert unprinted(Quoted("x", lines), printed) == missing

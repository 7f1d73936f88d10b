"""`shrink help words`: docs/words.md, for a terminal."""

from __future__ import annotations

import re
from pathlib import Path

import click

PAGE = "words.md"
"""Beside this module where we are installed; in docs/ of a checkout."""


def glossary(width: int | None) -> str:
    """Each word, and what it means."""
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", _page(), re.M)
    formatter = click.HelpFormatter(max_width=width or 100)
    with formatter.section("Words of shrink"):
        formatter.write_dl([(word, _plain(told)) for word, told in rows if word not in ("word", "---")])
    return formatter.getvalue().rstrip()


def _plain(told: str) -> str:
    """Without Markdown."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", re.sub(r"[`*]", "", told))


def _page() -> str:
    here = Path(__file__).with_name(PAGE)
    page = here if here.exists() else Path(__file__).parents[2] / "docs" / PAGE
    return page.read_text(encoding="utf-8")

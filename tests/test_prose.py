"""The sentences of the pages that a user reads are short, and docs/files.md has what a reduction writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shrinkray_gpu.options import Options
from shrinkray_gpu.result.result_file import result_fields
from shrinkray_gpu.result.summary import Result
from tests import prose

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("page", prose.pages(), ids=lambda page: page.name)
def test_sentences_are_short(page: Path) -> None:
    assert not prose.complaint(prose.prose(page)), f"\n{prose.complaint(prose.prose(page))}"


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One two. Three\nfour!\n\nFive", ["One two.", "Three four!", "Five"]),
        ("See `a. B` and [the page](x.md#y). Next.", ["See Code and the page.", "Next."]),
        ("# Heading one\n\n| a table | b |\n\n    code. More\n\nText:\n\n```\ncode. More\n```\n", ["Text:"]),
        (
            "- An item\n  of two lines.\n- Another.\n    - Below it.\n",
            ["An item of two lines.", "Another.", "Below it."],
        ),
        (
            "<!-- rooms: begin, by x -->\nNot this.\n<!-- rooms: end -->\nThis, at 3.9.0 or v1.\n",
            ["This, at 3.9.0 or v1."],
        ),
    ],
)
def test_a_sentence_ends_at_its_mark(text: str, sentences: list[str]) -> None:
    assert list(prose.sentences(text)) == sentences


def test_a_long_sentence_is_named(tmp_path: Path) -> None:
    page = ROOT / "docs" / "index.md"
    long = " ".join(["word"] * (prose.LONGEST + 1)) + "."
    assert long in prose.complaint(prose.Prose(page, (long,)))
    assert "two colons" in prose.complaint(prose.Prose(page, ("Three things: one: two.",)))
    assert not prose.complaint(prose.Prose(page, ("Short: it says enough.",)))


def test_the_page_of_files_has_every_key_of_a_result(tmp_path: Path) -> None:
    result = Result(
        output=tmp_path / "repro.py", text="", spec="x", before=(2, 9), after=(1, 4), tries={}, seconds={}, mode="cold",
        verified=1, final_runs=1, ended="done", command="python repro.py",
    )  # fmt: skip
    facts = result_fields(tmp_path / "failing.py", Options(oracle=("x",)), result, {})
    _, printed, alone = re.split(r"^## result.json|^\| key of", (ROOT / "docs" / "files.md").read_text(), flags=re.M)
    keys = [
        {key for cell in re.findall(r"^\| (.*?) \|", part, re.M) for key in re.findall(r"`(\w+)`", cell)}
        for part in (printed, alone)
    ]
    assert keys[0] == result.to_json().keys()
    assert keys[1] == facts.keys() - result.to_json().keys()

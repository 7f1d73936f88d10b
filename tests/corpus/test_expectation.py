"""What a case expects of a Triton, and what is then news."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.corpus.expectation import Status, expected_status
from tests.corpus.making import case, outcome

RANGES = {">=3.5.1,<3.9": "faults", ">=3.9,<3.10": "changed", ">=3.10": "fixed", "==3.4.0": "flaky"}


@pytest.mark.parametrize(
    ("triton", "status"),
    [
        ("3.4.0", Status.FLAKY),
        ("3.5.0", None),
        ("3.5.1", Status.FAULTS),
        ("3.7.1+gitabc123", Status.FAULTS),
        ("3.9.0", Status.CHANGED),
        ("3.10.0.dev20261101", Status.FIXED),
        ("3.10.0rc1", Status.FIXED),
        ("", None),
        ("unknown", None),
    ],
)
def test_by_version(tmp_path: Path, triton: str, status: Status | None) -> None:
    assert expected_status(case(tmp_path, expect=RANGES), triton) is status


def test_the_first_range_counts(tmp_path: Path) -> None:
    assert expected_status(case(tmp_path, expect={"==3.6.0": "fixed", ">=3": "faults"}), "3.6.0") is Status.FIXED


@pytest.mark.parametrize(
    ("said", "seen", "news"),
    [
        ("faults", Status.FAULTS, False),
        ("faults", Status.FIXED, True),
        ("faults", Status.CHANGED, True),
        ("faults", Status.FLAKY, False),
        ("faults", Status.CANNOT, False),
        ("fixed", Status.FAULTS, True),
        ("fixed", Status.FLAKY, True),
        ("fixed", Status.CHANGED, True),
        ("changed", Status.CHANGED, False),
        ("changed", Status.FAULTS, True),
        ("flaky", Status.FAULTS, False),
        ("flaky", Status.FIXED, True),
        (None, Status.FAULTS, False),
        (None, Status.FIXED, False),
        (None, Status.CHANGED, True),
    ],
)
def test_what_is_news(tmp_path: Path, said: str | None, seen: Status, news: bool) -> None:
    expecting = case(tmp_path, expect={">=3": said} if said else None)
    assert outcome(expecting, seen).surprising is news


def test_how_an_outcome_is_told(tmp_path: Path) -> None:
    one = case(tmp_path)
    assert str(outcome(one, Status.FLAKY, shown=3, runs=10)) == "flaky 3 of 10"
    assert str(outcome(one, Status.FIXED)) == "fixed"
    assert outcome(one, Status.FIXED).expectation_text == "still faults"
    assert outcome(one, Status.FIXED, triton="2.0").expectation_text == "nothing in particular"

"""Verdict and attachment begin beside the clean runs of the result, and are of what these bear out."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.corpus import environments
from shrinkray_gpu.job import attach, conclusion, final_check, inquiry
from shrinkray_gpu.job.inquiry import Inquiry
from shrinkray_gpu.job.reduce import reduce
from shrinkray_gpu.result.summary import Result
from tests.e2e.programs import NARROW_TILES

pytest.importorskip("triton")

Spans = dict[str, list[tuple[float, float]]]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Spans:
    """From when to when each was at work."""
    found: Spans = {}

    def watch(owner: Any, name: str) -> None:
        function: Callable[..., Any] = getattr(owner, name)
        found[name] = []

        def watched(*args: Any, **options: Any) -> Any:
            begun = time.monotonic()
            try:
                return function(*args, **options)
            finally:
                found[name].append((begun, time.monotonic()))

        monkeypatch.setattr(owner, name, watched)

    watch(conclusion, "final_check")
    watch(inquiry, "blame_of")
    watch(attach, "at_the_end")
    return found


def reduced(folder: Path, **options: Any) -> Result:
    program = folder / "tiles.py"
    program.write_text(NARROW_TILES)
    return reduce(program, arch="sm_90", oracle="misaligned address", jobs=2, max_time=1.0, **options)


def test_both_are_asked_once_and_beside_the_clean_runs(
    tmp_path: Path, spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, measure = threading.Event(), attach.at_the_end
    check = final_check.clean_runs

    def seen(*args: Any, **options: Any) -> Any:
        begun.set()
        return measure(*args, **options)

    def slow(*args: Any, **options: Any) -> Any:
        assert begun.wait(60)
        return check(*args, **options)

    monkeypatch.setattr(attach, "at_the_end", seen)
    monkeypatch.setattr(final_check, "clean_runs", slow)
    result = reduced(tmp_path)
    [checked], [blamed], [measured] = spans.values()
    assert blamed[0] < checked[1] and measured[0] < checked[1]
    assert result.verdict and (tmp_path / "tiles.shrink" / "ISSUE.md").is_file()


def test_what_was_begun_for_another_text_is_asked_anew(
    tmp_path: Path, spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = Inquiry.begin_attachment

    def wrong(self: Inquiry, text: str, shown: str) -> None:
        begin(self, f"{text}\nnever = 1\n", shown)

    monkeypatch.setattr(Inquiry, "begin_attachment", wrong)
    result = reduced(tmp_path)
    assert len(spans["at_the_end"]) == 2
    repro = next((tmp_path / "tiles.shrink").glob("repro_*.py")).read_text()
    assert "never" not in repro and result.text in repro


def test_where_the_user_says_how_long_a_run_may_take_they_wait(tmp_path: Path, spans: Spans) -> None:
    reduced(tmp_path, timeout=60.0)
    [checked], [blamed], [measured] = spans.values()
    assert checked[1] < blamed[0] < measured[0]


def test_where_no_other_release_is_at_hand_no_case_is_laid_out_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of this one nothing is known that a case needs."""
    monkeypatch.setattr(environments, "tritons_at_hand", lambda python: [])
    assert attach._releases(tmp_path, {}, (), sys.executable, print) == {}

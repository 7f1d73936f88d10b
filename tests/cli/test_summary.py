"""What is told at the end can be typed as it stands, and what matters most comes first."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.cli.summary import as_called, rows_of, tell
from shrinkray_gpu.result.summary import Result
from tests.cli.test_progress import plain

RESULT = Result(
    Path("repro.py"), "x\n", "misaligned address", (202, 2481), (11, 130), {"lane": 7}, {"start": 1, "search": 2,
    "check": 3, "gpu": 0}, "virtual", 1, 1, "done", "shrink repro.py --check",
    verdict={"verdict": "compiler", "upstream": "nobody's"}, fault="device fault", same="same fault: by its cause",
    attachment="x.shrink/ISSUE.md", lifted="lifted: launch 7",
)  # fmt: skip


def test_a_command_of_ours_is_told_as_it_was_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo's environment is not active: `shrink` alone would not be found."""
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    called = tmp_path / ".venv" / "bin" / "shrink"
    called.write_text("")
    called.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "argv", [str(called)])
    assert as_called("shrink repro.py --check") == ".venv/bin/shrink repro.py --check"
    assert as_called("python repro.py") == "python repro.py"
    monkeypatch.setattr(sys, "argv", ["/x/shrinkray_gpu/__main__.py"])
    assert as_called("shrink repro.py").endswith(" -m shrinkray_gpu repro.py")
    monkeypatch.setenv("PATH", str(called.parent))
    assert as_called("shrink repro.py --check") == "shrink repro.py --check"


def test_the_verdict_comes_first_then_three_rows_of_evidence_and_where_things_are_last() -> None:
    labels = [label for label, _ in rows_of(RESULT, whole=False)]
    assert labels == ["verdict", "upstream", "fault", "same fault", "", "saved", "to attach", "shows the fault"]
    assert dict(rows_of(RESULT, whole=False))["fault"] == "device fault; 'misaligned address' in 1 of 1 clean runs"
    twin = replace(RESULT, twin={"text": "y", "edit": "2 for 3", "proof": "it ends well"})
    assert ("healthy with", "2 for 3; it ends well") in rows_of(twin, whole=False)
    assert ("", RESULT.lifted) not in rows_of(twin, whole=False) and ("", RESULT.lifted) in rows_of(twin, whole=True)


def test_what_is_as_usual_is_told_on_demand_and_what_is_missing_always() -> None:
    usual = replace(RESULT, guarded="guarded, as far as the text shows: all", fence="fence around candidates: writes")
    assert list(rows_of(usual, whole=False)) == list(rows_of(RESULT, whole=False))
    told = {text for _, text in rows_of(usual, whole=True)}
    assert {usual.guarded, usual.fence, "7 tries (7 lane): start 1 s, search 2 s, final check 3 s"} <= told
    missing = replace(usual, guarded="not guarded: no mask", fence=f"{usual.fence}; not on this machine: TCP")
    assert {missing.guarded, missing.fence} <= {text for _, text in rows_of(missing, whole=False)}


def test_of_several_cases_that_know_the_fault_one_is_told() -> None:
    known = replace(RESULT, known=("case a; fixed in 3.9", "case b"))
    assert ("known", "case a; fixed in 3.9; and by 1 more, which --verbose names") in rows_of(known, whole=False)
    assert [text for label, text in rows_of(known, whole=True) if label == "known"] == [*known.known]


HOSTILE = "bo\x1b]52;c;cHdu\x07\u202e\ud800m"
SAFE = r"bo\x1b]52;c;cHdu\x07\u202e\ud800m"


@pytest.mark.parametrize("terminal", [False, True])
def test_no_message_reaches_the_terminal_raw(terminal: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nor does half a character end a reduction that is done with a traceback: no stream takes it."""
    with (tmp_path / "said").open("w", encoding="utf-8") as stream:
        monkeypatch.setattr(stream, "isatty", lambda: terminal)
        monkeypatch.setattr(sys, "stdout", stream)
        told = replace(RESULT, fault=f"ValueError: {HOSTILE}", text=f'raise ValueError("{HOSTILE}")\n')
        tell(told, Path(f"{HOSTILE}.py"), None, whole=True)
    said = (tmp_path / "said").read_text()
    assert plain(said).count(SAFE) == 3 and not {"\x07", "\u202e"} & set(said) and "\x1b]" not in said


def test_a_program_that_is_laid_out_anew_is_not_said_to_have_shrunk_to_more_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tell(replace(RESULT, before=(2, 8), after=(3, 5)), Path("x.py"), None, whole=False)
    assert capsys.readouterr().out.startswith("reduced: x.py from 8 tokens to 5, in 6 s\n")
    tell(replace(RESULT, before=(3, 8), after=(3, 5)), Path("x.py"), None, whole=False)
    assert capsys.readouterr().out.startswith("reduced: x.py from 3 lines to 3, 8 tokens to 5, in 6 s\n")


def test_a_search_that_was_stopped_early_says_so_and_how_to_go_on() -> None:
    early = replace(RESULT, ended="stopped early", early="the last turns of all passes took 0 tokens in 4 s")
    rows = dict(rows_of(early, whole=False))
    assert rows["stopped early"] == early.early
    assert rows["go on with"] == "the same command with --resume in place of --fast"
    assert not {"stopped early", "go on with"} & dict(rows_of(RESULT, whole=False)).keys()

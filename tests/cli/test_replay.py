"""`shrink replay` and `shrink corpus`, where no case has to be run: arguments, lists, and what is refused."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from shrinkray_gpu.cells.cell import SICK, Row
from shrinkray_gpu.cli.main import main
from shrinkray_gpu.corpus.case_cells import CaseCell
from shrinkray_gpu.corpus.expectation import Status
from shrinkray_gpu.corpus.replayer import Replayer
from tests.corpus.making import LOOKUP, outcome, write


@dataclass(frozen=True)
class Said:
    code: object
    out: str
    err: str


Shrink = Callable[..., Said]


@pytest.fixture
def shrink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shrink:
    monkeypatch.chdir(tmp_path)

    def call(*words: str | Path) -> Said:
        code: object = 0
        try:
            main(list(map(str, words)))
        except SystemExit as end:
            code = end.code or 0
        return Said(code, *capsys.readouterr())

    return call


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["none"], "none is not a folder: name a corpus, or one case of it"),
        (["."], ". holds no cases: a case is a folder in it with a case.toml"),
        (["bad"], "case.toml: unknown key expct; did you mean 'expect'?"),
        (["good", "--case", "lokup"], "there is no case 'lokup' in good; did you mean 'lookup'?"),
        (["good", "--arch", "hopper"], "--arch hopper: name an architecture"),
        (["good", "--env", "DEBUG"], "--env DEBUG: write it as NAME=VALUE"),
        (["good", "--python", "/none"], "cannot run the interpreter /none"),
        (["good", "--python", "/bin/echo"], "/bin/echo is not a Python interpreter"),
        (["good", "--triton", ","], "--triton ',' names no version: write 3.6.0"),
        (["good", "--triton", "newest"], "--triton newest: that is no version; write 3.6.0"),
        (["good", "--python", "/a", "--python", "/b", "--triton", "3.4.0"], "give --python once"),
        (["good", "--python", "/a", "--python", "/b", "--bisect", "lookup"], "give --python once"),
        (["good", "--junit", "none/it.xml"], "cannot write none/it.xml: none is no folder that can be written"),
        (["good", "--runs", "0"], "(shrink replay --help lists what there is)"),
        (["good", "--runs", "many"], "(shrink replay --help lists what there is)"),
        (["good", "--everything"], "No such option '--everything'"),
        (["good", "--bisect", "other"], "there is no case 'other' in good; known: lookup"),
    ],
)
def test_what_replay_refuses(shrink: Shrink, words: list[str], told: str) -> None:
    write(Path("good"), "lookup")
    write(Path("bad"), "lookup", expct={})
    said = shrink("replay", *words)
    assert said.code == 2 and said.err.startswith("shrink: ") and told in said.err, said
    assert len(said.err.splitlines()) == 1 and said.out == ""


def test_where_not_one_case_can_run_nothing_is_called_well(shrink: Shrink) -> None:
    write(Path("corpus"), "on_gpu", needs={"gpu": True})
    write(Path("corpus"), "on_blackwell", needs={"architecture": "sm_100"})
    said = shrink("replay", "--arch", "sm_90")
    assert said.code == 2 and "shrink: not one case can run here, so nothing was checked" in said.err
    assert "- on_gpu: it needs a real GPU, and --arch launches nothing" in said.out
    assert "2 cannot run here" in said.out and "as expected" not in said.out


def test_without_gpu_and_arch_the_way_out_is_told(shrink: Shrink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    write(Path("corpus"), "lookup")
    said = shrink("replay")
    assert said.code == 2 and "- lookup: there is no GPU; --arch sm_90 compiles for one without it" in said.out


def test_a_report_that_cannot_be_written_costs_no_outcome(shrink: Shrink) -> None:
    write(Path("corpus"), "on_gpu", needs={"gpu": True})
    said = shrink("replay", "--arch", "sm_90", "--html", "/proc/it.html")
    assert said.code == 2 and "cannot write /proc/it.html: No such file or directory. Choose another" in said.err
    assert "1 cannot run here" in said.out


def test_words_of_a_case_that_are_no_text_keep_nobody_from_the_rest(
    shrink: Shrink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "second"):
        write(tmp_path / "corpus", name)
    row = partial(outcome, status=Status.CANNOT, why="lone: \ud800")
    monkeypatch.setattr(CaseCell, "run", lambda cell, lanes: row(cell.case).to_row())
    said = shrink("replay", "--jobs", "1", "--html", "it.html", "--junit", "it.xml")
    assert said.code == 2 and "first" in said.out and "- second: lone: \\ud800" in said.out
    assert "lone: \\ud800" in (tmp_path / "it.html").read_text() and "lone: " in (tmp_path / "it.xml").read_text()


def test_an_interpreter_without_triton_is_named(shrink: Shrink) -> None:
    write(Path("corpus"), "lookup")
    subprocess.run(["python3", "-m", "venv", "--without-pip", "bare"], check=True)
    said = shrink("replay", "--python", "bare/bin/python", "--arch", "sm_90")
    assert said.code == 2 and "bare/bin/python has no Triton: name an interpreter that has, by --python" in said.out


def test_help_tells_the_exit_codes(shrink: Shrink) -> None:
    said = shrink("replay", "--help")
    assert said.code == 0 and "Exit codes: 0 all is as the cases expect, 1 something changed, 2 usage" in said.out


def test_list_and_show(shrink: Shrink) -> None:
    write(Path("corpus"), "lookup", runs=4, argv=["--size", "3 4"], environment={"SHAPE": "odd"}, reject=["exit:3"],
          needs={"gpu": True, "architecture": "sm_90", "packages": ["helion>=0.3"]})  # fmt: skip
    write(Path("corpus"), "a_longer_name")
    assert shrink("corpus", "list").out.splitlines() == [
        "a_longer_name  missing key: A key that is not there",
        "lookup         missing key: A key that is not there",
    ]
    shown = shrink("corpus", "show", "lookup").out
    for line in (
        "oracle      'exception:KeyError'",
        "reject      'exit:3'",
        "fault       python fault: KeyError: 'gone'",
        "needs       a real GPU, sm_90, helion>=0.3",
        "run         SHAPE=odd, with the arguments --size '3 4', 4 times",
        "expected    faults for triton >=3",
    ):
        assert line in shown.splitlines()
    assert shown.endswith("\n\n" + LOOKUP)
    assert shrink("corpus", "show", "corpus/lookup").out == shown


def test_a_case_of_others_does_nothing_to_the_terminal(shrink: Shrink) -> None:
    write(Path("corpus"), "lookup", title="one\x1b]52;c;cHdu\x07 \u202etwo")
    for words in (["corpus", "list"], ["corpus", "show", "lookup"]):
        said = shrink(*words).out
        assert r"one\x1b]52;c;cHdu\x07 \u202etwo" in said and not {"\x1b", "\x07", "\u202e"} & set(said)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["lst"], "No such command 'lst'"),
        (["show", "lokup"], "there is no case 'lokup' in corpus; did you mean 'lookup'?"),
        (["list", "none"], "none is not a folder"),
        (["add", "none"], "none is not a folder: name the one that a reduction left, <stem>.shrink"),
        (["add", "corpus"], "corpus has no result.json, which a reduction writes when it ends"),
    ],
)
def test_what_corpus_refuses(shrink: Shrink, words: list[str], told: str) -> None:
    write(Path("corpus"), "lookup")
    said = shrink("corpus", *words)
    assert said.code == 2 and told in said.err and len(said.err.splitlines()) == 1, said


def test_corpus_alone_says_what_it_can_do(shrink: Shrink) -> None:
    said = shrink("corpus")
    assert said.code == 0 and all(word in said.out for word in ("add", "list", "show"))


def test_what_was_seen_before_a_gpu_fell_sick_is_written(
    shrink: Shrink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def seen(cell: CaseCell, lanes: Replayer) -> Row:
        row = outcome(cell.case, Status.FAULTS).to_row()
        return {**row, SICK: "cuInit gives error 999"} if cell.case.name == "second" else row

    for name in ("first", "second", "third"):
        write(tmp_path / "corpus", name)
    monkeypatch.setattr(CaseCell, "run", seen)
    said = shrink("replay", "--jobs", "1", "--junit", "it.xml")
    assert (said.code, "cuInit gives error 999" in said.err) == (2, True)
    assert "first   faults" in said.out and "- third: not run: the GPU is sick" in said.out
    assert "all is as expected" not in said.out and "- first" not in said.out
    assert (tmp_path / "it.xml").read_text().count("not run: the GPU is sick") == 2
    told = json.loads(shrink("replay", "--jobs", "1", "--json").out)
    [cases] = [column["cases"] for column in told.values()]
    assert [row["status"] for row in cases.values()] == ["still faults", "cannot run here", "cannot run here"]

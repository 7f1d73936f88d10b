"""A `case.toml` is read whole or refused, with the place and what was meant."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.corpus import schema
from shrinkray_gpu.corpus.case import Case, cases, load
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import Fault
from shrinkray_gpu.oracle.hang import HangOracle
from tests.corpus.making import PLAIN, case, write

ROOT = Path(__file__).parents[2]


def refused(folder: Path) -> str:
    with pytest.raises(UsageError) as caught:
        load(folder)
    return str(caught.value)


def test_a_case_with_everything(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"listing").hexdigest()
    folder = write(
        tmp_path,
        "full",
        reject=["exit:3"],
        upstream=["https://github.com/triton-lang/triton/issues/10474"],
        argv=["--mode", "fast"],
        environment={"TRITON_DEBUG": "1"},
        runs=7,
        timeout=2.5,
        cold=True,
        needs={"gpu": True, "architecture": "sm_90", "memory": 40, "packages": ["helion>=0.3", "triton"]},
        seen=[{"gpu": "NVIDIA H100", "triton": "3.6.0", "date": "2026-11-21"}],
        artifacts={"sass.txt": f"sha256:{digest}"},
    )
    (folder / "sass.txt").write_text("listing")
    read = load(folder)
    assert (read.name, read.title, read.klass) == ("full", "A key that is not there", "missing key")
    assert read.fault == Fault("python", "KeyError", text="'gone'")
    assert (read.oracle, read.reject) == (("exception:KeyError",), ("exit:3",))
    assert (read.argv, read.environment) == (("--mode", "fast"), {"TRITON_DEBUG": "1"})
    assert (read.runs, read.timeout, read.cold) == (7, 2.5, True)
    assert (
        read.needs.gpu
        and read.needs.memory == 40
        and [one.name for one in read.needs.packages]
        == [
            "helion",
            "triton",
        ]
    )
    assert [(str(range_), what) for range_, what in read.expect] == [(">=3", "faults")]
    assert read.seen[0]["gpu"] == "NVIDIA H100"
    assert read.question().spec == "exception:KeyError and not exit:3"


def test_what_is_left_out_has_a_default(tmp_path: Path) -> None:
    read = case(tmp_path, fault=None, expect=None)
    assert (read.fault, read.expect, read.runs, read.timeout, read.cold) == (None, (), 0, 0.0, False)
    assert read.needs.runs_on(75) and not read.needs.gpu


@pytest.mark.parametrize("name", schema.REQUIRED)
def test_what_every_case_must_say(tmp_path: Path, name: str) -> None:
    assert refused(write(tmp_path, "lookup", **{name: None})).endswith(
        f"it does not say {name!r}, which every case must"
    )
    empty = type(PLAIN[name])()
    assert "does not say" in refused(write(tmp_path, "empty", **{name: empty}))


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("expct", {">=3": "faults"}, "unknown key expct; did you mean 'expect'?"),
        ("zzz", 1, "unknown key zzz; known: title, class, mechanism, oracle"),
        ("needs", {"gpus": True}, "unknown key needs.gpus; did you mean 'gpu'?"),
        ("fault", {"phase": "python", "class": "KeyError"}, "unknown key fault.class; did you mean 'klass'?"),
        ("seen", [{"gpu": "A"}, {"drivr": "580"}], "unknown key seen[1].drivr; did you mean 'driver'?"),
        ("title", 3, "title is 3, and must be a string"),
        ("oracle", "misaligned address", "oracle is 'misaligned address', and must be a list of strings"),
        ("oracle", [716], "oracle is [716], and must be a list of strings"),
        ("argv", [1], "argv is [1], and must be a list of strings"),
        ("environment", {"DEBUG": 1}, "environment.DEBUG is 1, and must be a string"),
        ("environment", ["DEBUG=1"], "environment is ['DEBUG=1'], and must be a table"),
        ("runs", 0, "runs is 0, and must be a whole number from 1 on"),
        ("runs", 2.5, "runs is 2.5, and must be a whole number from 1 on"),
        ("runs", True, "runs is True, and must be a whole number from 1 on"),
        ("timeout", -1, "timeout is -1, and must be a number above 0"),
        ("timeout", "5 s", "timeout is '5 s', and must be a number above 0"),
        ("cold", "yes", "cold is 'yes', and must be true or false"),
        ("needs", True, "needs is True, and must be a table"),
        ("needs", {"gpu": 1}, "needs.gpu is 1, and must be true or false"),
        ("needs", {"memory": 0}, "needs.memory is 0, and must be a number above 0"),
        ("needs", {"architecture": "hopper"}, "needs.architecture is 'hopper': write 'sm_90'"),
        ("needs", {"architecture": "sm_9"}, "needs.architecture is 'sm_9': write 'sm_90'"),
        ("needs", {"packages": ["helion >> 3"]}, "needs.packages 'helion >> 3': "),
        ("needs", {"tools": ["nvc"]}, "needs.tools names 'nvc'; did you mean 'nvcc'?"),
        ("seen", {"gpu": "A"}, "seen is {'gpu': 'A'}, and must be a list of tables"),
        ("seen", ["an H100"], "seen is ['an H100'], and must be a list of tables"),
        ("fault", {"phase": "python"}, "fault: it does not say 'klass'"),
        ("fault", {}, "fault: it does not say 'phase'"),
        ("fault", {"phase": "device", "klass": "x", "code": "716"}, "fault.code is '716', and must be a whole number"),
        ("expect", {">=3": "fautls"}, "expect.'>=3' is 'fautls'; did you mean 'faults'?"),
        ("expect", {">=3": True}, "expect.'>=3' is True; known: faults, fixed, changed, flaky"),
        ("expect", {"3.6": "faults"}, "expect.'3.6' is no range of Triton versions: write '>=3.4,<3.9'"),
        ("oracle", ["exit:many"], "oracle: 'exit:many' names no exit status"),
        ("reject", ["signal:SIGGONE"], "reject: 'signal:SIGGONE' names no signal"),
        ("oracle", ["timeout"], "asks for a program that does not end in time: say timeout = SECONDS"),
        ("artifacts", {"sass.txt": 7}, "artifacts.sass.txt is 7, and must be a string"),
        ("artifacts", {"sass.txt": "00"}, "artifact sass.txt is not there"),
        ("artifacts", {"failing.py": "00"}, "failing.py is not the file that the case was made with (sha256)"),
        ("artifacts", {"../../x": "00"}, "artifact ../../x is outside of the case"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, key: str, value: Any, told: str) -> None:
    folder = write(tmp_path, "lookup", **{key: value})
    said = refused(folder)
    assert said.startswith(f"{folder / 'case.toml'}: ") and told in said and "\n" not in said


def test_a_date_of_toml_s_own_is_to_be_quoted(tmp_path: Path) -> None:
    folder = write(tmp_path, "lookup")
    with (folder / "case.toml").open("a") as file:
        file.write("\n[[seen]]\ndate = 2026-11-21\n")
    assert "seen[0].date is '2026-11-21', and must be a string" in refused(folder)


def test_a_test_of_the_user_s_own_is_no_oracle_for_a_case(tmp_path: Path) -> None:
    folder = write(tmp_path, "lookup", oracle=["script:test.sh"])
    (folder / "test.sh").write_text("#!/bin/sh\n")
    (folder / "test.sh").chmod(0o755)
    assert "cannot know which interpreter a replay is for" in refused(folder)


def test_files_that_are_not_there_or_not_toml(tmp_path: Path) -> None:
    assert refused(tmp_path) == f"{tmp_path} is no case: it has no case.toml"
    folder = write(tmp_path, "lookup")
    (folder / "repro_lookup.py").unlink()
    assert "there is no repro_lookup.py beside it, which is what replay runs" in refused(folder)
    (folder / "repro_lookup.py").write_text("def (")
    assert "repro_lookup.py: not Python (invalid syntax, line 1)" in refused(folder)
    (folder / "case.toml").write_text("title = ")
    assert "case.toml: this is not TOML: " in refused(folder)
    (folder / "case.toml").write_bytes(b"title = '\xff'")
    assert "case.toml: this is not TOML: " in refused(folder)


@pytest.mark.parametrize(
    ("text", "runs_on", "not_on"),
    [
        ("sm_90", (90, 100, 120), (80, 89)),
        ("sm_90a", (90, 100), (80,)),
        (">=sm_80,<sm_100", (80, 90), (75, 100)),
        ("==sm_90", (90,), (80, 100)),
        ("", (75, 120), ()),
    ],
)
def test_architectures(tmp_path: Path, text: str, runs_on: tuple[int, ...], not_on: tuple[int, ...]) -> None:
    needs = case(tmp_path, needs={"architecture": text}).needs
    assert all(map(needs.runs_on, runs_on)) and not any(map(needs.runs_on, not_on))


def test_a_hang_of_a_case_that_needs_a_gpu_is_one_in_a_kernel(tmp_path: Path) -> None:
    def place(read: Case) -> str:
        oracle = read.question()
        assert isinstance(oracle, HangOracle)
        return oracle.place

    assert place(case(tmp_path, "spins", oracle=["hang:5"], needs={"gpu": True})) == "device"
    assert place(case(tmp_path, "waits", oracle=["hang:5"])) == "host"


def test_cases_of_a_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("late", "early"):
        write(tmp_path, name)
    (tmp_path / "notes").mkdir()
    assert [one.name for one in cases(tmp_path)] == ["early", "late"]
    assert [one.name for one in cases(tmp_path, ["late"])] == ["late"]
    assert [one.name for one in cases(tmp_path / "late")] == ["late"]
    monkeypatch.chdir(tmp_path / "late")
    assert [one.name for one in cases(Path("."))] == ["late"]
    for folder, names, told in (
        (tmp_path, ["lat"], "there is no case 'lat' in .*; did you mean 'late'?"),
        (tmp_path / "late", ["early"], "there is no case 'early'"),
        (tmp_path / "notes", [], "holds no cases"),
        (tmp_path / "none", [], "is not a folder"),
    ):
        with pytest.raises(UsageError, match=told):
            cases(folder, names)


def test_the_documentation_names_every_key() -> None:
    text = (ROOT / "docs" / "corpus.md").read_text(encoding="utf-8")
    keys = [
        *(schema.CASE.keys() - {"needs", "fault", "seen"}),
        *(f"needs.{key}" for key in schema.NEEDS),
        *(f"fault.{key}" for key in schema.FAULT),
    ]
    assert not [key for key in keys if f"`{key}`" not in text]
    assert not [key for key in schema.SEEN if f"`{key}`" not in text]
    assert not [what for what in schema.EXPECTATIONS if f"`{what}`" not in text]


def test_every_case_of_ours_is_sound() -> None:
    for one in cases(ROOT / "corpus"):
        assert (one.is_ir or one.original.is_file()) and one.expect and one.seen, one.name

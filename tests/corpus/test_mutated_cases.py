"""A `case.toml` that anybody may have written: read or refused in a line, and no other case is kept from its replay."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from shrinkray_gpu.corpus import replay_tables
from shrinkray_gpu.corpus.case import Case, cases, load, load_or_broken
from shrinkray_gpu.corpus.expectation import Status
from shrinkray_gpu.corpus.replayer import Replayer
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.runner.pool import Pool
from tests.corpus.making import PLAIN, write
from tests.damage import damaged

FULL: dict[str, Any] = {
    **PLAIN,
    "reject": ["exit:3"],
    "upstream": ["https://github.com/triton-lang/triton/issues/10474"],
    "argv": ["--mode", "fast"],
    "environment": {"TRITON_DEBUG": "1"},
    "runs": 7,
    "timeout": 2.5,
    "cold": True,
    "needs": {"gpu": True, "architecture": "sm_90", "memory": 40, "packages": ["helion>=0.3"]},
    "seen": [{"gpu": "NVIDIA H100", "triton": "3.6.0", "date": "2026-11-21"}],
    "artifacts": {"sass.txt": "0" * 64},
}
TEXTS = (
    "",
    "\0",
    "=",
    "a=b",
    "é" * 300,
    "x" * 30_000,
    "../../etc/passwd",
    "regex:(a+)+$",
    "regex:(",
    "script:/bin/true",
)
NUMBERS = (-1, 0, 1 << 62, 10**30, 1e300, float("inf"), float("nan"), True)
ODD = (*TEXTS, *NUMBERS, [], ["\0"], [1], {}, {"": ""}, {"a=b": "1"}, {"X": "\0"})


def one_line(error: UsageError) -> None:
    text = str(error)
    assert "\n" not in text and len(text) < 2000, text


def read(folder: Path) -> Case | None:
    try:
        return load(folder)
    except UsageError as error:
        one_line(error)
        return None


@settings(max_examples=1000, deadline=None, derandomize=True)
@given(st.sampled_from([*FULL, "new"]), st.sampled_from(ODD), st.sampled_from(["", "key", "new key", "é", "a=b", "\0"]))
def test_no_value_is_thrown(tmp_path_factory: pytest.TempPathFactory, key: str, value: Any, inner: str) -> None:
    corpus = tmp_path_factory.getbasetemp() / "odd"
    shutil.rmtree(corpus, ignore_errors=True)
    if inner and isinstance(FULL.get(key), dict):
        table = FULL[key]
        value = {**table, next(iter(table)) if inner == "key" else inner: value}
    try:
        folder = write(corpus, "lookup", **{**FULL, key: value})
    except (ValueError, TypeError, tomlkit.exceptions.TOMLKitError):
        return  # TOML cannot say it
    (folder / "sass.txt").write_text("listing")
    case = read(folder)
    if case is not None:
        assert not any("\0" in word or "=" in name for name, word in case.environment.items())
        assert not any("\0" in word for word in case.argv) and case.timeout <= 86_400 and case.runs <= 1000
        case.question()


@settings(max_examples=1000, deadline=None, derandomize=True)
@given(damaged(tomlkit.dumps(FULL).encode()))
def test_no_damage_is_thrown(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    corpus = tmp_path_factory.getbasetemp() / "damaged"
    shutil.rmtree(corpus, ignore_errors=True)
    folder = write(corpus, "lookup")
    (folder / "case.toml").write_bytes(data)
    read(folder)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 5000 + "]" * 5000, "nested"),
        ("x" * (1 << 20) + "y", "may have 1,048,576"),
        ("title = 1\x00", "not TOML"),
        ("runs = 1" + "0" * 5000, "not TOML"),
    ],
)
def test_a_file_out_of_all_bounds(tmp_path: Path, text: str, said: str) -> None:
    folder = write(tmp_path, "lookup")
    (folder / "case.toml").write_text(text)
    with pytest.raises(UsageError, match=said) as error:
        load(folder)
    one_line(error.value)


def test_a_bad_case_is_a_failed_row(tmp_path: Path) -> None:
    write(tmp_path, "good")
    bad = write(tmp_path, "bad", runs=-1)
    found = cases(tmp_path)
    assert [(case.name, bool(case.broken)) for case in found] == [("bad", True), ("good", False)]
    assert "runs is -1, and must be a whole number from 1 on, 1,000 at most" in found[0].broken
    shutil.rmtree(tmp_path / "good")
    with pytest.raises(UsageError, match="runs is -1"):
        cases(tmp_path)
    assert load_or_broken(bad).broken


@pytest.mark.parametrize("put", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), os.mkdir])
def test_a_case_that_is_no_plain_file_is_a_failed_row_at_once(tmp_path: Path, put: Callable[[Path], None]) -> None:
    write(tmp_path, "good")
    path = write(tmp_path, "bad") / "case.toml"
    path.unlink()
    put(path)
    bad, good = cases(tmp_path)
    assert "case.toml: cannot be read (it is no plain file)" in bad.broken and not good.broken


def test_what_is_thrown_over_a_case_is_its_row_alone(
    tmp_path: Path, replayer: Replayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "bad", title=3)
    write(tmp_path, "good")
    found = cases(tmp_path)
    vanishing = load(write(tmp_path, "gone"))
    vanishing.repro.unlink()
    outcomes = [replayer.outcome(case) for case in [*found, vanishing]]
    told = {outcome.case.name: outcome.status for outcome in outcomes}
    assert told == {"bad": Status.BROKEN, "good": Status.FAULTS, "gone": Status.BROKEN}
    assert "cannot be read (No such file" in outcomes[-1].why
    matrix = {"here": outcomes}
    assert "BROKEN!" in replay_tables.table(matrix) and "2 broken case" in replay_tables.summary(matrix)
    assert len(replay_tables.changes(matrix)) == 2
    assert 'failures="2"' in replay_tables.junit(matrix) and "broken" in replay_tables.html(matrix)


def test_a_triton_with_which_nothing_starts_breaks_no_case(
    tmp_path: Path, replayer: Replayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*_: object, **__: object) -> None:
        raise UsageError("the worker did not start: unsupported target: 'gfx1250'")

    monkeypatch.setattr(Pool, "run", run)
    monkeypatch.setattr(Pool, "cold", run)
    outcome = replayer.outcome(load(write(tmp_path, "good")))
    assert outcome.status is Status.CANNOT and "unsupported target" in outcome.why

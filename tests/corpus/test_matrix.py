"""Recorded replays as a table, and that of docs/corpus.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.corpus.case import cases
from shrinkray_gpu.corpus.matrix import MARK, into, markdown
from shrinkray_gpu.errors import UsageError

ROOT = Path(__file__).parents[2]
REPLAYED = ROOT / "corpus" / "replayed"


def one(status: str, expected: bool = True, shown: int = 1, runs: int = 1) -> dict[str, Any]:
    return {"status": status, "as expected": expected, "shown": shown, "runs": runs}


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    virtual = {
        "triton 3.6.0": {
            "versions": {"triton": "3.6.0"},
            "cases": {"b": one("still faults"), "a": one("fixed", False)},
        },
        "triton 3.9.0": {"versions": {"triton": "3.9.0"}, "cases": {"b": one("changed fault"), "a": one("fixed")}},
    }
    gpu = {"triton 3.6.0": {"versions": {"gpu": "NVIDIA H100 80GB HBM3"}, "cases": {"c": one("flaky", True, 4, 10)}}}
    for name, told in (("virtual", virtual), ("gpu", gpu)):
        (tmp_path / name).write_text(json.dumps(told))
    return [tmp_path / "virtual", tmp_path / "gpu"]


TABLE = """\
| case | 3.6.0 | 3.9.0 | 3.6.0, H100 |
| --- | --- | --- | --- |
| a | fixed, not as expected | fixed | - |
| b | faults | changed | - |
| c | - | - | flaky 4 of 10 |
"""


def test_a_row_a_case_and_a_column_an_environment(files: list[Path]) -> None:
    assert markdown(files) == TABLE


def test_a_table_takes_the_place_of_the_last_one() -> None:
    before, after = f"Above.\n\n{MARK}\n\n", "\nBelow.\n\n| another | table |\n"
    assert into(f"{before}| an | old |\n| --- | --- |\n{after}", TABLE) == before + TABLE + after
    assert into(before + after, TABLE) == before + TABLE + after
    with pytest.raises(UsageError, match="no line <!-- shrink corpus matrix -->"):
        into("Above.\n", TABLE)


@pytest.mark.parametrize("text", ["", "[]", '{"triton 3.6.0": {}}'])
def test_what_is_no_replay_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "it.json").write_text(text)
    with pytest.raises(UsageError, match="it.json is not what shrink replay --json prints"):
        markdown([tmp_path / "it.json"])
    with pytest.raises(UsageError, match=r"none.json: cannot be read \(No such file"):
        markdown([tmp_path / "none.json"])
    with pytest.raises(UsageError, match="is a folder: give recorded replays, the files that shrink replay .* --json"):
        markdown([tmp_path])


def recorded() -> list[Path]:
    return sorted(REPLAYED.glob("*.json"), key=lambda path: (path.stem != "virtual", path.stem))


def test_the_docs_have_what_was_recorded() -> None:
    assert markdown(recorded()) in (ROOT / "docs" / "corpus.md").read_text()


def test_what_was_recorded_is_what_the_cases_expect_and_has_all_of_them() -> None:
    told = [environment["cases"] for file in recorded() for environment in json.loads(file.read_text()).values()]
    assert {name for each in told for name in each} == {case.name for case in cases(ROOT / "corpus")}
    assert [name for each in told for name, outcome in each.items() if not outcome["as expected"]] == []
    assert len([name for name in told[0] if len({each.get(name, {}).get("status") for each in told[:6]}) > 1]) >= 4

"""Shards of a replay, as files: together they are the whole, and what does not belong together is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.cells.shard import Shard
from shrinkray_gpu.corpus import replay_tables
from shrinkray_gpu.corpus.case import Case
from shrinkray_gpu.corpus.case_cells import CaseCell, ReplayPlace
from shrinkray_gpu.corpus.expectation import CaseOutcome, Status
from shrinkray_gpu.corpus.replay import by_environment
from shrinkray_gpu.corpus.shared_replay import merged, shard_json
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import Fault
from tests.corpus.making import case, outcome

PLACES = [ReplayPlace("python", 90, triton=version) for version in ("3.6.0", "3.9.0")]


@pytest.fixture
def cases(tmp_path: Path) -> list[Case]:
    return [case(tmp_path / "corpus", name) for name in ("a", "b", "c", "d", "e")]


def seen(cell: CaseCell, gpu: str = "H100") -> CaseOutcome:
    """What a cell comes to, as a pure function of it."""
    status = Status.CHANGED if cell.case.name == "c" else Status.FAULTS
    fault = Fault("python", "KeyError", text=f"'{cell.case.name}'")
    made = outcome(cell.case, status, triton=cell.where.triton, why="it says so", fault=fault, shown=1, runs=2)
    return CaseOutcome(**{**vars(made), "versions": {**made.versions, "gpu": gpu}})


def every(cases: list[Case], places: list[ReplayPlace] = PLACES) -> list[CaseCell]:
    return [CaseCell(each, place) for place in places for each in cases]


def files(folder: Path, cells: list[CaseCell], count: int, **changed: Any) -> list[Path]:
    paths = []
    for index in range(1, count + 1):
        shard = Shard(index, count)
        own = shard.of(cells)
        told = shard_json(shard, cells, own, [seen(cell, **changed) for cell in own])
        paths.append(folder / f"shard{index}.json")
        paths[-1].write_text(json.dumps(told))
    return paths


@pytest.mark.parametrize("count", [1, 3, 4, 12])
def test_shards_are_together_what_one_machine_says(tmp_path: Path, cases: list[Case], count: int) -> None:
    cells = every(cases)
    whole = by_environment(cells, [seen(cell) for cell in cells])
    found = merged(files(tmp_path, cells, count)[::-1], cases)
    assert replay_tables.table(found) == replay_tables.table(whole)
    assert replay_tables.to_json(found) == replay_tables.to_json(whole)
    assert replay_tables.changes(found) == replay_tables.changes(whole) != []


def test_two_interpreters_with_one_triton_stay_two_columns(tmp_path: Path, cases: list[Case]) -> None:
    places = [ReplayPlace(python, 90, triton="3.6.0") for python in ("one", "two")]
    cells = every(cases, places)
    found = merged(files(tmp_path, cells, 2), cases)
    assert list(found) == ["triton 3.6.0", "triton 3.6.0 (--triton 3.6.0, two)"]
    assert [len(column) for column in found.values()] == [5, 5]


def test_a_shard_that_is_missing_is_named(tmp_path: Path, cases: list[Case]) -> None:
    paths = files(tmp_path, every(cases), 3)
    with pytest.raises(UsageError, match="without shard 2/3 the replay is not whole"):
        merged([paths[0], paths[2]], cases)
    paths = files(tmp_path, every(cases)[:2], 3)  # the first of three has no cell
    assert json.loads(paths[0].read_text()) == {} and merged(paths[1:], cases)


def test_what_does_not_belong_together(tmp_path: Path, cases: list[Case]) -> None:
    first = files(tmp_path, every(cases), 2)
    (tmp_path / "other").mkdir()
    other = files(tmp_path / "other", every(cases[:4]), 2)
    with pytest.raises(UsageError, match="other/shard2.json is a shard of another replay than .*shard1.json"):
        merged([first[0], other[1]], cases)
    with pytest.raises(UsageError, match="shard1.json: a with triton 3.6.0 stands in another file, too"):
        merged([*first, first[0]], cases)
    with pytest.raises(UsageError, match="there is no case 'e' in the corpus"):
        merged(first, cases[:4])
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(UsageError, match="list.json is not what shrink replay --json prints"):
        merged([tmp_path / "list.json"], cases)
    (tmp_path / "empty.json").write_text("{}")
    with pytest.raises(UsageError, match="these files hold no outcome"):
        merged([tmp_path / "empty.json"], cases)


@pytest.mark.parametrize("other", [{"arch": 100}, {"environment": (("A", "1"),)}, {"runs": 3}, {"accelerator": "A100"}])
def test_each_machine_must_be_asked_the_same(tmp_path: Path, cases: list[Case], other: dict[str, Any]) -> None:
    first = files(tmp_path, every(cases), 2)
    (tmp_path / "other").mkdir()
    runs = other.get("runs")
    places = PLACES if runs else [replace(place, **other) for place in PLACES]
    second = files(tmp_path / "other", [replace(cell, runs=runs) for cell in every(cases, places)], 2)
    with pytest.raises(UsageError, match="other/shard2.json is a shard of another replay"):
        merged([first[0], second[1]], cases)


def test_the_interpreter_may_lie_elsewhere_on_each_machine(tmp_path: Path, cases: list[Case]) -> None:
    paths = []
    for index, python in enumerate(("/usr/bin/python3", "/opt/python3")):
        (tmp_path / str(index)).mkdir()
        places = [replace(place, python=python, typed="python3") for place in PLACES]
        shards = files(tmp_path / str(index), every(cases, places), 3)
        paths += shards[1:] if index else shards[:1]
    found = merged(paths, cases)
    assert {name: len(column) for name, column in found.items()} == {"triton 3.6.0": 5, "triton 3.9.0": 5}


@pytest.mark.parametrize(
    "damage",
    [{"cases": []}, {"cases": {"a": {}}}, {"cases": {"a": None}}, {"shard": None}, {"versions": []}, {"shard": []}]
    + [{"shard": {"number": number, "cells": 5}} for number in ("1/2", "5/2", 3)],
)
def test_a_file_that_is_damaged_is_named(tmp_path: Path, cases: list[Case], damage: dict[str, Any]) -> None:
    [path] = files(tmp_path, every(cases, PLACES[:1]), 1)
    told = json.loads(path.read_text())
    told["triton 3.6.0"] |= damage
    path.write_text(json.dumps(told))
    with pytest.raises(UsageError, match="shard1.json is not what shrink replay --json prints"):
        merged([path], cases)


@pytest.mark.parametrize("damage", [{"status": "zzz"}, {"seconds": "1"}, {"fault": 3}, {"why": None}])
def test_a_row_that_is_damaged_is_told_by_its_file(tmp_path: Path, cases: list[Case], damage: dict[str, Any]) -> None:
    [path] = files(tmp_path, every(cases, PLACES[:1]), 1)
    told = json.loads(path.read_text())
    told["triton 3.6.0"]["cases"]["a"] |= damage
    path.write_text(json.dumps(told))
    with pytest.raises(UsageError, match="shard1.json is not what shrink replay --json prints"):
        merged([path], cases)


def test_one_triton_on_two_gpus_is_two_columns(tmp_path: Path, cases: list[Case]) -> None:
    paths, cells = [], every(cases, PLACES[:1])
    for gpu in ("H100", "A100"):
        paths.append(tmp_path / f"{gpu}.json")
        whole = by_environment(cells, [seen(cell, gpu) for cell in cells])
        paths[-1].write_text(json.dumps(replay_tables.to_json(whole)))
    assert list(merged(paths, cases)) == ["triton 3.6.0, H100", "triton 3.6.0, A100"]
    with pytest.raises(UsageError, match="stands in another file, too"):
        merged([paths[0], paths[0]], cases)


def test_one_triton_for_two_architectures_is_two_columns(tmp_path: Path, cases: list[Case]) -> None:
    paths, cells = [], every(cases, PLACES[:1])
    for arch in ("sm_90", "sm_100"):
        paths.append(tmp_path / f"{arch}.json")
        told = replay_tables.to_json(by_environment(cells, [seen(cell) for cell in cells]))
        told["triton 3.6.0"]["versions"] = {"triton": "3.6.0", "arch": arch}
        paths[-1].write_text(json.dumps(told))
    assert list(merged(paths, cases)) == ["triton 3.6.0, sm_90", "triton 3.6.0, sm_100"]


def test_whole_replays_of_several_machines_are_columns_too(tmp_path: Path, cases: list[Case]) -> None:
    paths = []
    for place in PLACES:
        cells = every(cases, [place])
        paths.append(tmp_path / f"{place.triton}.json")
        paths[-1].write_text(json.dumps(replay_tables.to_json(by_environment(cells, [seen(cell) for cell in cells]))))
    assert list(merged(paths, cases)) == ["triton 3.6.0", "triton 3.9.0"]


def test_machines_that_differ_are_told(tmp_path: Path, cases: list[Case]) -> None:
    cells = every(cases, PLACES[:1])
    first, second = files(tmp_path, cells, 2)
    (tmp_path / "other").mkdir()
    _, other = files(tmp_path / "other", cells, 2, gpu="A100")
    assert "differ" not in replay_tables.table(merged([first, second], cases))
    told = replay_tables.table(merged([first, other], cases))
    assert told.endswith("- triton 3.6.0: its machines differ: gpu A100 or H100")

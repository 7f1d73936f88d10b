"""A replay that several machines share: what each writes, and all of it together."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shrinkray_gpu.cells.shard import Shard, digest
from shrinkray_gpu.corpus import replay_tables
from shrinkray_gpu.corpus.case import Case
from shrinkray_gpu.corpus.case_cells import CaseCell
from shrinkray_gpu.corpus.expectation import CaseOutcome
from shrinkray_gpu.corpus.replay import by_environment
from shrinkray_gpu.corpus.replay_tables import OutcomeMatrix
from shrinkray_gpu.corpus.schema import nearest
from shrinkray_gpu.errors import UsageError

_OF_SHARD: Mapping[str, type] = {"number": str, "cells": int, "list": str, "place": str, "column": int}


@dataclass(frozen=True)
class _Column:
    """What one file says of one environment."""

    file: Path
    name: str
    versions: Mapping[str, str]
    cases: Mapping[str, Mapping[str, Any]]
    shard: Mapping[str, Any]
    """Empty where it is a whole one."""

    @property
    def gpu(self) -> str:
        """That of a whole replay, or what it compiled for. Machines that share one are told apart below its table."""
        return "" if self.shard else self.versions.get("gpu") or self.versions.get("arch", "")


def shard_json(
    shard: Shard, every: Sequence[CaseCell], cells: Sequence[CaseCell], outcomes: Sequence[CaseOutcome]
) -> dict[str, Any]:
    """What `merged` needs of the cells of one shard, of all that there are."""
    places = list(dict.fromkeys(cell.place for cell in every))
    told: dict[str, Any] = replay_tables.to_json(by_environment(cells, outcomes))
    for column, place in zip(told.values(), dict.fromkeys(cell.place for cell in cells), strict=True):
        column["shard"] = {
            "number": str(shard), "cells": len(every), "list": digest([cell.asked for cell in every]),
            "place": str(place), "column": places.index(place),
        }  # fmt: skip
    return told


def merged(files: Sequence[Path], cases: Sequence[Case]) -> OutcomeMatrix:
    """The replays in these files as one, as if one machine had run all: shards of one replay, or whole replays with
    different environments. Raises UsageError where a shard is missing, or they do not belong together."""
    columns = [column for file in files for column in _columns(file)]
    _check_shards([column for column in columns if column.shard])
    columns.sort(key=lambda column: column.shard.get("column", 0))
    gpus: dict[str, set[str]] = {}
    for column in columns:
        gpus.setdefault(column.name, set()).add(column.gpu)
    found: dict[tuple[str, str], dict[str, CaseOutcome]] = {}
    known = {case.name: case for case in cases}
    for column in columns:
        place = column.shard.get("place", "")
        title = column.name.removesuffix(f" ({place})")
        if column.gpu and len(gpus[column.name]) > 1:
            title += f", {column.gpu}"
        outcomes = found.setdefault((title, place), {})
        for name, row in column.cases.items():
            if name not in known:
                raise UsageError(
                    f"{column.file}: there is no case {name!r} in the corpus{nearest(name, known)}; name the corpus "
                    "that was replayed"
                )
            if name in outcomes:
                raise UsageError(f"{column.file}: {name} with {column.name} stands in another file, too: leave one out")
            where = {"environment": column.name, "versions": column.versions}
            try:
                outcomes[name] = CaseOutcome.of(known[name], {**row, **where})
            except (ValueError, AttributeError, KeyError, TypeError) as error:
                raise _strange(column.file) from error
    matrix: dict[str, list[CaseOutcome]] = {}
    for (name, place), outcomes in found.items():
        in_order = [outcomes[case.name] for case in cases if case.name in outcomes]
        matrix[name if name not in matrix else f"{name} ({place})"] = in_order
    if not matrix:
        raise UsageError("these files hold no outcome: give what shrink replay --json wrote")
    return matrix


def _check_shards(columns: Sequence[_Column]) -> None:
    """Raises UsageError where they are not all of one replay."""
    if not columns:
        return
    first = columns[0]
    for column in columns:
        same = all(column.shard[key] == first.shard[key] for key in ("list", "cells"))
        if not same or _of(column).count != _of(first).count:
            raise UsageError(
                f"{column.file} is a shard of another replay than {first.file}: give each the same corpus, --case, "
                "--triton, --python, --arch, --env, --accelerator and --runs"
            )
    total, count = first.shard["cells"], _of(first).count
    there = {_of(column).index for column in columns}
    missing = [index for index in range(1, count + 1) if index not in there and Shard(index, count).part(total)]
    if missing:
        named = ", ".join(f"{index}/{count}" for index in missing)
        raise UsageError(f"without shard {named} the replay is not whole: run it with --shard, and give its file, too")


def _of(column: _Column) -> Shard:
    return Shard.parse(column.shard["number"])


def _columns(file: Path) -> list[_Column]:
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        columns = [
            _Column(file, name, one["versions"], one["cases"], one.get("shard", {})) for name, one in told.items()
        ]
        whole = all(map(_is_whole, columns))
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror})") from error
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError, UsageError) as error:
        raise _strange(file) from error
    if not whole:
        raise _strange(file)
    return columns


def _strange(file: Path) -> UsageError:
    return UsageError(f"{file} is not what shrink replay --json prints: name what it wrote")


def _is_whole(column: _Column) -> bool:
    """Whether all is there, and of its type, that is read later. Raises what reading it raises where it is not."""
    shard = column.shard
    if shard or not isinstance(shard, dict):
        _of(column)
    named = isinstance(column.cases, dict) and all(isinstance(each, str) for each in column.versions.values())
    return named and (not shard or all(isinstance(shard[key], kind) for key, kind in _OF_SHARD.items()))

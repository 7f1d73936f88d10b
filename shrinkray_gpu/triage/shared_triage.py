"""A triage that several machines share: the folders of its shards are put together.

Shards run the failures first. Then the clusters are known, and shards reduce them. Each shard's journal has what it
found out.
"""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shrinkray_gpu.cells.shard import Shard, digest
from shrinkray_gpu.device import architectures
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.questions.bisect.answer_log import settings_with_digests
from shrinkray_gpu.reduction.journal_lines import read_journal, take_lines
from shrinkray_gpu.runner.plain_file import open_plain
from shrinkray_gpu.triage.reductions import REDUCED
from shrinkray_gpu.triage.reported import ReportedFailure
from shrinkray_gpu.triage.reruns import Rerun
from shrinkray_gpu.triage.triage_journal import FILE, FORMAT, TriageFindings

_OF_MACHINE = ("python", "cwd", "shard", "merged")
"""Settings that shards of one triage may have differently."""
_TOLD = ("driver", "gpu")
"""Versions that they may have differently, which is told."""


@dataclass(frozen=True)
class MergedTriage:
    """What shards found out, together."""

    reports: Sequence[ReportedFailure]
    reruns: Mapping[str, Rerun]
    reductions: Mapping[str, dict[str, Any]]
    """By cluster."""
    folders: Mapping[str, Path]
    """Where the repros are, by cluster."""
    arch: int | None
    environment: Mapping[str, str]
    """With digests for what is secret."""
    pytest: tuple[str, ...]
    digest: str
    """Of the runs."""
    shares_reductions: bool
    """Whether shards of the reductions are among them."""

    def check(self, arch: int | None, environment: Mapping[str, str]) -> None:
        """Raises UsageError where reductions would ask something else than the runs did."""
        if arch != self.arch:
            asked = "without --arch" if self.arch is None else f"with --arch {architectures.name(self.arch)}"
            raise UsageError(f"the shards were run {asked}: reduce them in the same way")
        if settings_with_digests(environment) != self.environment:
            raise UsageError("the shards were run with another --env: reduce them with the same")

    def copy_repros(self, output: Path) -> None:
        """Raises UsageError where that cannot be written."""
        try:
            output.mkdir(parents=True, exist_ok=True)
            for name, folder in self.folders.items():
                shutil.copytree(folder, output / name, dirs_exist_ok=True)
        except (OSError, shutil.Error) as error:
            raise UsageError(f"cannot copy the repros to {output}: {error}. Choose another --output") from error


@dataclass(frozen=True)
class _ShardFolder:
    folder: Path
    settings: Mapping[str, Any]
    ran: Mapping[str, str]
    found: TriageFindings

    @property
    def shard(self) -> Shard:
        return Shard.parse(self.settings["shard"])

    @property
    def runs_of(self) -> str:
        """Of a shard of the reductions: the digest of the runs. Else empty."""
        told: str = self.settings.get("merged", "")
        return told


def merged(folders: Sequence[Path], say: Callable[[str], None]) -> MergedTriage:
    """What the shards found out whose `--output` these are. Raises UsageError where one is missing or unfinished, or
    they do not belong together."""
    parts = [_part(folder) for folder in folders]
    runs = [each for each in parts if not each.runs_of]
    if not runs:
        raise UsageError("these shards have reductions only: name those with the runs, too")
    _check_alike(parts, say)
    _check_all(runs, "runs")
    reports: dict[int, ReportedFailure] = {}
    reruns: dict[str, Rerun] = {}
    lists = set()
    for each in runs:
        if each.found.part is None:
            raise UsageError(f"{each.folder} is not finished: give its command once more, and merge then")
        lists.add(each.found.part.list)
        reports.update(each.found.part.reports)
        reruns.update(each.found.reruns)
    if len(lists) > 1:
        raise UsageError(
            "these shards share out different failures: give each the same files or tests, and the same options"
        )
    told = [f"{subject} {json.dumps(found.to_json())}" for subject, found in sorted(reruns.items())]
    of = digest([*lists, *told])
    reducing = [each for each in parts if each.runs_of]
    for each in reducing:
        if each.runs_of != of:
            raise UsageError(f"{each.folder} reduced the failures of other runs than these: reduce those of these anew")
    if reducing:
        _check_all(reducing, "reductions")
    reductions, where = {}, {}
    for each in reducing:
        reruns.update(each.found.reruns)
        for name, outcome in each.found.reductions.items():
            reductions[name] = outcome
            if outcome["state"] == REDUCED:
                where[name] = each.folder / name
    settings = runs[0].settings
    return MergedTriage(
        [reports[at] for at in sorted(reports)],
        reruns,
        reductions,
        where,
        settings["arch"],
        settings["environment"],
        tuple(settings["pytest"]),
        of,
        bool(reducing),
    )


def _part(folder: Path) -> _ShardFolder:
    no_shard = f"{folder} is no shard of a triage: name what shrink triage --shard wrote, its --output"
    try:
        with open(folder / FILE, "rb", opener=open_plain) as file:
            earlier = read_journal(io.BytesIO(file.read()))
    except OSError as error:
        raise UsageError(f"{no_shard} ({error.strerror})") from error
    header = earlier.header if earlier is not None else {}
    if earlier is None or header.get("triage") != FORMAT or "ran" not in header or "shard" not in header["settings"]:
        raise UsageError(no_shard)
    found = TriageFindings()
    take_lines(earlier.events, found.take)
    return _ShardFolder(folder, earlier.header["settings"], earlier.header["ran"], found)


def _check_alike(parts: Sequence[_ShardFolder], say: Callable[[str], None]) -> None:
    """Raises UsageError where they were asked differently, or ran other versions."""
    first = parts[0]
    for each in parts[1:]:
        for mine, theirs in ((first.settings, each.settings), (first.ran, each.ran)):
            for name in sorted({*mine, *theirs} - {*_OF_MACHINE}):
                if mine.get(name) == theirs.get(name):
                    continue
                other, ours = (_word(name, said.get(name)) for said in (theirs, mine))
                what = f"{each.folder} has {name} {other}, and {first.folder} {ours}"
                if name not in _TOLD:
                    raise UsageError(f"{what}: shards of one triage have the same")
                say(what)


def _word(name: str, value: Any) -> str:
    """A setting as a user types it."""
    return architectures.name(value) if name == "arch" and value is not None else str(value)


def _check_all(parts: Sequence[_ShardFolder], what: str) -> None:
    """Raises UsageError where a shard is missing, or there twice."""
    count = parts[0].shard.count
    there: dict[int, Path] = {}
    for each in parts:
        if each.shard.count != count:
            raise UsageError(f"{each.folder} is shard {each.shard}, and {parts[0].folder} {parts[0].shard}")
        if each.shard.index in there:
            twice = there[each.shard.index]
            if each.folder.samefile(twice):
                raise UsageError(f"{each.folder} is named twice: leave one out")
            raise UsageError(f"{each.folder} is shard {each.shard}, as {twice} is: leave one out")
        there[each.shard.index] = each.folder
    if missing := [f"{index}/{count}" for index in range(1, count + 1) if index not in there]:
        raise UsageError(f"without shard {', '.join(missing)} the {what} are not whole: name its folder, too")

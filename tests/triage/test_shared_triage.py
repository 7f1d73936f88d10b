"""The folders of shards put together: as if one machine had run all, or a line that says what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.triage.clusters import sort
from shrinkray_gpu.triage.reported import ReportedFailure
from shrinkray_gpu.triage.shared_triage import merged
from shrinkray_gpu.triage.triage import of_shards
from shrinkray_gpu.triage.triage_journal import ReportsPart, TriageJournal
from tests.triage.test_clusters import SEEN, report

RAN = {"triton": "3.6.0", "driver": "580.1"}
REPORTS = [report("test_0[1]"), report("test_1"), report("test_0[2]")]


def settings(shard: str, **others: Any) -> dict[str, Any]:
    return {"arch": 90, "environment": {}, "pytest": ["-c", "x.ini"], "cwd": f"/{shard}", "shard": shard, **others}


def shard(
    folder: Path, number: str, own: Mapping[int, ReportedFailure], *, ran: Mapping[str, str] = RAN, of: str = "all"
) -> Path:
    """The folder of a shard of the runs."""
    place = folder / number.replace("/", "_")
    with closing(TriageJournal(place, settings(number), ran)) as journal:
        for each in own.values():
            journal.keep_rerun(each.subject, replace(SEEN, seconds=len(each.name)))
        journal.keep_part(ReportsPart(of, own))
    return place


def two(folder: Path) -> list[Path]:
    return [shard(folder, "2/2", {1: REPORTS[1]}), shard(folder, "1/2", {0: REPORTS[0], 2: REPORTS[2]})]


def test_all_is_there_in_the_order_of_one_machine(tmp_path: Path) -> None:
    found = merged(two(tmp_path), print)
    assert found.reports == REPORTS and found.pytest == ("-c", "x.ini")
    reruns = {each.subject: replace(SEEN, seconds=len(each.name)) for each in REPORTS}
    assert found.reruns == reruns and of_shards(found).found == sort(REPORTS, reruns)
    assert of_shards(found).waiting == ()


def test_reductions_are_of_these_runs_and_whole(tmp_path: Path) -> None:
    runs = two(tmp_path)
    [cluster] = sort(REPORTS, merged(runs, print).reruns).clusters
    done, other, old = tmp_path / "done", tmp_path / "other", tmp_path / "old"
    of = merged(runs, print).digest
    for folder, number, digest in ((done, "1/2", of), (other, "2/2", of), (old, "2/2", "of others")):
        with closing(TriageJournal(folder, settings(number, merged=digest), RAN)) as journal:
            if folder == done:
                journal.keep_rerun(REPORTS[1].subject, replace(SEEN, steady=False))
                journal.keep_reduction(cluster.name, {"state": "reduced", "lines": 3})
    (done / cluster.name).mkdir()
    (done / cluster.name / "repro.py").write_text("1\n")
    found = merged([*runs, done, other], print)
    assert of_shards(found).reductions == {cluster.name: {"state": "reduced", "lines": 3}}
    assert [each.is_flaky for each in of_shards(found).found.clusters[0].members] == [False, False, True]
    found.copy_repros(tmp_path / "all")
    assert (tmp_path / "all" / cluster.name / "repro.py").read_text() == "1\n"
    with pytest.raises(UsageError, match="without shard 2/2 the reductions are not whole"):
        merged([*runs, done], print)
    with pytest.raises(UsageError, match="old reduced the failures of other runs"):
        merged([*runs, done, old], print)
    with pytest.raises(UsageError, match="name those with the runs, too"):
        merged([done, other], print)


def test_what_is_missing_or_does_not_belong_there_is_named(tmp_path: Path) -> None:
    runs = two(tmp_path)
    with pytest.raises(UsageError, match="without shard 1/2 the runs are not whole"):
        merged(runs[:1], print)
    with pytest.raises(UsageError, match="2_2 is named twice: leave one out"):
        merged([*runs, runs[0]], print)
    same = shard(tmp_path / "same", "2/2", {1: REPORTS[1]})
    with pytest.raises(UsageError, match="same/2_2 is shard 2/2, as .*2_2 is: leave one out"):
        merged([*runs, same], print)
    with closing(TriageJournal(tmp_path / "newest", settings("1/2", arch=100), RAN)):
        pass
    with pytest.raises(UsageError, match="newest has arch sm_100, and .* sm_90: shards of one triage have the same"):
        merged([runs[0], tmp_path / "newest"], print)
    others = shard(tmp_path / "others", "1/2", {0: REPORTS[0]}, of="others")
    with pytest.raises(UsageError, match="share out different failures"):
        merged([runs[0], others], print)
    newer = shard(tmp_path / "newer", "1/2", {0: REPORTS[0]}, ran={**RAN, "triton": "3.9.0"})
    with pytest.raises(UsageError, match="has triton 3.9.0, and .* 3.6.0"):
        merged([runs[0], newer], print)
    with closing(TriageJournal(tmp_path / "unfinished", settings("1/2"), RAN)):
        pass
    with pytest.raises(UsageError, match="unfinished is not finished: give its command once more"):
        merged([runs[0], tmp_path / "unfinished"], print)
    with pytest.raises(UsageError, match="no shard of a triage"):
        merged([tmp_path], print)
    said: list[str] = []
    merged([runs[0], shard(tmp_path / "driver", "1/2", {0: REPORTS[0]}, ran={**RAN, "driver": "570"})], said.append)
    assert len(said) == 1 and "driver/1_2 has driver 570" in said[0]

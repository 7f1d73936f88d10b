"""A second call goes on with what the first one found; other settings are refused."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.questions.bisect.answer_log import settings_with_digests
from shrinkray_gpu.reduction.journal_lines import sealed
from shrinkray_gpu.triage.triage_journal import TriageJournal
from tests.triage.test_clusters import SEEN, report

SETTINGS = {"arch": 90, "cwd": "/x"}
RAN = {"triton": "3.6.0"}


def test_it_comes_back_as_it_was_also_after_a_kill(tmp_path: Path) -> None:
    first = TriageJournal(tmp_path, SETTINGS, RAN)
    first.keep_rerun("test_a.py::test_0", SEEN)
    first.keep_first_run("test_a.py::test_1", SEEN)
    first.keep_begun("gelu_1")
    first.keep_reduction("gelu_1", {"state": "reduced", "lines": 8})
    first.keep_failures([report("test_0")])
    first.close()
    with open(tmp_path / "journal.jsonl", "a") as log:
        log.write('{"event": "rerun", "subj')
    again = TriageJournal(tmp_path, SETTINGS, RAN)
    assert again.reruns == {"test_a.py::test_0": SEEN} and again.failures == [report("test_0")]
    assert again.first_runs == {"test_a.py::test_1": SEEN}
    assert again.reductions == {"gelu_1": {"state": "reduced", "lines": 8}} and again.begun == {"gelu_1"}
    with pytest.raises(UsageError, match="another triage is at work"):
        TriageJournal(tmp_path, SETTINGS, RAN)
    again.close()


def test_lines_of_another_shape_are_left_out(tmp_path: Path) -> None:
    with closing(TriageJournal(tmp_path, SETTINGS, RAN)) as first:
        first.keep_rerun("test_a.py::test_0", SEEN)
    with open(tmp_path / "journal.jsonl", "ab") as log:
        for line in (
            {"no": "event"},
            {"event": "rerun", "subject": "test_a.py::test_1"},
            {"event": "rerun", "subject": [1], "found": SEEN.to_json()},
            {"event": "session", "failures": 5},
            {"event": "part", "part": {"list": "", "reports": {"x": {}}}},
        ):
            log.write(sealed(line))
    with closing(TriageJournal(tmp_path, SETTINGS, RAN)) as again:
        assert again.reruns == {"test_a.py::test_0": SEEN} and again.failures is None and again.part is None


def test_other_settings_are_refused_unless_it_begins_anew(tmp_path: Path) -> None:
    first = TriageJournal(tmp_path, SETTINGS, RAN)
    first.keep_rerun("test_a.py::test_0", SEEN)
    first.close()
    with pytest.raises(UsageError, match="other settings"):
        TriageJournal(tmp_path, {**SETTINGS, "arch": 100}, RAN)
    anew = TriageJournal(tmp_path, {**SETTINGS, "arch": 100}, RAN, restart=True)
    assert anew.reruns == {}
    anew.close()


def test_what_other_versions_ran_is_forgotten_and_told(tmp_path: Path) -> None:
    with closing(TriageJournal(tmp_path, SETTINGS, {"triton": "3.6.0", "torch": "2.9.0"})) as first:
        first.keep_rerun("test_a.py::test_0", SEEN)
        first.keep_begun("gelu_1")
        first.keep_reduction("gelu_1", {"state": "reduced"})
        first.keep_failures([report("test_0")])
    now = {"triton": "3.9.0", "torch": "2.9.0"}
    for outdated in ("triton 3.6.0 then, 3.9.0 now", ""):
        with closing(TriageJournal(tmp_path, SETTINGS, now)) as again:
            assert again.outdated == outdated and again.failures is None
            assert not (again.reruns or again.begun or again.reductions)


def test_values_that_may_be_secrets_are_digests_and_the_file_is_its_owners(tmp_path: Path) -> None:
    given = {"HF_TOKEN": "tiny", "URL": "https://me:pass1word@host/x", "TRITON_DEBUG": "1"}
    shown = settings_with_digests(given)
    assert shown["TRITON_DEBUG"] == "1" and shown != settings_with_digests({**given, "HF_TOKEN": "other"})
    assert not any(value in str(shown) for value in ("tiny", "pass1word"))
    (tmp_path / "journal.jsonl").touch(mode=0o644)
    TriageJournal(tmp_path, {"environment": shown}, RAN).close()
    assert (tmp_path / "journal.jsonl").stat().st_mode & 0o777 == 0o600

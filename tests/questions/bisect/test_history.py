"""Which releases are searched, what one run of a release says, and what is kept of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.corpus.first_bad import Suspects
from shrinkray_gpu.corpus.sighting import Sighting
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import Answer, Fault
from shrinkray_gpu.questions.bisect.answer_log import (
    FILE,
    answer_log,
    settings_with_digests,
    url_with_digest,
    words_with_digests,
)
from shrinkray_gpu.questions.bisect.history import ReleaseHistory, history_of
from shrinkray_gpu.questions.bisect.release_runs import ReleaseAnswer, answer_of
from shrinkray_gpu.reduction.journal_lines import sealed

RELEASES = ["3.4.0", "3.5.0", "3.5.1", "3.6.0", "3.7.0.dev1+gabc123", "3.7.0"]
KEY = Fault("python", "KeyError", text="'gone'")
QUESTION = {"file": "a", "good": "3.4.0"}


@pytest.mark.parametrize(
    ("good", "bad", "releases"),
    [
        ("3.5.0", "3.6.0", ("3.5.0", "3.5.1", "3.6.0")),
        ("3.6.0", "3.5.0", ("3.6.0", "3.5.1", "3.5.0")),
        ("3.4", "3.5", ("3.4.0", "3.5.0", "3.5.1")),
        ("3.5.0", "3.5", ("3.5.0", "3.5.1")),
        ("3", "3.4", ("3.7.0", "3.7.0.dev1+gabc123", "3.6.0", "3.5.1", "3.5.0", "3.4.0")),
        ("3.6.0", "abc123", ()),
        ("3.6.0", "gabc123", ("3.6.0", "3.7.0.dev1+gabc123")),
        ("3.6.0", "3.7.0.dev1", ("3.6.0", "3.7.0.dev1+gabc123")),
    ],
)
def test_the_releases_from_the_good_end_to_the_bad_one(good: str, bad: str, releases: tuple[str, ...]) -> None:
    if not releases:
        with pytest.raises(UsageError, match="--bad abc123: that is no release; write 3.7.1"):
            history_of("triton", good, bad, offered=RELEASES)
    else:
        assert history_of("triton", good, bad, offered=RELEASES).releases == releases


def test_a_release_of_cuda_is_named_by_its_first_numbers() -> None:
    offered = ["12.4.99", "12.4.131", "12.9.86"]
    assert history_of("ptxas", "12.4", "12.9", offered=offered).releases == ("12.4.131", "12.9.86")


@pytest.mark.parametrize(
    ("good", "bad", "told"),
    [
        ("3.4.0", "3.4", "--good and --bad are both 3.4.0"),
        (
            "3.5.2",
            "3.6.0",
            "--good 3.5.2: no triton 3.5.2 can be installed here; near it there are 3.5.0, 3.5.1, 3.6.0",
        ),
    ],
)
def test_ends_that_make_no_history(good: str, bad: str, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        history_of("triton", good, bad, offered=RELEASES)
    assert told in str(refused.value)


def test_how_a_change_is_told() -> None:
    forwards, backwards = (
        ReleaseHistory("triton", ("3.4.0", "3.5.0", "3.6.0")),
        ReleaseHistory("triton", ("3.6.0", "3.5.0", "3.4.0")),
    )
    assert forwards.change_words(Suspects(1, 1, 1.0)) == "the fault began in triton 3.5.0"
    assert backwards.change_words(Suspects(2, 2, 1.0)) == "the fault ended in triton 3.5.0"
    assert forwards.change_words(Suspects(1, 2, 1.0)) == "the fault began in one of triton 3.5.0, 3.6.0"
    assert backwards.change_words(Suspects(1, 2, 1.0)) == "the fault ended in one of triton 3.5.0, 3.6.0"
    assert forwards.range_words(Suspects(1, 2, 1.0)) == backwards.range_words(Suspects(1, 2, 1.0))


@pytest.mark.parametrize(
    ("seen", "sure", "said"),
    [
        (Sighting(Answer.FAULTS, "it is", KEY), False, ReleaseAnswer(Answer.FAULTS, "it is", fault=KEY)),
        (Sighting(Answer.PASSES, "it ends well"), True, ReleaseAnswer(Answer.PASSES, "it ends well")),
        (Sighting(Answer.PASSES, "so", KEY), False, ReleaseAnswer(Answer.UNKNOWN, f"another fault: {KEY}")),
        (Sighting(Answer.PASSES, "so", KEY), True, ReleaseAnswer(Answer.UNKNOWN, f"another fault: {KEY}", final=True)),
        (Sighting(Answer.UNKNOWN, "a full disk"), True, ReleaseAnswer(Answer.UNKNOWN, "a full disk")),
        (Sighting(Answer.UNKNOWN, "no GPU", alike=True), False, ReleaseAnswer(Answer.UNKNOWN, "no GPU", final=True)),
    ],
)
def test_only_a_run_that_ends_well_speaks_for_a_good_release(seen: Sighting, sure: bool, said: ReleaseAnswer) -> None:
    assert answer_of(seen, sure=sure) == said


def test_answers_are_there_again_after_a_kill(tmp_path: Path) -> None:
    said = [
        ("3.6.0", ReleaseAnswer(Answer.FAULTS, "it is", fault=KEY)),
        ("3.4.0", ReleaseAnswer(Answer.PASSES, "well")),
    ]
    with answer_log(tmp_path / "x.bisect", QUESTION, restart=False) as log:
        assert log.begun == {} and log.earlier == ()
        log.begin({**QUESTION, "releases": ["3.4.0", "3.6.0"]})
        for release, answer in said:
            log.add(release, answer)
    with open(tmp_path / "x.bisect" / FILE, "ab") as file:
        file.write(b'{"release":"3.5.0","ans')  # what a kill left
    for _ in range(2):
        with answer_log(tmp_path / "x.bisect", QUESTION, restart=False) as log:
            assert log.begun["releases"] == ["3.4.0", "3.6.0"] and list(log.earlier) == said
    for _ in range(2):  # forgotten only when another search begins
        with answer_log(tmp_path / "x.bisect", QUESTION, restart=True) as log:
            assert log.begun == {} and log.earlier == ()
        with answer_log(tmp_path / "x.bisect", QUESTION, restart=False) as log:
            assert list(log.earlier) == said
    with answer_log(tmp_path / "x.bisect", QUESTION, restart=True) as log:
        log.begin(QUESTION)
    with answer_log(tmp_path / "x.bisect", QUESTION, restart=False) as log:
        assert log.begun == QUESTION and log.earlier == ()


def test_nobody_else_may_read_the_answers(tmp_path: Path) -> None:
    (tmp_path / FILE).touch(0o644)
    for folder in (tmp_path, tmp_path / "new"):
        with answer_log(folder, QUESTION, restart=False) as log:
            assert log.path.stat().st_mode & 0o777 == 0o600


def test_secrets_are_kept_as_digests() -> None:
    settings = settings_with_digests({"HF_TOKEN": "hunter2", "A": "b", "URL": "https://me:hunter2@x.org/"})
    assert settings["A"] == "b" and settings["HF_TOKEN"].startswith("<secret> sha256:")
    url = url_with_digest("https://me:hunter2@x.org/simple")
    assert (
        url.startswith("https://<secret>@x.org/simple sha256:") and url_with_digest("https://x.org") == "https://x.org"
    )
    assert "abcd1234" not in url_with_digest("https://abcd1234@x.org/simple")
    words = words_with_digests(["--token", "hunter2", "--n", "3"])
    assert words[::3] == ["--token", "3"] and "hunter2" not in f"{settings}{url}{words}"
    assert settings_with_digests({"HF_TOKEN": "hunter3"})["HF_TOKEN"] != settings["HF_TOKEN"]


def test_a_line_that_was_damaged_counts_for_nothing(tmp_path: Path) -> None:
    with answer_log(tmp_path, QUESTION, restart=False) as log:
        log.begin(QUESTION)
        log.add("3.6.0", ReleaseAnswer(Answer.PASSES, "well"))
    text = (tmp_path / FILE).read_text()
    (tmp_path / FILE).write_text(text.replace('"release":"3.6.0"', '"release":"3.5.0"'))
    with open(tmp_path / FILE, "ab") as file:
        for line in ({"answer": "passes", "why": ""}, {"release": "3.5.0", "answer": "perhaps", "why": ""}):
            file.write(sealed(line))
        file.write(sealed({"release": [1], "answer": "passes", "why": ""}))
    with answer_log(tmp_path, QUESTION, restart=False) as log:
        assert log.earlier == ()


def test_answers_to_another_question_are_not_taken(tmp_path: Path) -> None:
    with answer_log(tmp_path, QUESTION, restart=False) as log:
        log.begin(QUESTION)
        with pytest.raises(UsageError, match="another shrink bisect works in"):
            with answer_log(tmp_path, QUESTION, restart=False):
                pass
    with pytest.raises(UsageError, match=r"is of another question \(file changed\): --restart forgets it"):
        with answer_log(tmp_path, {**QUESTION, "file": "b"}, restart=False):
            pass

"""The journal: what is on disk at every moment, and what a resumed reduction reads there."""

from __future__ import annotations

import json
import os
import resource
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.attachment import course
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.journal_lines import sealed
from shrinkray_gpu.reduction.lift_choice import LiftChoice
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.run import Run

FAULTS, PASSES, UNKNOWN = Verdict(Answer.FAULTS, "716"), Verdict(Answer.PASSES, "ran"), Verdict(Answer.UNKNOWN, "sick")
ORIGINAL = Program.from_text("a = 1\nb = 2\nc = 3\n", "failing.py")
SMALLER = Program.from_text("a = 1\nb = 2\n", "failing.py")
SMALLEST = Program.from_text("a = 1\n", "failing.py")


def begin(folder: Path, **changed: Any) -> Journal:
    options: dict[str, Any] = {"original": ORIGINAL, "seed": 0, "width": 8, "settings": {"oracle": ["misaligned"]}}
    return Journal.open(folder, **{**options, **changed})


def lifted(text: str | None) -> LiftChoice:
    return LiftChoice(Run("cold", 1), text)


def accept(journal: Journal, program: Program, **options: Any) -> None:
    journal.best(program, size=program.size, by="statements", **options)
    journal.flush()


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]


def rewritten(line: dict[str, Any]) -> bytes:
    """The line as another version might have written it."""
    return sealed({key: value for key, value in line.items() if key != "crc"})


def kept(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((folder / "other_faults").glob("*"))}


def test_best_is_on_disk_after_each_accept(tmp_path: Path) -> None:
    with begin(tmp_path / "x.shrink") as journal:
        assert not journal.best_path.exists()
        accept(journal, SMALLER)
        assert journal.best_path.read_text() == SMALLER.text
        accept(journal, SMALLEST)
        assert journal.best_path.read_text() == SMALLEST.text
    assert sorted(p.name for p in (tmp_path / "x.shrink").iterdir()) == ["best.py", "journal.jsonl"]


def test_a_line_that_the_disk_has_no_room_for_leaves_nothing(tmp_path: Path) -> None:
    """It has room for half of it: the kernel writes that, and says so. Later there is room again."""
    with begin(tmp_path) as journal:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (journal.path.stat().st_size + 20, before[1]))
        try:
            with pytest.raises(OSError, match="File too large"):
                journal.record_verdict("k1", FAULTS)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        journal.record_verdict("k2", PASSES)
    with begin(tmp_path, resume=True) as journal:
        assert (journal.damaged, journal.recall("k1"), journal.recall("k2")) == (0, None, PASSES)


def test_an_accept_is_recorded_with_size_and_pass(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        accept(journal, SMALLER)
    header, accepted = lines(tmp_path)
    assert header["settings"] == {"oracle": ["misaligned"]} and header["seed"] == 0 and header["width"] == 8
    assert accepted["pass"] == "statements" and tuple(accepted["size"]) == SMALLER.size


def test_verdicts_are_recalled_after_resume(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal.record_verdict("k1", FAULTS)
        journal.record_verdict("k2", PASSES)
        assert journal.recall("k3") is None
    with begin(tmp_path, resume=True) as journal:
        assert journal.recall("k1") == journal.recall("k1") == FAULTS
        assert journal.recall("k2") == PASSES
        assert journal.recall("k3") is None


def test_unknown_is_never_final_but_replayed_once(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal.record_verdict("k", UNKNOWN)
        assert journal.recall("k") is None
        journal.record_verdict("k", FAULTS)
    with begin(tmp_path, resume=True) as journal:
        assert [journal.recall("k") for _ in range(3)] == [UNKNOWN, FAULTS, FAULTS]


def test_a_flaky_no_is_not_final(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal.record_verdict("k", PASSES, final=False)
        assert journal.recall("k") is None
    with begin(tmp_path, resume=True) as journal:
        assert [journal.recall("k") for _ in range(2)] == [PASSES, None]


def test_a_provisional_no_does_not_count_when_we_insist(tmp_path: Path) -> None:
    provisional = Verdict(Answer.PASSES, "in a used context", provisional=True)
    with begin(tmp_path) as journal:
        journal.record_verdict("k", provisional)
        assert journal.recall("k") == provisional
        assert journal.recall("k", insist=True) is None
        journal.record_verdict("k", FAULTS)
        assert journal.recall("k") == FAULTS
    with begin(tmp_path, resume=True) as journal:
        assert journal.recall("k") == provisional, "the replay gives the answers that the course had then"
        assert journal.recall("k", insist=True) == FAULTS


def test_confirmations_and_watched_values_are_recalled(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal.record_answer("confirmed", "k", PASSES)
        journal.record_values("w", {3: "64"})
    with begin(tmp_path, resume=True) as journal:
        assert [journal.recall_answer("confirmed", "k") for _ in range(2)] == [PASSES, None]
        assert journal.recall_values("w") == {3: "64"} and journal.recall_values("v") is None


def test_each_kind_of_question_has_its_own_answers(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal.record_answer("guarded", "k", FAULTS)
        journal.record_answer("identified", "k", PASSES)
        journal.record_answer("guarded", "k", UNKNOWN)
        assert journal.recall_answer("guarded", "k") is None, "what this course was told it need not be told again"
        journal.record_verdict("k2", FAULTS)
    with begin(tmp_path, resume=True) as journal:
        assert journal.recall_answer("confirmed", "k") is None
        assert [journal.recall_answer("guarded", "k") for _ in range(3)] == [FAULTS, UNKNOWN, None]
        assert journal.recall_answer("identified", "k") == PASSES


def test_what_nobody_knew_at_the_end_is_asked_anew(tmp_path: Path) -> None:
    """A full disk or a lost GPU may have been why, and is mended now."""
    with begin(tmp_path) as journal:
        journal.record_verdict("k1", UNKNOWN)
        journal.record_verdict("k2", FAULTS)
        journal.record_verdict("k3", UNKNOWN)
        journal.record_answer("guarded", "k2", UNKNOWN)
        journal.record_verdict("k4", UNKNOWN)
    with begin(tmp_path, resume=True) as journal:
        assert (journal.recall("k1"), journal.recall("k2")) == (UNKNOWN, FAULTS), "the course went on after these"
        assert journal.recall("k3") is journal.recall("k4") is journal.recall_answer("guarded", "k2") is None


def test_what_a_probe_says_is_no_word_of_a_cold_run(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal.record_answer("probed", "k", FAULTS)
        journal.record_answer("confirmed", "k", PASSES)
    with begin(tmp_path, resume=True) as journal:
        assert [journal.recall_answer("confirmed", "k") for _ in range(2)] == [PASSES, None]
        assert journal.recall_answer("probed", "k") == FAULTS


def test_all_of_a_verdict_is_kept(tmp_path: Path) -> None:
    other = Fault("device", "illegal memory access", "scale", 700, text="naïve ☂")
    verdict = Verdict(Answer.PASSES, "another", provisional=True, other=other, certain=True)
    with begin(tmp_path) as journal:
        journal.record_verdict("k", verdict)
        journal.record_answer("identified", "k", verdict)
    with begin(tmp_path, resume=True) as journal:
        assert journal.recall("k") == verdict == journal.recall_answer("identified", "k")
    assert "other" not in lines(tmp_path)[0] and lines(tmp_path)[1]["other"]["code"] == 700


def test_what_a_newer_version_tells_of_a_fault_is_left_out(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal.record_verdict("k", Verdict(Answer.PASSES, other=Fault("exit", "exit status 3")))
    header, line = lines(tmp_path)
    line["other"]["moon"] = "full"
    (tmp_path / "journal.jsonl").write_bytes(rewritten(header) + rewritten(line))
    with begin(tmp_path, resume=True) as journal:
        known = journal.recall("k")
        assert known is not None and known.other == Fault("exit", "exit status 3")


def test_a_drift_forgets_each_yes_and_keeps_each_no(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal.record_verdict("yes", FAULTS)
        journal.record_verdict("no", PASSES)
        journal.record_drift()
        assert journal.recall("yes") is None and journal.recall("no") == PASSES
        journal.record_verdict("yes", PASSES)
    with begin(tmp_path, resume=True) as journal:
        assert journal.recall("yes") == FAULTS, "the replay begins before the drift"
        assert journal.recall("no") == PASSES
        journal.record_drift()
        assert journal.recall("yes") == PASSES and journal.recall("no") == PASSES
    assert [line.get("event") for line in lines(tmp_path)].count("drift") == 1


def test_a_yes_of_the_looser_test_never_counts_after_a_drift(tmp_path: Path) -> None:
    """Not even where the replay takes another way, and comes to that candidate later than the killed course did."""
    with begin(tmp_path) as journal:
        journal.record_verdict("k", FAULTS)
        journal.record_drift()
        journal.record_verdict("tight", FAULTS)
    with begin(tmp_path, resume=True) as journal:
        journal.record_drift()
        assert journal.recall("k") is None
        assert journal.recall("tight") == FAULTS


def test_a_best_edited_by_hand_begins_with_the_loose_test_again(tmp_path: Path) -> None:
    mine = Program.from_text("b = 2\n", "failing.py")
    with begin(tmp_path) as journal:
        journal.record_drift()
        journal.record_verdict("k", FAULTS)
    with begin(tmp_path, resume=True) as journal:
        journal.take_over(mine)
        journal.record_drift()
        assert journal.recall("k") is None, "tight enough for the drift before, who knows for this one"
        journal.record_verdict("k", FAULTS)
    with begin(tmp_path, resume=True) as journal:
        journal.record_drift()
        assert journal.recall("k") == FAULTS
    assert [line.get("event") for line in lines(tmp_path)].count("drift") == 2


def test_an_unfinished_reduction_is_not_overwritten_unasked(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        accept(journal, SMALLER)
    with pytest.raises(UsageError, match="--resume .* --restart"):
        begin(tmp_path)
    assert (tmp_path / "best.py").read_text() == SMALLER.text


def test_restart_wipes_what_is_ours_only(tmp_path: Path) -> None:
    (tmp_path / "ISSUE.md").write_text("mine")
    with begin(tmp_path) as journal:
        journal.record_verdict("k", FAULTS)
        accept(journal, SMALLER)
    with begin(tmp_path, restart=True) as journal:
        assert journal.recall("k") is None and not journal.resumed
        assert not journal.best_path.exists()
    assert len(lines(tmp_path)) == 1
    assert kept(tmp_path) == {"earlier_best_1.py": SMALLER.text}
    assert (tmp_path / "ISSUE.md").exists()


def test_before_the_search_there_is_nothing_to_lose(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal.record_perturbation({})
    with begin(tmp_path, resume=True) as journal:
        assert journal.recall_perturbation() == {}, "chance chose none of the perturbations"
    with begin(tmp_path) as journal:
        assert journal.recall_perturbation() is None


def test_a_lifted_script_is_the_best_at_once_and_no_edit(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal.record_lift(lifted(SMALLER.text))
        journal.record_verdict("k", FAULTS)
    with begin(tmp_path, resume=True) as journal:
        assert journal.best_path.read_text() == SMALLER.text
        assert journal.hand_edit(ORIGINAL) is None
        journal.record_lift(lifted(None))
        assert not journal.best_path.exists(), "not lifted, after all"


def test_what_a_person_made_of_a_lifted_script_is_noticed(tmp_path: Path) -> None:
    """Also where the tool was stopped before anything else was accepted: then the lifted script is all that it has."""
    with begin(tmp_path) as journal:
        journal.record_lift(lifted(SMALLER.text))
        journal.begin_with(SMALLER, size=SMALLER.size)
        journal.flush()
        journal.best_path.write_text(SMALLEST.text)
    with begin(tmp_path, resume=True) as journal:
        journal.begin_with(SMALLER, size=SMALLER.size)
        edited = journal.hand_edit(ORIGINAL)
        assert edited is not None and edited.text == SMALLEST.text
        journal.take_over(edited)
    with begin(tmp_path, resume=True) as journal:
        journal.begin_with(SMALLER, size=SMALLER.size)
        assert journal.hand_edit(ORIGINAL) is None and journal.start(ORIGINAL).text == SMALLEST.text
    assert (tmp_path / "best.py").read_text() == SMALLEST.text


def test_what_a_person_made_of_a_lifted_script_in_vain_is_put_back(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal.begin_with(SMALLER, size=SMALLER.size)
        journal.flush()
        journal.best_path.write_text("nothing = 0\n")
    with begin(tmp_path, resume=True) as journal:
        journal.begin_with(SMALLER, size=SMALLER.size)
        assert journal.hand_edit(ORIGINAL) is not None
        journal.put_back(SMALLER)
    assert (tmp_path / "best.py").read_text() == SMALLER.text
    assert kept(tmp_path) == {"edited_best_1.py": "nothing = 0\n"}


def test_the_course_of_a_lifted_script_is_replayed(tmp_path: Path) -> None:
    for resume in (False, True):
        with begin(tmp_path, resume=resume) as journal:
            journal.begin_with(SMALLER, size=SMALLER.size)
            accept(journal, SMALLEST)
            assert journal.best_path.read_text() == SMALLEST.text
    assert [line["pass"] for line in lines(tmp_path)[1:]] == ["lift", "statements"]


def test_a_finished_reduction_makes_room(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal.record_verdict("k", FAULTS)
        journal.end()
    with begin(tmp_path) as journal:
        assert journal.recall("k") is None


def test_resume_without_a_journal_begins(tmp_path: Path) -> None:
    with begin(tmp_path, resume=True) as journal:
        assert not journal.resumed


def test_seed_and_width_are_those_it_began_with(tmp_path: Path) -> None:
    begin(tmp_path, seed=7, width=4).close()
    with begin(tmp_path, seed=0, width=32, resume=True) as journal:
        assert (journal.header["seed"], journal.header["width"]) == (7, 4)


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"original": SMALLER}, r"the script \(or a module that it imports\)"),
        ({"settings": {"oracle": ["illegal"]}}, r'oracle \(\["misaligned"\] then, \["illegal"\] now\)'),
        ({"settings": {"oracle": ["misaligned"], "arch": "sm_90"}}, r'arch \(not given then, "sm_90" now\)'),
    ],
)
def test_resume_says_what_changed(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    begin(tmp_path).close()
    with pytest.raises(UsageError, match=f"{said} changed since.*--restart"):
        begin(tmp_path, resume=True, **changed)
    begin(tmp_path, resume=True).close()


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    with begin(tmp_path), pytest.raises(UsageError, match="Another shrink is at work"):
        begin(tmp_path, resume=True)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot write .*--output"):
        begin(tmp_path / "file" / "x.shrink")


def test_every_torn_end_is_survived(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal.record_verdict("k1", FAULTS)
        journal.record_verdict("k2", Verdict(Answer.PASSES, "naïve ☂ \u2028 text"))
    path = tmp_path / "journal.jsonl"
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        with begin(tmp_path, resume=True) as journal:
            journal.record_verdict("k3", PASSES)
        with begin(tmp_path, resume=True) as journal:
            assert journal.recall("k3") == PASSES
            known = [journal.recall(key) is not None for key in ("k1", "k2")]
        assert sum(known) == max(0, whole[:cut].count(b"\n") - 1)
        path.unlink()


def test_a_spoilt_line_in_the_middle_costs_only_itself(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal.record_verdict("k1", FAULTS)
        journal.record_verdict("k2", PASSES)
    path = tmp_path / "journal.jsonl"
    header, _, second = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([header, b"\0\0\xff\0", second, b""]))
    with begin(tmp_path, resume=True) as journal:
        assert journal.recall("k1") is None and journal.recall("k2") == PASSES
        assert journal.damaged == 1


def test_a_flipped_byte_is_noticed_though_the_line_still_reads_well(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal.record_verdict("k1", FAULTS)
        journal.record_verdict("k2", PASSES)
    path = tmp_path / "journal.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"k1"', b'"k9"'))
    with begin(tmp_path, resume=True) as journal:
        assert journal.recall("k9") is None and journal.recall("k2") == PASSES
        assert journal.damaged == 1


JUDGED = {"event": "judged", "key": "k3", "answer": "faults", "why": "716"}
ACCEPTED = {"event": "accept", "key": "k3", "text": "0", "size": [0, 1, 0, 0], "pass": "statements", "at": 1.0}
LIFTED = {"event": "lifting", **lifted(None).to_json()}


@pytest.mark.parametrize(
    "line",
    [
        {**JUDGED, "answer": "perhaps"},
        {**JUDGED, "answer": ["faults"]},
        {**JUDGED, "key": [1]},
        {**JUDGED, "why": 5},
        {**JUDGED, "other": [1]},
        {"event": "judged", "key": "k3"},
        {"event": "confirmed", "key": {}, "answer": "faults"},
        {"event": "watched", "key": "k3", "values": {"x": "1"}},
        {"event": "watched", "key": "k3", "values": ["1"]},
        {"event": "start"},
        {"event": "start", "key": "k3", "text": 5},
        {"event": "lifted", "texts": 5},
        {"event": "lifted", "texts": [5]},
        {"event": "perturbed", "variant": 5},
        {**ACCEPTED, "size": "large"},
        {**ACCEPTED, "size": ["large"]},
        {**ACCEPTED, "at": "noon"},
        {**ACCEPTED, "text": None},
        {"event": "accept", "key": "k3", "text": "0"},
        {"event": "lifting"},
        {**LIFTED, "text": 5},
        {**LIFTED, "run": []},
        {**LIFTED, "run": {**Run("cold", 1).to_json(), "added later": 1}},
        {**LIFTED, "run": {**Run("cold", 1).to_json(), "launches": [{"added later": 1}]}},
        {**LIFTED, "fault": {"phase": "python"}},
        {**LIFTED, "kept": {"causes": 1}},
    ],
    ids=json.dumps,
)
def test_a_line_that_cannot_be_taken_costs_only_itself_though_its_checksum_is_right(
    tmp_path: Path, line: dict[str, Any]
) -> None:
    with begin(tmp_path) as journal:
        journal.record_verdict("k1", FAULTS)
        accept(journal, SMALLER)
        journal.record_verdict("k2", PASSES)
    path = tmp_path / "journal.jsonl"
    *before, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*before, sealed(line), last]))
    with begin(tmp_path, resume=True) as journal:
        assert (journal.damaged, journal.recall("k1"), journal.recall("k2")) == (1, FAULTS, PASSES)
        assert journal.recall("k3") is None and journal.recall_lift() is None
        assert journal.hand_edit(ORIGINAL) is None, "best.py is ours"
        accept(journal, SMALLER)
    assert (tmp_path / "best.py").read_text() == SMALLER.text


def test_numbers_and_nests_that_no_parser_takes_are_damage(tmp_path: Path) -> None:
    begin(tmp_path).close()
    with open(tmp_path / "journal.jsonl", "ab") as file:
        for value in (b"9" * 10_000, b"[" * 100_000 + b"]" * 100_000):
            body = b'{"event":"x","a":' + value
            file.write(b'%s,"crc":"%08x"}\n' % (body, zlib.crc32(body)))
    with begin(tmp_path, resume=True) as journal:
        assert journal.damaged == 2


@pytest.mark.parametrize("changed", [{"settings": []}, {"settings": None}, {"seed": "x"}, {"width": 8.5}], ids=str)
def test_a_first_line_of_another_shape_is_damaged(tmp_path: Path, changed: dict[str, Any]) -> None:
    with begin(tmp_path) as journal:
        accept(journal, SMALLER)
    path = tmp_path / "journal.jsonl"
    header, accepted = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(rewritten({**json.loads(header), **changed}) + accepted)
    with pytest.raises(UsageError, match=r"first line of its journal.*is damaged.*best.py.*--restart"):
        begin(tmp_path, resume=True)
    assert (tmp_path / "best.py").read_text() == SMALLER.text


def link_to(target: str) -> Callable[[Path], None]:
    def put(path: Path) -> None:
        path.symlink_to(target)

    return put


@pytest.mark.parametrize("how", ["resume", "restart", ""])
@pytest.mark.parametrize(
    "put", [os.mkfifo, os.mkdir, link_to("/dev/zero"), link_to("best.py")], ids=["pipe", "folder", "device", "circle"]
)
def test_a_best_that_is_no_plain_file_is_refused_at_once(tmp_path: Path, put: Callable[[Path], None], how: str) -> None:
    with begin(tmp_path) as journal:
        accept(journal, SMALLER)
        journal.best_path.unlink()
        if not how:
            journal.end()
        put(journal.best_path)
    before = (tmp_path / "journal.jsonl").read_bytes()
    with pytest.raises(UsageError, match=r"cannot read .*best.py: .*\. Move it away, or choose another") as refused:
        begin(tmp_path, **({how: True} if how else {}))
    assert "\n" not in str(refused.value) and (tmp_path / "journal.jsonl").read_bytes() == before


@pytest.mark.parametrize("how", ["resume", "restart", ""])
@pytest.mark.parametrize(
    ("put", "why"),
    [
        (os.mkfifo, "it is no plain file"),
        (os.mkdir, "Is a directory"),
        (link_to("/dev/full"), "it is a link"),
        (link_to("/dev/null"), "it is a link"),
        (link_to("notes.txt"), "it is a link"),
        (link_to("nothing"), "it is a link"),
    ],
    ids=["pipe", "folder", "full", "null", "a file of the user's", "nothing"],
)
def test_a_journal_that_is_no_plain_file_is_refused_at_once(
    tmp_path: Path, put: Callable[[Path], None], why: str, how: str
) -> None:
    (tmp_path / "notes.txt").write_text("precious\n")
    put(tmp_path / "journal.jsonl")
    with pytest.raises(UsageError, match=rf"cannot write .*journal.jsonl: {why}\. Choose another") as refused:
        begin(tmp_path, **({how: True} if how else {}))
    assert "\n" not in str(refused.value) and (tmp_path / "notes.txt").read_text() == "precious\n"
    assert not (tmp_path / "nothing").exists()
    assert course.read(tmp_path / "journal.jsonl") == ()


@pytest.mark.parametrize("at", [0, 40, 130])
def test_a_spoilt_first_line_is_told_and_loses_nothing(tmp_path: Path, at: int) -> None:
    with begin(tmp_path) as journal:
        accept(journal, SMALLER)
    path = tmp_path / "journal.jsonl"
    data = bytearray(path.read_bytes())
    data[at] ^= 4
    path.write_bytes(data)
    with pytest.raises(UsageError, match=r"first line of its journal.*is damaged.*best.py.*--restart"):
        begin(tmp_path, resume=True)
    with pytest.raises(UsageError, match="unfinished"):
        begin(tmp_path)
    assert (tmp_path / "best.py").read_text() == SMALLER.text and path.read_bytes() == data
    begin(tmp_path, restart=True).close()
    assert kept(tmp_path) == {"earlier_best_1.py": SMALLER.text}


@pytest.mark.parametrize("left", [0, 1, 2], ids=["no journal", "its header", "the lifted script"])
def test_a_best_ahead_of_its_journal_is_looked_at_before_anything_is_written_over_it(tmp_path: Path, left: int) -> None:
    with begin(tmp_path) as journal:
        journal.record_lift(lifted(SMALLER.text))
        accept(journal, SMALLEST)
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:left]))
    with begin(tmp_path, resume=True) as journal:
        if left < 2:
            journal.record_lift(lifted(SMALLER.text))
        journal.begin_with(SMALLER, size=SMALLER.size)
        journal.flush()
        assert journal.best_path.read_text() == SMALLEST.text
        found = journal.hand_edit(ORIGINAL)
        assert found is not None and found.text == SMALLEST.text
        journal.put_back(SMALLER)
    assert (tmp_path / "best.py").read_text() == SMALLER.text
    assert kept(tmp_path) == {"edited_best_1.py": SMALLEST.text}


def test_a_best_that_is_no_text_is_kept(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        accept(journal, SMALLER)
        journal.best_path.write_bytes(b"a = '\xff'\n")
    with begin(tmp_path, resume=True) as journal:
        assert journal.hand_edit(ORIGINAL) is None
        accept(journal, SMALLER)
    assert (tmp_path / "best.py").read_text() == SMALLER.text
    assert (tmp_path / "other_faults" / "edited_best_1.py").read_bytes() == b"a = '\xff'\n"


def test_what_a_rollback_takes_back_is_kept_once_also_in_a_replay(tmp_path: Path) -> None:
    for resume in (False, True):
        with begin(tmp_path, resume=resume) as journal:
            accept(journal, SMALLER)
            accept(journal, SMALLEST)
            told = journal.roll_back(SMALLER, size=SMALLER.size, by="rollback", why="it passes in a cold process")
            assert told == tmp_path / "other_faults" / "taken_back_1.py"
    assert (tmp_path / "best.py").read_text() == SMALLER.text
    [text] = kept(tmp_path).values()
    assert text.endswith(SMALLEST.text) and "it passes in a cold process" in text


def test_replaying_never_puts_a_larger_best_on_disk(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        accept(journal, SMALLER)
        accept(journal, SMALLEST)
    with begin(tmp_path, resume=True) as journal:
        accept(journal, SMALLER)
        assert journal.best_path.read_text() == SMALLEST.text
        accept(journal, SMALLEST)
        assert journal.best_path.read_text() == SMALLEST.text
    assert len(lines(tmp_path)) == 3, "nothing is recorded twice"


def test_a_replay_that_goes_another_way_keeps_best_until_it_is_beaten(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        accept(journal, SMALLER)
    other = Program.from_text("b = 2\nc = 33\n", "failing.py")
    with begin(tmp_path, resume=True) as journal:
        accept(journal, other)
        assert journal.best_path.read_text() == SMALLER.text
        accept(journal, SMALLEST)
        assert journal.best_path.read_text() == SMALLEST.text


def test_a_rollback_is_written_though_it_is_larger(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        accept(journal, SMALLEST)
        accept(journal, SMALLER, smaller=False)
        assert journal.best_path.read_text() == SMALLER.text


def test_a_best_edited_by_hand_is_noticed_and_can_take_over(tmp_path: Path) -> None:
    mine = "b = 2\n"
    with begin(tmp_path) as journal:
        accept(journal, SMALLER)
        assert journal.hand_edit(ORIGINAL) is None
        journal.best_path.write_text(mine)
    with begin(tmp_path, resume=True) as journal:
        edited = journal.hand_edit(ORIGINAL)
        assert edited is not None and edited.text == mine
        assert journal.start(ORIGINAL) == ORIGINAL
        journal.take_over(edited)
        assert journal.start(ORIGINAL) == edited
    with begin(tmp_path, resume=True) as journal:
        assert journal.start(ORIGINAL).text == mine
        assert journal.hand_edit(ORIGINAL) is None


def test_a_kill_between_the_line_and_the_file_is_no_edit(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        accept(journal, SMALLER)
        before = journal.best_path.read_bytes()
        accept(journal, SMALLEST)
        journal.best_path.write_bytes(before)
    with begin(tmp_path, resume=True) as journal:
        assert journal.hand_edit(ORIGINAL) is None
        accept(journal, SMALLER)
        accept(journal, SMALLEST)
        assert journal.best_path.read_text() == SMALLEST.text


def test_what_keeps_best_from_the_disk_is_raised_at_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError), begin(tmp_path) as journal:
        journal.best_path.mkdir()
        journal.best(SMALLER, size=SMALLER.size, by="a pass")
        with pytest.raises(IsADirectoryError):
            journal.best(SMALLEST, size=SMALLEST.size, by="a pass")
        journal.best(SMALLEST, size=SMALLEST.size, by="a pass")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best.py", "journal.jsonl"]


def test_best_is_normalised_like_any_program(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        accept(journal, SMALLER)
        journal.best_path.write_bytes(b"\xef\xbb\xbfb = 2\r\n")
    with begin(tmp_path, resume=True) as journal:
        edited = journal.hand_edit(ORIGINAL)
        assert edited is not None and edited.text == "b = 2\n"


def test_an_accept_tells_the_seconds_of_work_those_before_a_kill_too(tmp_path: Path) -> None:
    with begin(tmp_path) as journal:
        journal._clock = iter([journal._began + 2.5]).__next__
        accept(journal, SMALLER)
    with begin(tmp_path, resume=True) as journal:
        accept(journal, SMALLER)  # replayed
        journal._clock = iter([journal._began + 1.0]).__next__
        accept(journal, SMALLEST)
    assert [line["at"] for line in lines(tmp_path) if line.get("event") == "accept"] == [2.5, 3.5]

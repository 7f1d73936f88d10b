"""The goals can be read and can fail; the table is resumed. That the goals are met is what `make seeds` shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.seeds.goals import ROOT, Expected, GoalError, Part, Twin, read, seeds
from tests.seeds.machine import Machine
from tests.seeds.outcome import PASSES, Ended, Unmet, judge
from tests.seeds.table import FAILED, NOT_RUN, PASSED, Row, Table, printed, stamp

REPRO = "import torch\n\nlaunch(stages=3)\n"
PART = Part(
    seed="example",
    name="cpu",
    command="failing.py --output {out}/repro.py",
    expected=Expected(says=("UTMALDG",), lines=2, repro=(r"^launch\(",), issue=("716",)),
    limit=10,
    check="--oracle fault",
    twins=(Twin(find="stages=3", replace="stages=1"), Twin(env="SERIAL=1")),
)
REDUCED = Ended(0, "reduced\n  fault: at UTMALDG\n")


def shrink(words: Sequence[str]) -> Ended:
    """The tool, to which three stages without SERIAL are the fault."""
    faults = "stages=3" in Path(words[0]).read_text() and "SERIAL=1" not in words
    return (
        Ended(0, "shows it") if faults else Ended(3, f"shrink: no fault. The program {PASSES} after 1.0 s.\nIt printed")
    )


def made(folder: Path, repro: str = REPRO, issue: str = "error 716") -> Path:
    (folder / "failing.shrink").mkdir()
    (folder / "failing.shrink" / "ISSUE.md").write_text(issue)
    (folder / "repro.py").write_text(repro)
    return folder


def test_all_that_is_expected_holds(tmp_path: Path) -> None:
    assert judge(PART, REDUCED, made(tmp_path), shrink) == 2


@pytest.mark.parametrize(
    ("ended", "repro", "issue", "why"),
    [
        (Ended(4, "final check failed"), REPRO, "716", "exit code 4 instead of 0: final check failed"),
        (Ended(0, "reduced"), REPRO, "716", "the output lacks 'UTMALDG'"),
        (REDUCED, REPRO + "end()\n", "716", "the repro has 3 lines, 2 are allowed"),
        (REDUCED, "start(stages=3)", "716", "the repro lacks"),
        (REDUCED, REPRO, "717", "ISSUE.md lacks '716'"),
        (REDUCED, "launch(stages=4)", "716", "the repro does not show the fault"),
    ],
)
def test_each_expectation_can_fail(tmp_path: Path, ended: Ended, repro: str, issue: str, why: str) -> None:
    with pytest.raises(Unmet, match=re.escape(why)):
        judge(PART, ended, made(tmp_path, repro, issue), shrink)


def test_a_fix_must_fit_and_must_help(tmp_path: Path) -> None:
    made(tmp_path)
    for twin, why in (
        (Twin(find="num_stages=3", replace=""), "the fix does not fit the repro"),
        (Twin(find="import torch", replace="import torch as t"), "the fix does not make the repro pass"),
        (Twin(env="WIDE=1"), "the fix does not make the repro pass"),
    ):
        with pytest.raises(Unmet, match=why):
            judge(replace(PART, twins=(twin,)), REDUCED, tmp_path, shrink)


def test_a_twin_that_dies_of_another_error_does_not_pass(tmp_path: Path) -> None:
    def dies(words: Sequence[str]) -> Ended:
        return shrink(words) if words[0].endswith("repro.py") else Ended(3, "shrink: another fault: NameError")

    with pytest.raises(Unmet, match="NameError"):
        judge(PART, REDUCED, made(tmp_path), dies)


def test_a_misspelt_expectation_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    path = tmp_path / "a" / "goal.toml"
    good = 'note = 0\ntitle = "t"\n[[part]]\nname = "cpu"\ncommand = "x.py"\nlimit = 1\n[part.expect]\nexit = 1\n'
    path.write_text(good)
    assert read(path).parts[0].expected.exit == 1
    for bad in (good + "sais = ['x']\n", good.replace("limit", "limits"), good.replace("exit = 1", "lines = 3")):
        path.write_text(bad)
        with pytest.raises(GoalError, match=str(path)):
            read(path)


def test_five_notes_each_with_and_without_a_gpu() -> None:
    known = seeds()
    assert [seed.note for seed in known] == [0, 1, 2, 3, 4]
    for seed in known:
        assert {"gpu" in part.needs for part in seed.parts} == {True, False}, seed.name
        for part in seed.parts:
            words = part.words(Path("out"), 2)
            assert all((ROOT / word).exists() for word in words if word.endswith(".py") and not word.startswith("out/"))
            assert not any("{" in word for word in words)


def test_the_fixes_fit_the_repros_of_the_corpus() -> None:
    """A reduction must end where its fix can still be made: these ended there before."""
    fitting = 0
    for seed in seeds():
        for part in seed.parts:
            [case] = re.findall(r"corpus/(\w+)/", part.command) or [""]
            if case and part.twins:
                repro = (ROOT / "corpus" / case / f"repro_{case}.py").read_text()
                assert all(re.search(twin.find, repro, re.MULTILINE) for twin in part.twins), part.title
                fitting += 1
    assert fitting == 4


def test_what_passed_is_not_run_again_unless_it_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "build" / "seeds.json"
    Table(path).put(PART, Row(PASSED, command=stamp(PART), on="here"))
    again = Table(path)
    assert again.settled(PART, "here")
    assert not again.settled(PART, "elsewhere")
    assert not again.settled(replace(PART, expected=replace(PART.expected, lines=1)), "here")
    again.put(PART, Row(FAILED, "too long", command=stamp(PART), on="here"))
    assert not again.settled(PART, "here")
    assert Table(path).failed({"example/cpu": PART}) == ["example/cpu"]


def test_why_a_part_is_not_run_here() -> None:
    bare, whole = Machine("", "", False, ""), Machine("H100", "/usr/bin/nvcc", True, "")
    for needs, why in (({"gpu"}, "no GPU"), ({"nvcc"}, "no nvcc"), ({"releases"}, "--releases"), (set(), "")):
        part = replace(PART, needs=frozenset(needs))
        assert why in bare.reason_against(part)
        assert bool(bare.reason_against(part)) == bool(why)
        assert not whole.reason_against(part)


def test_a_row_for_each_part(tmp_path: Path) -> None:
    known = seeds()
    table = Table(tmp_path / "seeds.json")
    first = known[0].parts[0]
    table.put(first, Row(PASSED, seconds=61.4, lines=11))
    text = printed(known, table)
    assert len(text.splitlines()) == len(known) + sum(len(seed.parts) for seed in known)
    assert re.search(r"tma_jsd/cpu +passed +61 s +11 lines$", text, re.MULTILINE)
    assert re.search(rf"tma_jsd/gpu +{NOT_RUN}", text)

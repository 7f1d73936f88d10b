"""Checks beside the search tell another fault where the everyday test sees the same: controls and full fingerprints.

In most of these the everyday test looks for `s7`, but it is the same fault only while `s3` is there too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.reduction.checks import fingerprint_checks
from shrinkray_gpu.reduction.checks.check_plan import FingerprintPlan
from shrinkray_gpu.reduction.checks.fingerprint_checks import FIRST, WARY_AFTER, FingerprintChecks
from shrinkray_gpu.reduction.checks.lineage import Lineage
from shrinkray_gpu.reduction.edit import Edit, Remove, Replace
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.outcome import CheckResults, Reduction
from shrinkray_gpu.reduction.program import Program
from tests.reduction.course import Bench, Own, blocks, numbers, statements, trace, verdict

LONG = "".join(f"s{i} = {i}\n" for i in range(30))
MISALIGNED = Fault("device", "misaligned address", "kernel", 716)
ILLEGAL = Fault("device", "illegal memory access", "kernel", 700)


def has(*words: str) -> Callable[[str], bool]:
    return lambda text: all(word in text for word in words)


everyday, truth = has("s7 "), has("s7 ", "s3 ")


class Beside:
    """What is asked beside the search: answered at once, or only when the engine takes it. Remembers both."""

    def __init__(self, predicate: Callable[[str], bool | None], *, late: bool = False, other: Fault | None = None):
        self.predicate, self.late, self.other = predicate, late, other
        self.asked: list[str] = []
        self.taken: list[str] = []

    def __call__(self, program: Program) -> Any:
        self.asked.append(program.text)
        answer = None if self.late else self.verdict(program.text)
        return _Answer(lambda: self._take(program.text, answer))

    def verdict(self, text: str) -> Verdict:
        plain = verdict(self.predicate(text))
        if plain.faults:
            return plain
        return Verdict(
            plain.answer, "another one" if plain.is_known else "sick", other=self.other if plain.is_known else None
        )

    def _take(self, text: str, answer: Verdict | None) -> Verdict:
        self.taken.append(text)
        return answer or self.verdict(text)


class _Answer:
    def __init__(self, result: Callable[[], Verdict]) -> None:
        self.result = result


def accepted(bench: Bench) -> list[str]:
    return [event.program.text for event in bench.events if event.kind == "accepted"]


def notes(bench: Bench) -> str:
    return "\n".join(event.text for event in bench.events if event.kind == "note")


def key(text: str) -> str:
    return Program.from_text(text, "failing.py").key


# No slip, no drift


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("lag", [0, 5])
def test_guards_that_find_nothing_do_not_change_the_course(tmp_path: Path, late: bool, lag: int) -> None:
    plain, watched = Bench(everyday), Bench(everyday)
    without = plain.reduce(LONG, tmp_path / "without", passes=(statements, numbers))
    guard, identify = Beside(everyday, late=late), Beside(everyday, late=late)
    within = watched.reduce(
        LONG, tmp_path / "with", passes=(statements, numbers), controls=guard, lag=lag, fingerprint=identify
    )
    assert trace(watched.events) == trace(plain.events) and watched.asked == plain.asked
    assert within.program == without.program
    assert (within.cost.tries, within.cost.rounds) == (without.cost.tries, without.cost.rounds)
    assert guard.asked == accepted(watched), "one question for each accepted step, in order"
    assert guard.taken == guard.asked
    said = within.checks
    assert (said.control_checks, said.control_slips, said.fingerprint_slips) == (within.cost.accepted, 0, ())
    assert said.last_same == within.program and said.controls is not None and said.controls.faults


def test_without_checks_nothing_is_claimed(tmp_path: Path) -> None:
    result = Bench(everyday).reduce(LONG, tmp_path)
    assert result.checks == CheckResults(rollbacks=0, verified=Program.from_text(LONG, "failing.py"))


def test_the_same_code_in_fewer_characters_is_not_guarded_again(tmp_path: Path) -> None:
    guard = Beside(has())
    text = "x  =  1  # the answer\n"
    result = Bench(has()).reduce(text, tmp_path, passes=(spacing,), controls=guard, fingerprint=guard)
    assert result.cost.accepted == 1 and guard.asked == []
    assert result.checks.last_same == result.program


def _respace(program: Program) -> Iterable[Edit]:
    yield Edit("drop comment", (Replace(program.module.body[0], ("x = 1",)),))


spacing = Own("spacing", _respace)


# Slips


@pytest.mark.parametrize("at", [0, 1, -1])
def test_the_course_goes_back_to_the_last_good_step(tmp_path: Path, at: int) -> None:
    """The control refuses one program alone: the first, second or last step of the one pass there is."""
    plain = Bench(everyday)
    plain.reduce(LONG, tmp_path / "plain")
    bad = accepted(plain)[at]
    bench = Bench(everyday)
    result = bench.reduce(LONG, tmp_path / "guarded", controls=Beside(lambda text: text != bad))
    back = next(event for event in bench.events if event.kind == "rolled back")
    assert back.program.text == [LONG, *accepted(plain)][at if at >= 0 else len(accepted(plain)) - 1]
    assert "a control finds another fault: another one" in back.text
    assert result.program.text != bad and everyday(result.program.text)
    after = [event for event in bench.events[bench.events.index(back) :] if event.kind == "accepted"]
    assert bad not in [event.program.text for event in after]
    assert result.program.text == (tmp_path / "guarded" / "best.py").read_text()


def test_a_slip_is_not_taken_again_in_other_shapes(tmp_path: Path) -> None:
    bench, guard = Bench(everyday), Beside(truth)
    result = bench.reduce(LONG, tmp_path, controls=guard)
    assert result.program.text == "s3 = 3\ns7 = 7\n"
    assert [event.kind for event in bench.events].count("rolled back") == 1
    assert result.checks.control_slips > 1, "those that the strict course did not take are counted too"
    assert "the controls are asked of each candidate" in notes(bench)
    assert result.checks.controls is not None and result.checks.controls.faults


def test_the_price_is_a_guard_for_each_step_and_then_one_for_each_yes(tmp_path: Path) -> None:
    bench, guard = Bench(everyday), Beside(truth)
    result = bench.reduce(LONG, tmp_path, controls=guard)
    back = next(at for at, event in enumerate(bench.events) if event.kind == "rolled back")
    before = [event.program.text for event in bench.events[:back] if event.kind == "accepted"]
    assert guard.asked[: len(before)] == before
    yes = {key(text) for text in bench.asked if everyday(text)}
    assert {key(text) for text in guard.asked} <= yes
    assert len(guard.asked) == len({key(text) for text in guard.asked}) == result.checks.control_checks, "none twice"


def test_a_slip_takes_the_course_back_to_its_start(tmp_path: Path) -> None:
    result = Bench(everyday).reduce(LONG, tmp_path, controls=Beside(lambda text: text == LONG))
    assert result.program.text == LONG == (tmp_path / "best.py").read_text()
    assert result.checks.control_slips and result.cost.accepted and result.checks.verified.text == LONG


def test_a_slip_takes_back_what_cold_runs_confirmed(tmp_path: Path) -> None:
    """A cold run sees the everyday fault, not whether it is the same: what it confirmed goes with the slip."""
    confirm = Beside(everyday)
    result = Bench(everyday).reduce(LONG, tmp_path, controls=Beside(truth), cold=confirm, interval=1)
    assert result.program.text == "s3 = 3\ns7 = 7\n" == result.checks.verified.text
    assert result.checks.rollbacks == 0


def test_a_late_guard_still_takes_the_course_back(tmp_path: Path) -> None:
    result = Bench(everyday).reduce(LONG, tmp_path, controls=Beside(truth, late=True), lag=1000)
    assert result.program.text == "s3 = 3\ns7 = 7\n"


def test_timing_does_not_matter(tmp_path: Path) -> None:
    courses = []
    for late in (False, True):
        bench, guard, identify = Bench(everyday), Beside(truth, late=late), Beside(has("s7 ", "s9 "), late=late)
        bench.reduce(LONG, tmp_path / str(late), controls=guard, fingerprint=identify)
        courses.append((trace(bench.events), guard.asked, identify.asked))
    assert courses[0] == courses[1]


def test_a_control_that_says_nothing_refutes_nothing(tmp_path: Path) -> None:
    bench = Bench(everyday)
    result = bench.reduce(LONG, tmp_path, controls=Beside(lambda text: None))
    assert result.program.text == "s7 = 7\n"
    assert (result.checks.control_slips, result.checks.rollbacks) == (0, 0)
    assert result.checks.controls is not None and not result.checks.controls.is_known
    assert "the controls say nothing of the smallest program: sick" in notes(bench)


def test_an_unclear_guard_of_the_last_step_gets_a_second_chance(tmp_path: Path) -> None:
    sick = iter([None])
    result = Bench(everyday).reduce(
        LONG, tmp_path, controls=Beside(lambda text: next(sick, True) if text == "s7 = 7\n" else True)
    )
    assert result.program.text == "s7 = 7\n" and result.checks.controls is not None and result.checks.controls.faults


def test_a_second_chance_may_find_the_slip(tmp_path: Path) -> None:
    sick = iter([None])
    result = Bench(everyday).reduce(
        LONG, tmp_path, controls=Beside(lambda text: next(sick, False) if text == "s7 = 7\n" else True)
    )
    assert len(result.program.text.splitlines()) == 2 and "s7 " in result.program.text
    assert result.checks.control_slips == 1


def test_unclear_steps_before_a_slip_are_no_place_to_go_back_to(tmp_path: Path) -> None:
    """Unclear while more than 10 lines are left, a slip below: back to the start, the last that is known to be good."""

    def control(text: str) -> bool | None:
        return truth(text) if len(text.splitlines()) <= 10 else None

    bench = Bench(everyday)
    result = bench.reduce(LONG, tmp_path, controls=Beside(control))
    back = next(event for event in bench.events if event.kind == "rolled back")
    assert back.program.text == LONG
    assert truth(result.program.text)


def test_after_a_slip_no_step_shakes_off_its_guard(tmp_path: Path) -> None:
    """Without `knob` the control does not apply. Nothing but the control needs it."""

    def control(text: str) -> bool | None:
        return truth(text) if "knob" in text else None

    guard = Beside(control)
    slipped = lambda: any(control(text) is False for text in guard.asked)  # noqa: E731
    bench = Bench(lambda text: everyday(text) and ("knob" in text or slipped()))
    result = bench.reduce(f"knob = 1\n{LONG}", tmp_path, controls=guard)
    assert result.checks.control_slips and any("knob" not in text for text in guard.asked), "it was tempted"
    assert "knob" in result.program.text and truth(result.program.text)


def test_a_trial_is_guarded_once_it_is_the_best(tmp_path: Path) -> None:
    def grow(program: Program) -> Iterable[Edit]:
        for node in program.module.body:
            if program.module.code_for_node(node).strip() == "call(1)":
                yield Edit("inline", (Replace(node, ("one()\ntwo()\nthree()",)),))

    guard = Beside(has())
    bench = Bench(lambda text: "call(1)" in text or "two()" in text)
    result = bench.reduce(
        "a = 1\ncall(1)\n", tmp_path, passes=(statements, Own("inline", grow, grows=True)), controls=guard
    )
    assert result.program.text == "two()\n"
    assert guard.asked == accepted(bench) and "one()\ntwo()\nthree()\n" not in guard.asked


def test_a_lifted_script_that_slips_gives_way_to_the_next(tmp_path: Path) -> None:
    lifted = ("lifted = 1\ns7 = 7\n", "lifted = 22\ns7 = 7\n")
    bench = Bench(everyday)
    guard = Beside(lambda text: "lifted = 1\n" not in text and "lifted" in text)
    result = bench.reduce(LONG, tmp_path, passes=(), lifts=lambda: lifted, controls=guard)
    assert result.program.text == lifted[1]
    assert result.checks.control_slips == 1


def test_a_layout_that_slips_is_not_taken(tmp_path: Path) -> None:
    options: dict[str, Any] = {"layout": lambda text: text.replace("s7 = 7", "s7 = 8 - 1")}
    refused = Bench(everyday).reduce(LONG, tmp_path / "a", controls=Beside(has("s7 = 7")), **options)
    assert refused.program.text == "s7 = 7\n"
    other = Bench(everyday).reduce(LONG, tmp_path / "b", fingerprint=Beside(has("s7 = 7")), **options)
    assert other.program.text == "s7 = 7\n"
    good = Bench(everyday).reduce(
        LONG, tmp_path / "c", controls=Beside(everyday), fingerprint=Beside(everyday), **options
    )
    assert good.program.text == "s7 = 8 - 1\n" == (good.checks.last_same or good.program).text
    assert good.checks.controls is not None and good.checks.controls.faults and good.checks.last_same is not None


# Drifts


class Tightening:
    """An everyday test that learns to see what the fingerprint saw. Which is to say: `s3`."""

    def __init__(self, *, learns: bool = True) -> None:
        self.learns, self.drifted = learns, list[Verdict]()
        self.bench = Bench(lambda text: (truth if self.drifted and self.learns else everyday)(text))

    def reduce(self, folder: Path, text: str = LONG, **options: Any) -> Reduction:
        return self.bench.reduce(text, folder, **{"drifted": self.drifted.append} | options)


def test_a_fingerprint_of_the_end_is_waited_for_only_there(tmp_path: Path) -> None:
    """It takes seconds, and the round after it is of candidates that are judged in no time."""
    texts = ("s7 = 7\ns8 = 8\ns9 = 9\n", "s7 = 7\ns8 = 8\n", "s7 = 7\n")
    start, before, last = (Program.from_text(text, "failing.py") for text in texts)
    identify, line, none = Beside(everyday, late=True), Lineage(start), lambda *said: None
    with Journal.open(tmp_path, original=start, seed=0, width=1, settings={}) as journal:
        plan = FingerprintPlan(identify, first=2)
        checks = FingerprintChecks(plan, line, journal, forget=none, undo=none, tell=none, note=none)
        line.add(before, 1)
        checks.at_point(2)
        line.add(last, 3)
        checks.before_the_end(10)
        assert identify.taken == [before.text], "what was out before is taken"
        for considered in (11, 13, 17):
            checks.at_point(considered)
        checks.before_the_end(17)
        assert identify.taken == [before.text]
        checks.at_the_end(17)
    assert identify.taken == identify.asked == [before.text, last.text] and checks.last_same == last


def test_a_drift_at_the_very_end(tmp_path: Path) -> None:
    course, identify = Tightening(), Beside(truth, other=ILLEGAL)
    result = course.reduce(tmp_path, fingerprint=identify)
    assert len(course.bench.asked) < 2 * FIRST
    assert result.program.text == "s3 = 3\ns7 = 7\n"
    assert [each.other for each in course.drifted] == [ILLEGAL] and result.checks.fingerprint_slips == ("another one",)
    assert result.checks.last_same == result.program
    assert identify.asked[-1] == result.program.text
    assert len([event for event in course.bench.events if event.kind == "rolled back"]) == 1


def test_a_drift_is_found_by_bisection(tmp_path: Path) -> None:
    course, identify = Tightening(), Beside(truth)
    result = course.reduce(tmp_path, fingerprint=identify)
    back = next(event for event in course.bench.events if event.kind == "rolled back")
    before = [
        LONG,
        *(e.program.text for e in course.bench.events[: course.bench.events.index(back)] if e.kind == "accepted"),
    ]
    assert back.program.text == [text for text in before if truth(text)][-1]
    asked = identify.asked[: identify.asked.index(result.program.text)]
    rounds = -(-len(before).bit_length() // 2)
    assert len(asked) <= 2 + fingerprint_checks.AT_ONCE * rounds, "each round leaves a quarter"


def wide(count: int) -> str:
    return "".join(f"s{i} = {i}\n" for i in range(count))


def first_line(program: Program) -> Iterable[Edit]:
    for node in program.module.body:
        if not program.module.code_for_node(node).startswith("s7 "):
            yield Edit("remove line", (Remove(node),))
            return


one_by_one = [Own(f"first line {i}", first_line) for i in range(10)]
"""Each pass takes a line off at the price of one candidate, so that there are many points."""


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> int:
    """Candidates before the first fingerprint: few, so that a small program is enough."""
    monkeypatch.setattr(fingerprint_checks, "FIRST", 6)
    return 6


def test_fingerprints_are_taken_at_growing_intervals_up_to_a_widest(tmp_path: Path, often: int) -> None:
    considered: list[int] = []
    bench = Bench(everyday)

    def identify(program: Program) -> Any:
        considered.append(len(bench.asked))
        return _Answer(lambda: verdict(True))

    bench.reduce(wide(120), tmp_path, passes=one_by_one, fingerprint=identify)
    assert considered[:5] == [often, 3 * often, 7 * often, 11 * often, 15 * often]


def test_a_drift_found_on_the_way_costs_no_more_than_the_way_since(tmp_path: Path, often: int) -> None:
    course, identify = Tightening(), Beside(truth)
    result = course.reduce(tmp_path, wide(60), passes=[*one_by_one, statements], fingerprint=identify)
    assert result.program.text == "s3 = 3\ns7 = 7\n"
    back = next(event for event in course.bench.events if event.kind == "rolled back")
    assert back.tries <= 5 * often and back.program.text.startswith("s3 = 3\n")
    assert len(result.checks.fingerprint_slips) == 1


def each_line(program: Program) -> Iterable[Edit]:
    for level, node in enumerate(program.module.body):
        yield Edit("remove line", (Remove(node),), level=level)


def test_a_pass_whose_first_step_was_a_drift_is_not_done_with_the_program(tmp_path: Path, often: int) -> None:
    course = Tightening()
    text = "s3 = 3\n" + wide(60).replace("s3 = 3\n", "")
    result = course.reduce(tmp_path, text, passes=(Own("lines", each_line),), fingerprint=Beside(truth), width=1)
    back = next(event for event in course.bench.events if event.kind == "rolled back")
    assert back.program.text == text and result.program.text == "s3 = 3\ns7 = 7\n"


def test_a_drift_within_a_long_pass_is_found_before_its_end(tmp_path: Path, often: int) -> None:
    course = Tightening()
    passes = (Own("lines", each_line),)
    result = course.reduce(tmp_path, wide(60), passes=passes, fingerprint=Beside(truth), width=1)
    assert result.program.text == "s3 = 3\ns7 = 7\n" and len(result.checks.fingerprint_slips) == 1
    events = course.bench.events
    back = next(i for i, event in enumerate(events) if event.kind == "rolled back")
    passed = [event for event in events[:back] if event.kind == "pass"]
    assert len(passed) == 1, "it went back in the middle of the first pass"


def test_out_of_time_is_no_reason_to_end_in_another_fault(tmp_path: Path) -> None:
    """The first fingerprint would be taken much later."""
    course, identify = Tightening(), Beside(truth)
    bench = course.bench
    result = course.reduce(tmp_path, wide(60), fingerprint=identify, stop=lambda: not everyday_only(bench))
    assert result.ended == "stopped" and len(result.checks.fingerprint_slips) == 1
    assert truth(result.program.text) and result.checks.last_same == result.program
    assert (tmp_path / "best.py").read_text() == result.program.text


def everyday_only(bench: Bench) -> bool:
    """Whether nothing was accepted yet that has the other fault."""
    return all(truth(text) for text in accepted(bench))


def test_what_the_looser_test_said_yes_to_is_forgotten(tmp_path: Path) -> None:
    """The judge is asked again of a candidate without `s3` that it had said yes to, and of none that it had denied."""
    course = Tightening()
    course.reduce(tmp_path, fingerprint=Beside(truth), width=4, seed=1, passes=(statements, numbers))
    back = next(event for event in course.bench.events if event.kind == "rolled back").tries
    early, late = course.bench.keys[:back], course.bench.keys[back:]
    yes = {key(text) for text in course.bench.asked[:back] if everyday(text)}
    again = set(early) & set(late)
    assert again and again <= yes


def test_a_drift_back_to_the_start(tmp_path: Path) -> None:
    course = Tightening(learns=False)
    result = course.reduce(tmp_path, fingerprint=Beside(lambda text: text == LONG))
    assert result.program.text == LONG and result.checks.last_same is not None and result.checks.last_same.text == LONG
    assert 1 <= len(result.checks.fingerprint_slips) <= WARY_AFTER


def test_a_test_that_does_not_learn_is_not_believed_any_more(tmp_path: Path) -> None:
    course, identify = Tightening(learns=False), Beside(truth)
    result = course.reduce(tmp_path, wide(60), fingerprint=identify)
    assert truth(result.program.text) and result.checks.last_same == result.program
    assert result.program.text == "s3 = 3\ns7 = 7\n"
    assert len(result.checks.fingerprint_slips) == WARY_AFTER == len(course.drifted)
    assert "drifts all the same" in notes(course.bench)
    events = course.bench.events
    last = max(i for i, event in enumerate(events) if event.kind == "rolled back")
    taken = [event.program.text for event in events[last + 1 :] if event.kind == "accepted"]
    assert set(taken) <= set(identify.asked), "no step is taken before its fingerprint"


def test_a_fingerprint_that_says_nothing_refutes_nothing(tmp_path: Path) -> None:
    course = Tightening()
    result = course.reduce(tmp_path, fingerprint=Beside(lambda text: None))
    assert result.program.text == "s7 = 7\n" and result.checks.fingerprint_slips == ()
    same = result.checks.last_same
    assert same is not None and same.text == LONG, "and nothing is claimed of the result"
    assert "could not be taken this time: sick" in notes(course.bench)


def test_a_guard_rests_on_an_identified_step(tmp_path: Path, often: int) -> None:
    """All guards are unclear but the last one, which is bad: the fingerprint alone tells where to go back to."""
    bench, identify = Bench(everyday), Beside(lambda text: True)
    guard = Beside(lambda text: False if text == "s7 = 7\n" else None)
    result = bench.reduce(wide(60), tmp_path, controls=guard, lag=1000, fingerprint=identify, passes=one_by_one)
    back = next(event for event in bench.events if event.kind == "rolled back")
    assert back.program.text in identify.asked[:-1]
    assert result.program.text != "s7 = 7\n"


# Finds


def test_other_faults_are_told_once_each(tmp_path: Path) -> None:
    def judge(programs: Sequence[Program]) -> list[Verdict]:
        return [
            Verdict(Answer.FAULTS)
            if everyday(program.text)
            else Verdict(Answer.PASSES, other=ILLEGAL if "s3 " in program.text else None)
            for program in programs
        ]

    found: list[tuple[str, Verdict]] = []
    bench = Bench(everyday)
    bench.reduce(LONG, tmp_path, judge=judge, other_fault=lambda program, said: found.append((program.text, said)))
    assert found and len(found) == len({key(text) for text, _ in found})
    assert all(said.other == ILLEGAL and "s3 " in text and "s7 " not in text for text, said in found)
    again: list[tuple[str, Verdict]] = []
    lines = (tmp_path / "journal.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "journal.jsonl").write_text("".join(lines[:-1]))  # all but the last line, which says that it ended
    bench.reduce(
        LONG, tmp_path, resume=True, judge=judge, other_fault=lambda program, said: again.append((program.text, said))
    )
    assert again == found


def test_what_a_fingerprint_finds_is_told_too(tmp_path: Path) -> None:
    found: list[str] = []
    course = Tightening()
    course.reduce(
        tmp_path, fingerprint=Beside(truth, other=ILLEGAL), other_fault=lambda program, said: found.append(program.text)
    )
    assert "s7 = 7\n" in found


def test_a_certain_no_to_a_flaky_fault_is_final(tmp_path: Path) -> None:
    keys: list[str] = []

    def judge(programs: Sequence[Program]) -> list[Verdict]:
        keys.extend(program.key for program in programs)
        return [Verdict(Answer.FAULTS if everyday(p.text) else Answer.PASSES, certain=True) for p in programs]

    Bench(everyday).reduce(LONG, tmp_path, judge=judge, flaky=True, passes=(statements, numbers, blocks))
    assert len(keys) == len(set(keys))


# Edited by hand


@pytest.mark.parametrize("check", ["controls", "fingerprint"])
def test_a_best_edited_into_another_fault_is_left(tmp_path: Path, check: str) -> None:
    def interrupt(text: str) -> bool:
        if len(bench.asked) > 24:
            raise KeyboardInterrupt
        return truth(text)

    bench = Bench(interrupt)
    bench.reduce(LONG, tmp_path)
    (tmp_path / "best.py").write_text("mine = 1\ns7 = 7\n")
    again = Bench(everyday)
    result = again.reduce(LONG, tmp_path, resume=True, **{check: Beside(truth)})
    assert "edited by hand and shows another fault (another one)" in notes(again)
    assert truth(result.program.text)


# Kill and resume

HUNTED = "import os\na = 1\nc = 1\nfault = 1\nd = 1\ne = 1\nf = 1\ng = 1\nt1 = 1\nt2 = 1\nt3 = 1\n"


@pytest.fixture
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine stays up in these tests, so that nothing needs to wait for the disk."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


class Hunt:
    """A course with cold rollbacks, slips, drifts, unclear answers and other faults, and all that was asked in it."""

    def __init__(self) -> None:
        self.drifts: list[Verdict] = []
        self.finds: list[tuple[str, Verdict]] = []
        self.bench = Bench(self.everyday)
        self.guard = Beside(lambda text: None if "t1" in text and "t2" not in text else "g = " in text)
        self.identify = Beside(lambda text: None if "t1" in text else has("e = ", "d = ")(text), other=ILLEGAL)
        self.confirm = Beside(has("c = "))

    def everyday(self, text: str) -> bool | None:
        if "import os" not in text and "c = " in text:
            return None
        return "fault = " in text and all(word in text for word in ("e = ", "d = ")[: len(self.drifts)])

    def judge(self, programs: Sequence[Program]) -> list[Verdict]:
        answers = self.bench.judge(programs)
        return [
            Verdict(said.answer, "no", other=MISALIGNED)
            if "f = " in program.text and said.answer is Answer.PASSES
            else said
            for program, said in zip(programs, answers)
        ]

    def reduce(self, folder: Path, **options: Any) -> Reduction:
        return self.bench.reduce(
            HUNTED,
            folder,
            judge=self.judge,
            cold=self.confirm,
            interval=20,
            controls=self.guard,
            fingerprint=self.identify,
            drifted=self.drifts.append,
            other_fault=lambda program, said: self.finds.append((program.text, said)),
            width=2,
            seed=5,
            **options,
        )

    def counts(self) -> dict[str, int]:
        """New questions, by their event in the journal."""
        beside = {"guarded": self.guard, "identified": self.identify, "confirmed": self.confirm}
        return {"judged": len(self.bench.asked), **{event: len(each.asked) for event, each in beside.items()}}


def test_a_course_killed_at_any_line_ends_in_the_same_result(tmp_path: Path, often: int, quick_disk: None) -> None:
    whole = Hunt()
    expected = whole.reduce(tmp_path / "whole")
    checks = expected.checks
    assert checks.control_slips and len(checks.fingerprint_slips) >= 2 and checks.rollbacks and whole.finds
    assert expected.program.text == "import os\nc = 1\nfault = 1\nd = 1\ne = 1\ng = 1\n"
    lines = (tmp_path / "whole" / "journal.jsonl").read_text().splitlines(keepends=True)
    events = [json.loads(line).get("event") for line in lines]
    unclear = {json.loads(line)["event"] for line in lines if '"unknown"' in line}
    assert unclear == {"judged", "guarded", "identified"}
    texts = {key(text): text for text in (event.program.text for event in whole.bench.events)}
    for cut in range(1, len(lines)):
        if events[cut - 1] == events[cut] == "judged":
            continue  # inside of a wave: see test_engine
        folder = tmp_path / str(cut)
        folder.mkdir()
        (folder / "journal.jsonl").write_text("".join(lines[:cut]) + lines[cut][: len(lines[cut]) // 2])
        accepts = [line for line in map(json.loads, lines[:cut]) if line.get("event") == "accept"]
        if accepts:
            (folder / "best.py").write_text(texts[accepts[-1]["key"]])
        again = Hunt()
        result = again.reduce(folder, resume=True)
        assert (result.program, result.checks) == (expected.program, expected.checks), cut
        assert result.cost.accepted == expected.cost.accepted, cut
        assert (folder / "best.py").read_text() == expected.program.text
        assert trace(again.bench.events) == trace(whole.bench.events)
        assert (again.finds, again.drifts) == (whole.finds, whole.drifts)
        known = cut
        while '"unknown"' in lines[known - 1]:  # asked anew: what ended the reduction may be the reason
            known -= 1
        for event, new in again.counts().items():
            assert events[:known].count(event) + new == whole.counts()[event], (cut, event)
        said = [json.loads(line).get("event") for line in _lines(folder)]
        assert said.count("drift") == len(checks.fingerprint_slips)


def _lines(folder: Path) -> list[str]:
    return (folder / "journal.jsonl").read_text().splitlines()


def test_killed_again_and_again(tmp_path: Path, often: int, quick_disk: None) -> None:
    """Each life gets twelve answers further."""
    expected = Hunt().reduce(tmp_path / "whole")
    for life in range(100):
        hunt = Hunt()
        judge = hunt.judge

        def mortal(programs: Sequence[Program], hunt: Hunt = hunt, judge: Any = judge) -> list[Verdict]:
            if len(hunt.bench.asked) >= 12:
                raise KeyboardInterrupt
            return judge(programs)  # type: ignore[no-any-return]

        hunt.judge = mortal  # type: ignore[method-assign]
        result = hunt.reduce(tmp_path / "lives", resume=life > 0)
        if result.ended == "done":
            break
    assert life > 2
    assert result.program == expected.program and result.checks.fingerprint_slips == expected.checks.fingerprint_slips

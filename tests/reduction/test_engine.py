"""The engine with predicates instead of runs: what it asks, accepts, forgets, takes back, and where it stops."""

from __future__ import annotations

import ast
import json
import random
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import libcst as cst
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.passes.layout.layout import layout
from shrinkray_gpu.reduction.checks.check_plan import CheckPlan, ConfirmationPlan
from shrinkray_gpu.reduction.checks.checks import Checks
from shrinkray_gpu.reduction.checks.confirmations import Confirmations
from shrinkray_gpu.reduction.checks.lineage import Lineage
from shrinkray_gpu.reduction.edit import Edit, Replace
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.program import Program
from tests.reduction.course import Bench, Own, blocks, find_statements, numbers, statements, trace, verdict

LONG = "".join(f"s{i} = {i}\n" for i in range(30))


def has(*words: str) -> Callable[[str], bool]:
    return lambda text: all(word in text for word in words)


def test_reduces_to_what_the_fault_needs(tmp_path: Path) -> None:
    bench = Bench(has("s7 ", "s21 "))
    result = bench.reduce(LONG, tmp_path)
    assert result.program.text == "s7 = 7\ns21 = 21\n"
    assert result.ended == "done"
    assert result.cost.tries == len(bench.asked) < 45
    assert (tmp_path / "best.py").read_text() == result.program.text


def test_an_oracle_that_wants_nothing_ends_at_the_empty_program(tmp_path: Path) -> None:
    result = Bench(lambda text: True).reduce(
        LONG, tmp_path, passes=(statements, Own("later", find_statements, stage=1))
    )
    assert (result.program.text.strip(), result.ended) == ("", "done")


def test_what_needs_no_run_is_settled_for_free(tmp_path: Path) -> None:
    def find(program: Program) -> Iterable[Edit]:
        for node in program.parents:
            if isinstance(node, cst.Name) and node.value.startswith("s"):
                yield Edit("longer", (Replace(node, ("(a, b)",)),))
                yield Edit("broken", (Replace(node, ("a b",)),))

    bench = Bench(has("s7"))
    bench.reduce("s7 = 1\ns8 = 2\n", tmp_path, passes=(statements, Own("silly", find)))
    for text in bench.asked:
        ast.parse(text)
        assert "(a, b)" not in text
    assert len(bench.keys) == len(set(bench.keys)), "no candidate is judged twice"


def test_comments_go_for_free(tmp_path: Path) -> None:
    def find(program: Program) -> Iterable[Edit]:
        yield Edit("drop comment", (Replace(program.module.body[0], ("x = 1",)),))

    bench = Bench(lambda text: True)
    result = bench.reduce("x  =  1  # the answer\n", tmp_path, passes=(Own("layout", find),))
    assert len(result.program.text) < len("x  =  1  # the answer\n")
    assert bench.asked == []


BLOCK = st.deferred(lambda: st.lists(STATEMENT, min_size=1, max_size=4).map("\n".join))
STATEMENT: st.SearchStrategy[str] = st.one_of(
    st.sampled_from(["pass", "x = 1", "f(x)", "y = [1, 2]", "del x", '"""two\n  lines"""', "a; b", "import os"]),
    st.tuples(st.sampled_from(["if x:", "for i in y:", "while x:", "with f(x):"]), BLOCK).map(
        lambda pair: f"{pair[0]}\n{_indented(pair[1])}"
    ),
)


def _indented(block: str) -> str:
    """Indents lines, but not those inside the one multi-line string that we use."""
    return "\n".join(line if line.startswith("  lines") else f"    {line}" for line in block.split("\n"))


@st.composite
def haystacks(draw: st.DrawFn) -> str:
    lines = draw(BLOCK).split("\n")
    places = [i for i, line in enumerate(lines) if not line.lstrip().startswith("lines")]
    at = draw(st.sampled_from(places))
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    return "\n".join([*lines[:at], f"{indent}needle()", *lines[at:]]) + "\n"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=haystacks(), width=st.integers(1, 16))
def test_finds_the_needle(tmp_path: Path, text: str, width: int) -> None:
    bench = Bench(has("needle()"))
    result = bench.reduce(text, tmp_path, passes=(statements, blocks), width=width, restart=True)
    assert result.program.text.strip() == "needle()"


@st.composite
def chains(draw: st.DrawFn) -> tuple[str, frozenset[int]]:
    """Assignments that use earlier ones, and those that the last one needs."""
    count = draw(st.integers(2, 25))
    uses = [draw(st.frozensets(st.integers(0, i - 1), max_size=3)) if i else frozenset() for i in range(count)]
    text = "".join(f"v{i} = {' + '.join(['1', *(f'v{j}' for j in sorted(u))])}\n" for i, u in enumerate(uses))
    needed, todo = set[int](), [count - 1]
    while todo:
        i = todo.pop()
        needed.add(i)
        todo += uses[i] - needed
    return text + f"print(v{count - 1})\n", frozenset(needed)


def prints(text: str) -> bool:
    printed: list[int] = []
    try:
        exec(text, {"print": printed.append})
    except NameError:
        return False
    return bool(printed)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chain=chains(), eager=st.sampled_from([1.0, 20.0]), width=st.integers(1, 16))
def test_the_result_is_one_minimal(tmp_path: Path, chain: tuple[str, frozenset[int]], eager: float, width: int) -> None:
    text, needed = chain
    result = Bench(prints).reduce(text, tmp_path, eager=eager, width=width, restart=True)
    kept = result.program.text.splitlines()
    assert {line.split(" ")[0] for line in kept[:-1]} == {f"v{i}" for i in needed}
    for at in range(len(kept)):
        assert not prints("\n".join(kept[:at] + kept[at + 1 :]))


def test_dropping_a_use_frees_a_definition_in_a_later_round(tmp_path: Path) -> None:
    text = "def f():\n    return 1\n\ndef g():\n    return f()\n\ng()\nfault = 1\n"

    def runs(source: str) -> bool:
        scope: dict[str, Any] = {}
        try:
            exec(source, scope)
        except (NameError, TypeError):
            return False
        return "fault" in scope

    result = Bench(runs).reduce(text, tmp_path)
    assert result.program.text.strip() == "fault = 1"


def test_a_smaller_literal_alone_starts_no_new_round(tmp_path: Path) -> None:
    """The pass itself goes on to its end, though."""
    bench = Bench(lambda text: text.startswith("x = ") and int(text[4:]) >= 3)
    result = bench.reduce("x = 64\n", tmp_path, passes=(statements, numbers))
    assert result.program.text == "x = 3\n"
    assert max(event.round for event in bench.events if event.kind == "accepted") == 1


def test_edits_that_failed_wait_for_the_last_round_while_their_surroundings_stay(tmp_path: Path) -> None:
    kernel = "def kernel():\n" + "".join(f"    k{i} = {i}\n" for i in range(12))
    chain = "def chain():\n" + "".join(f"    c{i} = {i}\n" for i in range(5))
    # All of the kernel is needed, and the chain can be taken off from its end only.
    bench = Bench(lambda text: text.startswith(kernel) and (kernel + chain).startswith(text))
    result = bench.reduce(kernel + chain, tmp_path, width=1)
    assert result.program.text == kernel
    assert result.cost.rounds >= 3
    touching = [text for text in bench.asked if not text.startswith(kernel)]
    assert len(touching) < 3 * 13, "about once in the first round and once in the last, however many lie between"


def shuffled(bench: Bench, seed: int) -> Callable[[Sequence[Program]], list[Verdict]]:
    """A judge whose lanes finish in any order."""
    order = random.Random(seed)

    def judge(programs: Sequence[Program]) -> list[Verdict]:
        answers: dict[int, Verdict] = {}
        for index in order.sample(range(len(programs)), len(programs)):
            answers[index] = bench.judge([programs[index]])[0]
        return [answers[index] for index in range(len(programs))]

    return judge


class Cold:
    """Cold runs that are done when they are asked for, or only when somebody waits."""

    def __init__(self, predicate: Callable[[str], bool | None], *, at_once: bool = True) -> None:
        self.predicate, self.at_once = predicate, at_once
        self.asked: list[str] = []

    def __call__(self, program: Program) -> Any:
        self.asked.append(program.text)
        future: Future[Verdict] = Future()
        if self.at_once:
            future.set_result(verdict(self.predicate(program.text)))
            return future
        return self._Late(lambda: verdict(self.predicate(program.text)))

    class _Late:
        def __init__(self, result: Callable[[], Verdict]) -> None:
            self.result = result


def test_the_same_seed_gives_the_same_course_whatever_the_timing(tmp_path: Path) -> None:
    courses = set()
    for timing in range(4):
        bench = Bench(has("s7 ", "s21 "))
        cold = Cold(has("s7 ", "s21 ", "s3 "), at_once=bool(timing % 2))
        bench.reduce(LONG, tmp_path / str(timing), judge=shuffled(bench, timing), cold=cold, seed=5)
        courses.add((tuple(trace(bench.events)), tuple(cold.asked)))
    assert len(courses) == 1


@pytest.mark.parametrize("at_once", [True, False])
def test_what_a_cold_run_confirmed_on_the_way_no_other_confirms_at_the_end(tmp_path: Path, at_once: bool) -> None:
    predicate = has("s7 ", "s21 ")
    cold = Cold(predicate, at_once=at_once)
    result = Bench(predicate).reduce(LONG, tmp_path, cold=cold, interval=1)
    assert result.checks.verified == result.program and result.program.text in cold.asked
    assert len(cold.asked) == len(set(cold.asked))


def test_a_refuted_step_is_taken_back_and_never_taken_again(tmp_path: Path) -> None:
    warm, cold = Bench(has("s7 ")), Cold(has("s7 ", "s3 "))
    result = warm.reduce(LONG, tmp_path, cold=cold)
    assert result.checks.rollbacks >= 1
    assert result.checks.verified == result.program
    assert has("s7 ", "s3 ")(result.program.text)
    assert (tmp_path / "best.py").read_text() == result.program.text
    refuted = {Program.from_text(text).key for text in cold.asked if not cold.predicate(text)}
    after = False
    for event in warm.events:
        after = after or event.kind == "rolled back"
        assert not (after and event.kind == "accepted" and event.program.text in refuted)


def test_at_the_first_rollback_the_judge_may_look_closer(tmp_path: Path) -> None:
    close, doubted = has("s7 ", "s3 "), list[int]()
    bench, cold = Bench(lambda text: close(text) if doubted else has("s7 ")(text)), Cold(close)
    result = bench.reduce(LONG, tmp_path, cold=cold, interval=1, doubted=lambda: doubted.append(len(bench.asked)))
    assert result.program.text == "s3 = 3\ns7 = 7\n" and result.checks.rollbacks == 1 and len(doubted) == 1
    said = [json.loads(line)["event"] for line in (tmp_path / "journal.jsonl").read_text().splitlines()[1:]]
    assert said.count("drift") == 1 and said.index("drift") > said.index("confirmed")
    again = Bench(close)
    resumed = again.reduce(LONG, tmp_path, cold=cold, interval=1, doubted=lambda: doubted.append(0), resume=True)
    assert resumed.program == result.program and not again.asked and doubted[1:] == [0]


@pytest.mark.parametrize("closer", [True, False])
def test_when_the_judge_looks_closer_what_it_said_yes_to_counts_no_more(tmp_path: Path, closer: bool) -> None:
    start, called = Program.from_text("a = 1\n", "failing.py"), list[bool]()
    with Journal.open(tmp_path, original=start, seed=0, width=8, settings={}) as journal:
        journal.record_verdict("yes", verdict(True))
        journal.record_verdict("no", verdict(False))
        doubted = (lambda: called.append(True)) if closer else None
        checks = Checks(
            CheckPlan(ConfirmationPlan(Cold(has("b")), doubted=doubted)),
            line := Lineage(start),
            journal,
            undo=lambda back, by, why: None,
            tell=lambda program, verdict: None,
            note=lambda text: None,
        )
        line.add(Program.from_text("a\n", "failing.py"), 1)
        checks.confirmations.at_the_end(1)
        assert journal.knows("yes") is not closer and journal.knows("no") and bool(called) is closer


def test_probes_stand_in_for_cold_runs_until_the_end(tmp_path: Path) -> None:
    probe, cold = Cold(has("s7 ", "s3 ")), Cold(has("s7 ", "s3 "))
    result = Bench(has("s7 ")).reduce(LONG, tmp_path, cold=cold, probe=probe, interval=1)
    assert result.checks.rollbacks >= 1
    assert result.checks.verified == result.program and has("s7 ", "s3 ")(result.program.text)
    assert len(cold.asked) < len(probe.asked)
    assert cold.asked[-1] == result.program.text


def test_a_cold_run_overrules_the_probes(tmp_path: Path) -> None:
    """Lanes that agree with one another and not with a fresh process: the course goes back past all probes."""
    probe, cold = Cold(has("s7 ")), Cold(has("s7 ", "s3 "))
    result = Bench(has("s7 ")).reduce(LONG, tmp_path, cold=cold, probe=probe, interval=1)
    assert has("s7 ", "s3 ")(result.program.text)
    assert result.checks.verified == result.program


def test_a_judge_that_errs_too_often_is_doubted(tmp_path: Path) -> None:
    """The classic: a lane that says yes to everything. The cold runs alone must then carry the reduction."""
    cold = Cold(has("s7 = 7", "s3 = 3"))
    result = Bench(lambda text: True).reduce(LONG, tmp_path, cold=cold)
    assert result.program.text == "s3 = 3\ns7 = 7\n"
    assert result.checks.rollbacks <= 4


def test_where_lanes_cannot_be_trusted_nothing_is_accepted_before_a_cold_run_agrees(tmp_path: Path) -> None:
    bench, cold = Bench(has("s7 ")), Cold(has("s7 ", "s3 "))
    result = bench.reduce(LONG, tmp_path, cold=cold, wary=True)
    accepted = [event.program.text for event in bench.events if event.kind == "accepted"]
    assert accepted and all(text in cold.asked and cold.predicate(text) for text in accepted)
    assert result.program.text == "s3 = 3\ns7 = 7\n" and result.checks.rollbacks == 0
    assert result.checks.verified == result.program and cold.asked.count(result.program.text) == 1


def test_where_each_step_was_seen_once_the_rate_is_confirmed_on_the_way(tmp_path: Path) -> None:
    """A probe that sees the fault once is asked before each step; what `confirm` alone refutes is taken back."""
    bench, seen, cold = Bench(has("s7 ")), Cold(has("s7 ", "s3 ")), Cold(has("s7 ", "s3 ", "s5 "))
    result = bench.reduce(LONG, tmp_path, cold=cold, probe=seen, wary=True, interval=1)
    assert result.program.text == "s3 = 3\ns5 = 5\ns7 = 7\n" and result.checks.verified == result.program
    assert result.checks.rollbacks == 1, "from then on `confirm` itself is asked before each step"
    accepted = [event.program.text for event in bench.events if event.kind == "accepted"]
    assert all(seen.predicate(text) for text in accepted)


def test_out_of_time_the_last_step_is_confirmed_where_no_yes_is_trusted(tmp_path: Path) -> None:
    bench, seen, cold = Bench(has("s7 ")), Cold(has("s7 ")), Cold(has("s7 ", "s3 "))
    late = {"deadline": 10.0, "clock": lambda: float(len(bench.asked))}
    result = bench.reduce(LONG, tmp_path, cold=cold, probe=seen, wary=True, interval=1 << 30, **late)
    assert result.ended == "out of time" and has("s7 ", "s3 ")(result.program.text)
    assert result.checks.verified == result.program and result.checks.rollbacks == 1


def test_the_text_that_a_cold_run_showed_last_is_known_unless_that_was_recalled(tmp_path: Path) -> None:
    cold = Cold(has("s7 "))
    first = Bench(has("s7 ")).reduce(LONG, tmp_path, cold=cold)
    assert first.checks.shown is not None and first.checks.shown.text == cold.asked[-1] == first.program.text
    replayed = Bench(has("s7 ")).reduce(LONG, tmp_path, cold=cold, resume=True)
    assert replayed.program == first.program and replayed.checks.shown is None


confirmations = partial(
    Confirmations, undo=lambda back, by, why: None, tell=lambda program, verdict: None, look_closer=lambda: None
)


def test_a_doubt_that_is_not_cleared_refutes_nothing(tmp_path: Path) -> None:
    start, candidate = (Program.from_text(text, "failing.py") for text in ("a = 1\nb = 2\n", "a = 1\n"))
    cold = Cold(lambda text: None)
    with Journal.open(tmp_path, original=start, seed=0, width=1, settings={}) as journal:
        doubting = confirmations(ConfirmationPlan(cold=cold, probe=cold, interval=1), Lineage(start), journal)
        answers: list[bool | None] = [True]
        doubting.doubt([candidate], answers)
    assert answers == [None] and not doubting.refuted and not doubting.trusted


def test_a_cold_run_beside_the_end_is_not_waited_for_where_a_probe_would_be(tmp_path: Path) -> None:
    """It takes ten times as long, and the rounds after it are of candidates that are judged in no time."""
    start, last = (Program.from_text(text, "failing.py") for text in ("a = 1\nb = 2\n", "a = 1\n"))
    probe, cold = Cold(lambda text: True), Cold(lambda text: True)
    line = Lineage(start)
    with Journal.open(tmp_path, original=start, seed=0, width=1, settings={}) as journal:
        checks = confirmations(ConfirmationPlan(cold=cold, probe=probe, interval=10), line, journal)
        step = line.add(last, 1)
        checks.before_the_end(100)
        heard = []
        for considered in (105, 110, 120, 159, 160):
            checks.at_point(considered)
            heard.append((considered, step.probed, step.proven))
    assert heard == [
        (105, False, False),
        (110, False, False),  # a probe is asked for
        (120, True, False),
        (159, True, False),
        (160, True, True),
    ]


@pytest.mark.parametrize("later", [True, False])
def test_nothing_rests_on_a_step_before_one_that_a_cold_run_confirmed(tmp_path: Path, later: bool) -> None:
    """Its own confirmation was out meanwhile, and says no: of an access that some process has memory for."""
    texts = "a = 1\nb = 2\n", "a = 1\nb = 1\n", "a = 9\n"
    start, edge, away = (Program.from_text(text, "failing.py") for text in texts)
    cold = Cold(lambda text: "b = 1" not in text)
    line = Lineage(start)
    with Journal.open(tmp_path, original=start, seed=0, width=1, settings={}) as journal:
        checks = confirmations(ConfirmationPlan(cold=cold, probe=cold, interval=1), line, journal)
        line.add(edge, 1)
        checks.before_the_end(10)
        step = line.add(away, 12)
        if later:
            checks.trust(step)
        checks.settle()
    assert (checks.rollbacks, edge.key in checks.refuted) == ((0, False) if later else (1, True))


def test_a_probe_is_not_taken_for_the_cold_run_that_was_out_at_a_kill(tmp_path: Path) -> None:
    start, last = (Program.from_text(text, "failing.py") for text in ("a = 1\nb = 2\n", "a = 1\n"))
    lives = []
    for life, points in enumerate([(110, 120), (110, 120, 160)]):
        probe, cold = Cold(lambda text: True), Cold(lambda text: None)
        line = Lineage(start)
        with Journal.open(tmp_path, original=start, seed=0, width=1, settings={}, resume=life > 0) as journal:
            checks = confirmations(ConfirmationPlan(cold=cold, probe=probe, interval=10), line, journal)
            step = line.add(last, 1)
            checks.before_the_end(100)
            for considered in points:
                checks.at_point(considered)
        lives.append((len(probe.asked), len(cold.asked), step.probed, step.proven))
    assert lives == [(1, 1, True, False), (0, 1, True, False)]


def test_cold_runs_are_asked_for_seldom(tmp_path: Path) -> None:
    cold = Cold(has("s7 "))
    result = Bench(has("s7 ")).reduce(LONG, tmp_path, cold=cold)
    assert result.checks.verified == result.program
    assert len(cold.asked) <= 3 < result.cost.tries


def test_a_cold_run_that_says_nothing_refutes_nothing(tmp_path: Path) -> None:
    result = Bench(has("s7 ")).reduce(LONG, tmp_path, cold=Cold(lambda text: None))
    assert result.program.text == "s7 = 7\n"
    assert result.checks.rollbacks == 0
    assert result.checks.verified.text == LONG, "but it is not called verified either"


def test_a_provisional_no_is_asked_again_in_the_last_round(tmp_path: Path) -> None:
    insisting: list[bool] = [False]

    def judge(programs: Sequence[Program]) -> list[Verdict]:
        answers = []
        for program in programs:
            swallowed = "s4 " not in program.text and not insisting[-1]
            faults = "s7 " in program.text and not swallowed
            answers.append(Verdict(Answer.FAULTS if faults else Answer.PASSES, provisional=swallowed))
        return answers

    result = Bench(has()).reduce(LONG, tmp_path, judge=judge, insist=insisting.append)
    assert result.program.text == "s7 = 7\n"
    assert True in insisting


def test_the_last_round_comes_even_if_the_round_before_had_nothing_left_to_do(tmp_path: Path) -> None:
    """The first round makes progress, the second finds both passes exhausted; a doubt of the first is still open."""
    insisting: list[bool] = [False]

    def judge(programs: Sequence[Program]) -> list[Verdict]:
        answers = []
        for program in programs:
            swallowed = has("s7 ")(program.text) and "s7 = 7" not in program.text and not insisting[-1]
            faults = "s7 " in program.text and not swallowed
            answers.append(Verdict(Answer.FAULTS if faults else Answer.PASSES, provisional=swallowed))
        return answers

    result = Bench(has()).reduce(LONG, tmp_path, judge=judge, insist=insisting.append, passes=(statements, numbers))
    assert result.program.text == "s7 = 0\n"


def test_unknown_is_not_remembered(tmp_path: Path) -> None:
    sick = iter([None] * 9)
    bench = Bench(lambda text: next(sick, "s7 " in text))
    assert bench.reduce(LONG, tmp_path).program.text == "s7 = 7\n"


def test_a_flaky_no_is_not_remembered(tmp_path: Path) -> None:
    """Faults one time in two. Each round asks again, and nothing that ever faulted is lost."""
    coin = random.Random(3)
    bench = Bench(lambda text: "s7 " in text and coin.random() < 0.5)
    bench.reduce(LONG, tmp_path, flaky=True)
    assert len(bench.keys) > len(set(bench.keys))


# Where it stops


def after(count: int, then: Callable[[], Any]) -> Callable[[str], bool]:
    left = [count]

    def predicate(text: str) -> bool:
        left[0] -= 1
        if left[0] < 0:
            then()
        return "s7 " in text

    return predicate


def interrupt() -> None:
    raise KeyboardInterrupt


def test_ctrl_c_leaves_the_best_so_far(tmp_path: Path) -> None:
    result = Bench(after(12, interrupt)).reduce(LONG, tmp_path)
    assert result.ended == "interrupted"
    assert "s7 " in result.program.text and len(result.program.text) < len(LONG)
    assert (tmp_path / "best.py").read_text() == result.program.text


def test_stop_and_deadline(tmp_path: Path) -> None:
    bench = Bench(has("s7 "))
    assert bench.reduce(LONG, tmp_path / "a", stop=lambda: len(bench.asked) > 4).ended == "stopped"
    slow = Bench(has("s7 "))  # each candidate takes a second
    late = slow.reduce(LONG, tmp_path / "b", deadline=10.0, clock=lambda: float(len(slow.asked)))
    assert late.ended == "out of time"
    assert 10 <= len(slow.asked) < 10 + 8
    assert (tmp_path / "b" / "best.py").read_text() == late.program.text


@pytest.mark.parametrize(
    "left, laid_out",
    [
        ("import os\nprint(\n    os,\n)\n", "import os\n\nprint(os)\n"),
        # An import that moves is other code, which nobody tried.
        ("x = 7\nimport os\nprint(\n    x,\n)\n", "x = 7\nimport os\nprint(\n    x,\n)\n"),
    ],
)
def test_what_time_leaves_is_laid_out_where_that_needs_no_try(tmp_path: Path, left: str, laid_out: str) -> None:
    bench = Bench(has("print"))
    result = bench.reduce(left, tmp_path, deadline=0.0, clock=lambda: 1.0, layout=layout)
    assert (result.ended, result.program.text, bench.asked) == ("out of time", laid_out, [])


def test_fine_passes_wait_for_the_coarse_ones(tmp_path: Path) -> None:
    fine = Own("fine numbers", numbers.find, stage=1)
    bench = Bench(has("s7 "))
    bench.reduce(LONG.replace("s7 = 7", "s7 = 64"), tmp_path, passes=(fine, statements))
    names = [event.pass_name for event in bench.events if event.kind == "accepted"]
    assert names.index("fine numbers") == len(names) - names[::-1].index("statements"), "all statements go first"


def test_an_edit_that_failed_in_the_same_line_waits_for_the_last_round(tmp_path: Path) -> None:
    """`s1 = 64` cannot be smaller: asked once by round, were it not for the mark of its line."""
    program = "s0 = 1\ns1 = 64\ns2 = 2\n"
    bench = Bench(has("s1 = 64"))
    bench.reduce(program, tmp_path, passes=(numbers, statements))
    assert len(bench.asked) == len(set(bench.asked))
    assert sum("s1 = 32" in text for text in bench.asked) <= 3


# Passes of other kinds


def grow(program: Program) -> Iterable[Edit]:
    for node in program.module.body:
        if isinstance(node, cst.SimpleStatementLine) and program.module.code_for_node(node).strip() == "call(1)":
            yield Edit("inline", (Replace(node, ("one()\ntwo()\nthree()",)),))


def test_a_growing_step_is_kept_if_it_ends_smaller(tmp_path: Path) -> None:
    passes = (statements, Own("inline", grow, grows=True))
    bench = Bench(lambda text: "call(1)" in text or "two()" in text)
    assert bench.reduce("a = 1\ncall(1)\n", tmp_path, passes=passes).program.text == "two()\n"


def test_a_growing_step_is_dropped_if_it_stays_large(tmp_path: Path) -> None:
    passes = (statements, Own("inline", grow, grows=True))
    bench = Bench(lambda text: "call(1)" in text or has("one()", "two()")(text))
    result = bench.reduce("a = 1\ncall(1)\n", tmp_path, passes=passes)
    assert result.program.text == "call(1)\n"
    sizes = [
        json.loads(line)["size"] for line in (tmp_path / "journal.jsonl").read_text().splitlines() if "size" in line
    ]
    assert sizes == sorted(sizes, reverse=True), "the grown one was never the best"


def test_observed_values_reach_the_pass_and_are_watched_once(tmp_path: Path) -> None:
    watched: list[str] = []

    def watch(program: Program) -> dict[int, str]:
        watched.append(program.text)
        return {0: "64"}

    def find(program: Program, values: dict[int, str]) -> Iterable[Edit]:
        for node in program.parents:
            if isinstance(node, cst.Call):
                yield Edit("observed", (Replace(node, (values[0],)),))

    options: dict[str, Any] = {
        "passes": (Own("observed", find, needs_values=True),),
        "values": watch,
        "instrument": lambda program: program.with_text(f"import watch\n{program.text}"),
    }
    bench = Bench(has("n = "))
    result = bench.reduce("n = int(config['n'])\n", tmp_path, **options)
    assert result.program.text == "n = 64\n"
    seen = len(watched)
    assert watched[0].startswith("import watch") and seen == len(set(watched))
    Bench(has("n = ")).reduce("n = int(config['n'])\n", tmp_path, resume=True, **options)
    assert len(watched) == seen, "a resumed course reads the values from the journal"


def test_without_a_watch_passes_that_need_values_are_left_out(tmp_path: Path) -> None:
    passes = (Own("observed", lambda program, values: 1 / 0, needs_values=True), statements)
    assert Bench(has("s7 ")).reduce(LONG, tmp_path, passes=passes).program.text == "s7 = 7\n"


def test_a_trial_ends_after_a_few_tries(tmp_path: Path) -> None:
    many = "\n".join(f"many({i})" for i in range(300))

    def find(program: Program) -> Iterable[Edit]:
        if "many" not in program.text:
            yield Edit("inline", (Replace(program.module.body[0], (many,)),))

    bench = Bench(lambda text: "call(1)" in text or text.count("many") > 150)
    result = bench.reduce("call(1)\n", tmp_path, passes=(statements, Own("inline", find, grows=True)))
    assert result.program.text == "call(1)\n"
    assert result.cost.tries < 150


def test_a_pass_that_stumbles_is_named_and_left_out(tmp_path: Path) -> None:
    bench = Bench(has("s7 "))
    result = bench.reduce(LONG, tmp_path, passes=(Own("broken", lambda program: 1 / 0), statements))
    assert result.program.text == "s7 = 7\n"
    assert any("pass broken gave up: ZeroDivisionError" in event.text for event in bench.events)


def test_skip_and_keep(tmp_path: Path) -> None:
    assert Bench(has()).reduce(LONG, tmp_path / "a", skip={"statements"}).program.text == LONG
    text = "def mine():\n    pass\n\ndef other():\n    pass\n"
    kept = Bench(has()).reduce(text, tmp_path / "b", keep=("mine",)).program.text
    assert "mine" in kept and "other" not in kept


def test_layout_comes_last_and_may_be_larger(tmp_path: Path) -> None:
    bench = Bench(has("s7"))
    result = bench.reduce("s7=7\ns8=8\n", tmp_path, layout=lambda text: text.replace("s7=7", "s7  =  (7)"))
    assert result.program.text == "s7  =  (7)\n"
    assert (tmp_path / "best.py").read_text() == result.program.text


def test_a_layout_that_loses_the_fault_is_not_taken(tmp_path: Path) -> None:
    result = Bench(has("s7=")).reduce("s7=7\ns8=8\n", tmp_path, layout=lambda text: "s7 = 8 - 1\n")
    assert result.program.text == "s7=7\n"


# Kill and resume

NESTED = "import os\nif os:\n    a = 8\n    b = 9\nfor i in []:\n    c = 1\n    fault = 12\nd = 5\ne = 6\n"


def nested(text: str) -> bool | None:
    if "import os" not in text and "c = " in text:
        return None
    return "fault = " in text


def reduce_nested(bench: Bench, folder: Path, **options: Any) -> Any:
    passes = (statements, blocks, numbers)
    return bench.reduce(
        NESTED, folder, passes=passes, cold=Cold(lambda text: "if os" in text or "for" in text), **options
    )


def test_a_course_killed_at_any_line_ends_in_the_same_result(tmp_path: Path) -> None:
    whole = Bench(nested)
    expected = reduce_nested(whole, tmp_path / "whole")
    assert expected.checks.rollbacks
    lines = (tmp_path / "whole" / "journal.jsonl").read_text().splitlines(keepends=True)
    texts = {program_key(text): text for text in _accepted(whole)}
    for cut in range(1, len(lines)):
        folder = tmp_path / str(cut)
        folder.mkdir()
        known = [json.loads(line) for line in lines[:cut]]
        (folder / "journal.jsonl").write_text("".join(lines[:cut]) + lines[cut][: len(lines[cut]) // 2])
        accepts = [line for line in known if line.get("event") == "accept"]
        if accepts:
            (folder / "best.py").write_text(texts[accepts[-1]["key"]])
        again = Bench(nested)
        result = reduce_nested(again, folder, resume=True)
        assert result.program == expected.program
        assert (folder / "best.py").read_text() == expected.program.text
        final = {line["key"] for line in known if line.get("event") == "judged" and line.get("final", True)}
        assert not final & set(again.keys), "judged twice"
        while known[-1].get("answer") == "unknown":  # asked anew: what ended the reduction may be the reason
            known.pop()
        assert sum(line.get("event") == "judged" for line in known) + len(again.keys) == len(whole.keys)


def program_key(text: str) -> str:
    return Program.from_text(text, "failing.py").key


def _accepted(bench: Bench) -> list[str]:
    return [event.program.text for event in bench.events]


def test_a_best_edited_by_hand_goes_on_from_there(tmp_path: Path) -> None:
    Bench(after(12, interrupt)).reduce(LONG, tmp_path)
    (tmp_path / "best.py").write_text("mine = 1\ns7 = 8\n")
    bench = Bench(has("s7 "))
    assert bench.reduce(LONG, tmp_path, resume=True).program.text == "s7 = 8\n"
    assert all("s3" not in text for text in bench.asked)


def test_a_best_edited_by_hand_that_lost_the_fault_is_left(tmp_path: Path) -> None:
    Bench(after(12, interrupt)).reduce(LONG, tmp_path)
    (tmp_path / "best.py").write_text("mine = 1\n")
    bench = Bench(has("s7 "))
    assert bench.reduce(LONG, tmp_path, resume=True).program.text == "s7 = 7\n"
    assert any("does not fault" in event.text for event in bench.events)


def test_passes_that_found_nothing_are_not_run_again_on_the_same_program(tmp_path: Path) -> None:
    runs: list[str] = []

    def find(program: Program) -> Iterable[Edit]:
        runs.append(program.text)
        return find_statements(program)

    Bench(has("s7 ")).reduce("s7 = 7\n", tmp_path, passes=(Own("statements", find), Own("again", find)))
    assert len(runs) <= 4


@pytest.mark.parametrize("folder", ["", "é"])
def test_source_beyond_ascii(tmp_path: Path, folder: str) -> None:
    result = Bench(has("☂")).reduce('é = 1\nname = "☂"\n', tmp_path / folder)
    assert (tmp_path / folder / "best.py").read_text(encoding="utf-8") == result.program.text == 'name = "☂"\n'

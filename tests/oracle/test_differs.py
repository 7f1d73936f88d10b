"""`differs:` and `nondeterministic`: what they ask, and what of a run answers them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import parse
from shrinkray_gpu.oracle.differs import DifferenceOracle
from shrinkray_gpu.oracle.verdict import Answer
from shrinkray_gpu.runner.inside.compare.compare import NOTHING
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Difference, Run
from shrinkray_gpu.runner.twins import UNTURNED, VIRTUAL, repetitions
from tests.oracle.runs import MISALIGNED, disagreeing, failing, passing, plain

STAGES = parse("differs:num_stages=1", folder=Path())
REPEATED = parse("nondeterministic", folder=Path())
STEADY = ("num_stages=1", "again")
AGREED = ("num_stages=1", "again", "again (3)")

ANSWERS: list[tuple[str, Run, Answer, str]] = [
    (
        "it differs",
        disagreeing("num_stages=1", "wrong"),
        Answer.FAULTS,
        "kernel jsd, launch 2, argument out_ptr: wrong",
    ),
    ("another knob's", disagreeing("num_warps=4", "wrong"), Answer.UNKNOWN, "one way only"),
    ("it agrees", passing(compared=AGREED), Answer.PASSES, "with num_stages=1 all outputs are the same"),
    ("a control's run", passing(), Answer.UNKNOWN, "one way only"),
    ("python FILE", plain("", 0), Answer.UNKNOWN, "one way only"),
    (
        "nothing launched",
        failing("NameError", "x", incomparable=NOTHING),
        Answer.PASSES,
        "launched.* ends in NameError",
    ),
    ("nothing to turn", passing(incomparable=f"{UNTURNED} (num_stages=1)"), Answer.PASSES, "nothing to turn"),
    ("other inputs", passing(incomparable="x_ptr holds something else"), Answer.UNKNOWN, "x_ptr holds"),
    ("the virtual GPU", passing(virtual=True, incomparable=VIRTUAL), Answer.UNKNOWN, "virtual GPU"),
    ("a sticky error", replace(MISALIGNED, incomparable="cannot be read"), Answer.PASSES, "misaligned"),
    ("a crash", Run(mode="fork", exit=None, signal=11, incomparable="it ended"), Answer.PASSES, "SIGSEGV"),
    ("no answer", Run(mode="fork", exit=None, timed_out=True, seconds=9), Answer.UNKNOWN, "stopped after 9 s"),
]


@pytest.mark.parametrize("_, run, answer, why", ANSWERS, ids=[each[0] for each in ANSWERS])
def test_answers(_: str, run: Run, answer: Answer, why: str) -> None:
    verdict = STAGES.judge(run)
    assert verdict.answer is answer and re.search(why, verdict.why), verdict


def test_why_tells_all_that_is_known() -> None:
    assert STAGES.judge(disagreeing("num_stages=1", "nan")).why == (
        "num_stages=1 and as it is disagree: kernel jsd, launch 2, argument out_ptr: not finite in one only in 3 of 64 "
        "elements, largest difference 0.5"
    )
    assert REPEATED.judge(disagreeing("again (3)", "nan")).why.startswith("two runs disagree: kernel jsd")


def test_a_script_that_fails_its_own_check_may_differ_all_the_same() -> None:
    run = replace(failing("AssertionError", ""), differences=disagreeing("num_stages=1", "wrong").differences)
    assert STAGES.judge(run).faults


def test_the_original_teaches_the_kind() -> None:
    """The lure of a race is the order of a sum: both differ from run to run, one of them in the last bits only."""
    for kind in ("nan", "wrong", "tolerance"):
        tuned = STAGES.calibrate(disagreeing("num_stages=1", "tolerance", kind))
        for other in ("nan", "wrong", "tolerance"):
            assert tuned.judge(disagreeing("num_stages=1", other)).faults == (other == kind)
    race = REPEATED.calibrate(disagreeing("again", "nan"))
    assert race.judge(disagreeing("again (3)", "wrong")).faults
    verdict = race.judge(disagreeing("again", "tolerance"))
    assert verdict.answer is Answer.PASSES and "another manner than asked for (nan or wrong)" in verdict.why


def test_what_differs_without_a_knob_is_another_fault() -> None:
    """The lure of a knob: a candidate that reads what no two processes have in common."""
    original = replace(disagreeing("num_stages=1", "wrong"), compared=STEADY)
    chance = replace(original, differences=original.differences + disagreeing("again", "wrong").differences)
    tuned = STAGES.calibrate(original)
    assert tuned.judge(original).faults
    assert tuned.judge(chance).why.startswith("it differs from run to run with nothing turned")
    assert tuned.judge(chance).answer is Answer.PASSES
    unknown = replace(original, compared=("num_stages=1",), incomparable="the other run was stopped (again)")
    assert tuned.judge(unknown).answer is Answer.UNKNOWN
    assert STAGES.calibrate(chance).judge(chance).faults  # the original is a race itself


def test_a_kind_that_is_asked_for() -> None:
    asked = parse("differs:num_stages=1:nan", folder=Path())
    assert asked.judge(disagreeing("num_stages=1", "wrong", "nan")).faults
    assert asked.judge(disagreeing("num_stages=1", "wrong")).answer is Answer.PASSES


SPECS = {
    "differs: num_stages=01 ": "differs:num_stages=1",
    "differs:num_stages=1:wrong": "differs:num_stages=1:wrong",
    "differs:COLON=a:b": "differs:COLON=a:b",
    "differs:COLON=a:b:nan": "differs:COLON=a:b:nan",
    "differs:interpreter": "differs:interpreter",
    "nondeterministic": "nondeterministic",
    "nondeterministic:3": "nondeterministic",
    "nondeterministic:7": "nondeterministic:7",
}


@pytest.mark.parametrize("typed", SPECS)
def test_canonical(typed: str) -> None:
    oracle = parse(typed, folder=Path())
    assert oracle.spec == SPECS[typed] and parse(oracle.spec, folder=Path()) == oracle


def test_as_many_twins_as_runs_less_one() -> None:
    names = [way.name for way in parse("nondeterministic:4", folder=Path()).needs.twins]
    assert len(set(names)) == 3 and all(way.cheap for way in REPEATED.needs.twins)
    assert [way.cheap for way in parse("differs:K=V", folder=Path()).needs.twins] == [False, False]


MISTAKES = {
    "differs:": "names nothing to turn",
    "differs:wrong": "names nothing to turn",
    "differs::nan": "names nothing to turn",
    "differs:num_stagse=1": "did you mean 'num_stages'",
    "differs:as it is": "compares a run with itself: write nondeterministic",
    "nondeterministic:1": "with N from 2 to 100",
    "nondeterministic:often": "with N from 2 to 100",
}


@pytest.mark.parametrize("typed", MISTAKES)
def test_mistakes(typed: str) -> None:
    with pytest.raises(UsageError, match=re.escape(MISTAKES[typed])):
        parse(typed, folder=Path())


# In lanes, with real kernels: in Triton's interpreter, so that no GPU is needed.

KERNEL = """
import os
os.environ["TRITON_INTERPRET"] = "1"
import torch
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, out_ptr, EXTRA: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i) + EXTRA)

x, out = torch.randn(8), torch.empty(8)
"""
BY_SETTING = KERNEL + 'add[(1,)](x, out, int(os.environ.get("WRONG", "0")), 8)\n'
BY_CHANCE = (
    KERNEL.replace("+ EXTRA", "+ drawn") + 'drawn = int.from_bytes(os.urandom(3), "big")\nadd[(1,)](x, out, 0, 8)\n'
)
"""The interpreter runs a kernel's body as Python: what it reads of a global stands in for a race."""
DRAWN = KERNEL + 'x += int.from_bytes(os.urandom(3), "big")\nadd[(1,)](x, out, 0, 8)\n'


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Pool]]:
    """One for each oracle."""
    pytest.importorskip("triton")
    made: dict[str, Pool] = {}
    for spec in ("differs:WRONG=1", "nondeterministic"):
        folder = tmp_path_factory.mktemp("lanes")
        setup = Setup(sys.executable, dict(os.environ), imports=("triton",), own=(), scratch=str(folder))
        script = Script(folder / "script.py", cwd=folder, twins=parse(spec, folder=Path()).needs.twins)
        made[spec] = Pool(script, setup, mode="fork", jobs=1, seconds=60)
    yield made
    for pool in made.values():
        pool.close()


RUNS = [
    ("differs:WRONG=1", BY_SETTING, Answer.FAULTS, "argument out_ptr: wrong in 8 of 8 elements, largest difference 1"),
    ("differs:WRONG=1", BY_CHANCE, Answer.PASSES, "from run to run with nothing turned"),
    ("differs:WRONG=1", BY_SETTING + "assert False\n", Answer.FAULTS, "argument out_ptr"),
    ("differs:WRONG=1", BY_SETTING.replace('"WRONG"', '"OTHER"'), Answer.PASSES, "all outputs are the same"),
    ("differs:WRONG=1", DRAWN, Answer.UNKNOWN, "x_ptr of launch 0"),
    ("nondeterministic", BY_CHANCE, Answer.FAULTS, "two runs disagree: kernel add, launch 0, argument out_ptr"),
    ("nondeterministic", BY_SETTING, Answer.PASSES, "all outputs are the same in 3 runs"),
    ("nondeterministic", DRAWN, Answer.UNKNOWN, "x_ptr of launch 0"),
    ("nondeterministic", "import torch\nx = torch.ones(3)\n", Answer.PASSES, "no Triton kernel was launched"),
    ("nondeterministic", "print(1 / 0)\n", Answer.PASSES, "ends in ZeroDivisionError"),
]


@pytest.mark.parametrize("spec, source, answer, why", RUNS)
def test_runs(pools: dict[str, Pool], spec: str, source: str, answer: Answer, why: str) -> None:
    run = pools[spec].run(source)
    oracle = parse(spec, folder=Path())
    verdict = (replace(oracle, steady=True) if isinstance(oracle, DifferenceOracle) else oracle).judge(run)
    assert verdict.answer is answer and why in verdict.why, (verdict, run.stderr)
    assert os.listdir(pools[spec].setup.scratch) == [] or not any(Path(pools[spec].setup.scratch).glob("twins-*"))


def test_cold_processes_agree_too(pools: dict[str, Pool]) -> None:
    """Nothing is imported there before the script does, and Python would draw the hashes of strings anew."""
    pool = pools["nondeterministic"]
    once = Pool(replace(pool.script, twins=repetitions(2)), pool.setup, mode="cold", jobs=1, seconds=60)
    run = once.run(KERNEL + 'x += [*{"one", "two", "three", "four", "five"}].index("one")\nadd[(1,)](x, out, 0, 8)\n')
    assert run.compared == ("again",) and run.differences == (), (run.incomparable, run.stderr)


def test_a_repetition_that_differs_is_the_last(pools: dict[str, Pool]) -> None:
    run = pools["nondeterministic"].run(BY_CHANCE)
    assert run.compared == ("again",) and [type(each) for each in run.differences] == [Difference]

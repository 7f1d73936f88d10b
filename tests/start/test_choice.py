"""What a reduction begins with, decided by real runs; and what it does not lift."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shrinkray_gpu import calibration
from shrinkray_gpu import start as lifting
from shrinkray_gpu.calibration import Limits
from shrinkray_gpu.calibration.missed import FURTHER
from shrinkray_gpu.command.driver import Command
from shrinkray_gpu.judging.tally import COLD, LANE
from shrinkray_gpu.oracle import all_of, parse
from shrinkray_gpu.oracle.oracle import Oracle
from shrinkray_gpu.oracle.same import SameFaultOracle, same_fault
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner import knob_settings
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Compilation, Failure, Launch, Run
from shrinkray_gpu.runner.stock import Stock
from shrinkray_gpu.runner.terms import Terms
from shrinkray_gpu.start import Start, UserProgram, choice, description, lifted_scripts
from tests.e2e.test_host_mistakes import WINDOW
from tests.e2e.test_lift import TWICE

HELPED = "import helper\n\nhelper.find(7)\n"


def never(run: Run) -> Oracle:
    raise AssertionError("an oracle was given")


def given(folder: Path, text: str, *specs: str) -> UserProgram:
    scratch = folder / "failing.shrink" / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    oracle = same_fault(all_of([parse(spec, folder=folder) for spec in specs]))
    setup = Setup(sys.executable, dict(os.environ), (), (str(folder),), str(scratch), confine=False)
    script = Script(folder / "failing.py", cwd=folder)
    program = Program.from_text(text, str(folder / "failing.py"))
    return UserProgram(program, script, setup, oracle, never, Limits(2))


def begun(given: UserProgram, said: list[str], *, resume: bool = False) -> Start:
    folder = given.script.path.with_suffix(".shrink")
    with Journal.open(folder, original=given.program, seed=0, width=6, settings={}, resume=resume) as journal:
        return lifting.begin(given, journal, said.append)


def helped(folder: Path) -> UserProgram:
    (folder / "helper.py").write_text("def find(key):\n    return [1, 2, 3][key]\n")
    return given(folder, HELPED, "exception:IndexError")


def test_local_modules_come_into_the_file(tmp_path: Path) -> None:
    start = begun(helped(tmp_path), [])
    assert start.lifted and not start.alone
    assert "def find" in start.program.text and "import helper" not in start.program.text
    assert start.tries == {"cold": 2}
    assert [run.captured for run in start.seen] == [None]


def test_a_resumed_reduction_begins_alike_without_a_run(tmp_path: Path) -> None:
    program = helped(tmp_path)
    first = begun(program, [])
    nowhere = replace(program, setup=replace(program.setup, python="/no/such/interpreter"))
    again = begun(nowhere, [], resume=True)
    assert (again.program.text, again.lifted, again.alone) == (first.program.text, True, False)
    assert again.oracle == first.oracle and again.reference == first.reference
    assert again.tries == {}


def test_what_the_host_makes_is_kept_after_a_resumption_as_well(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    program = given(tmp_path, WINDOW, "static:bounds")
    script = program.chosen.needs.on(program.script, virtual=True) if program.chosen else program.script
    program = replace(program, script=script, setup=replace(program.setup, arch=90))
    first = begun(program, [])
    assert "# shrink: keep" in first.program.text and isinstance(first.oracle, SameFaultOracle)
    assert first.oracle.causes is not None and first.oracle.causes.kept
    again = begun(program, [], resume=True)
    assert (again.program.text, again.oracle) == (first.program.text, first.oracle)


@pytest.mark.parametrize("whole", [False, True])
def test_one_file_has_no_path_of_this_machine_unless_the_fault_needs_it(tmp_path: Path, whole: bool) -> None:
    needs = "Path(__file__).is_absolute()" if whole else "Path(__file__).suffix == '.py'"
    body = f"from pathlib import Path\n\n\ndef find(key):\n    if {needs}:\n        [][key]\n"
    (tmp_path / "helper.py").write_text(body)
    start = begun(given(tmp_path, HELPED, "exception:IndexError"), [])
    assert start.merged and "helper.py" in start.program.text
    assert (str(tmp_path) in start.program.text) is whole


@pytest.mark.parametrize("sets", [False, True])
def test_a_package_that_loads_modules_by_their_names_is_left_out_unless_the_fault_hangs_on_it(
    tmp_path: Path, sets: bool
) -> None:
    (tmp_path / "pkg").mkdir()
    loading = f"import os\nfrom importlib import import_module\nos.environ['ROWS'] = '{7 if sets else 3}'\n"
    (tmp_path / "pkg" / "__init__.py").write_text(f"{loading}import_module('pkg.other')\n")
    (tmp_path / "pkg" / "other.py").write_text("")
    rows = "import os\n\n\ndef find():\n    raise IndexError(os.environ.get('ROWS', '3') + ' rows')\n"
    (tmp_path / "pkg" / "rows.py").write_text(rows)
    start = begun(given(tmp_path, "from pkg.rows import find\n\nfind()\n", "exception:IndexError"), [])
    assert start.merged is not sets and ("def find" in start.program.text) is not sets, start.program.text


def test_one_file_that_does_not_show_the_fault_is_not_taken(tmp_path: Path) -> None:
    body = "import sys\n\n\ndef find(key):\n    if 'helper' in sys.modules:\n        [][key]\n"
    (tmp_path / "helper.py").write_text(body)
    said: list[str] = []
    start = begun(given(tmp_path, HELPED, "exception:IndexError"), said)
    assert not start.lifted and start.program.text == HELPED and start.oracle is not None
    again = "a run ends without the fault, which may be a flaky one: up to 5 more"
    assert [line for line in said if not line.endswith(" ...")] == [
        again,
        "in one file with its modules (helper) the program does not show the fault",
    ]


def test_of_a_command_that_is_no_file_the_result_is_told_not_to_stand_alone(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import unittest\n\n\nclass It(unittest.TestCase):\n    def test(self):\n        [][0]\n"
    )
    command = Command("unittest", ("discover",), tmp_path)
    program = replace(given(tmp_path, command.text, "exception:IndexError"), command=command)
    start = begun(program, [])
    assert start.program.text == command.text
    assert start.told == "not standalone: it runs -m unittest discover where that is"


def test_where_the_fence_is_what_keeps_it_away_that_is_said(tmp_path: Path) -> None:
    """The program writes where it likes; what it becomes in one file is fenced."""
    (tmp_path / "helper.py").write_text("open('cache', 'w').close()\n\n\ndef find(key):\n    return [][key]\n")
    program = given(tmp_path, HELPED, "exception:IndexError")
    script = replace(program.script, original=HELPED)
    said: list[str] = []
    start = begun(replace(program, script=script, setup=replace(program.setup, confine=True)), said)
    if not start.lifted:  # the kernel has Landlock
        assert f"{tmp_path}/cache, where no candidate may: --writable {tmp_path} allows it" in said[-1]
    assert start.reference is not None and start.reference.writes == (str(tmp_path.resolve() / "cache"),)


def test_a_program_that_shows_no_fault_is_for_calibration_to_explain(tmp_path: Path) -> None:
    start = begun(given(tmp_path, "print('well')\n", "exception:IndexError"), [])
    assert (start.oracle, start.lifted, len(start.seen)) == (None, False, FURTHER + 1)


def test_the_run_that_showed_the_fault_counts_for_calibration(tmp_path: Path) -> None:
    start = begun(given(tmp_path, "[][7]\n", "exception:IndexError"), [])
    assert not start.lifted and len(start.seen) == 1 and start.tries == {"cold": 1}


@pytest.mark.parametrize("spec", ["differs:num_stages=1", "timeout", "script:./test.sh"])
def test_what_needs_runs_of_its_own_kind_is_not_lifted(tmp_path: Path, spec: str) -> None:
    (tmp_path / "test.sh").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "test.sh").chmod(0o755)
    program = given(tmp_path, "raise SystemExit(1)\n", spec)
    assert begun(replace(program, setup=replace(program.setup, python="/no/such/interpreter")), []).oracle is None


@pytest.mark.parametrize("without", [{"as_it_is": True}, {"keep": frozenset({"f"})}])
def test_the_user_may_forbid_it(tmp_path: Path, without: dict[str, object]) -> None:
    program = replace(given(tmp_path, "def f():\n    [][7]\nf()\n", "exception:IndexError"), **without)  # type: ignore[arg-type]
    assert begun(replace(program, setup=replace(program.setup, python="/no/such/interpreter")), []).oracle is None


RECORD = {"kernel": "k", "trouble": "", "grid": [1], "arguments": [], "options": [], "definitions": []}


@pytest.mark.parametrize(
    ("run", "lifted"),
    [
        (Run("cold", 0, driver_error=716), True),
        (Run("cold", None, signal=11), True),
        (
            Run("cold", 1, failure=Failure("AssertionError", "not close", traceback='  File "/x/test.py", line 1')),
            False,
        ),
        (Run("cold", 1, failure=Failure("ValueError", "no", traceback='  File "/x/triton/runtime/jit.py"')), True),
    ],
)
def test_only_what_a_launch_may_do_is_lifted(run: Run, lifted: bool) -> None:
    assert choice.in_a_launch(replace(run, captured={"launches": [RECORD]})) == lifted
    assert not choice.in_a_launch(replace(run, captured={"launches": []}))
    assert not choice.in_a_launch(run)


def test_a_launch_whose_failure_the_program_caught_is_tried_first() -> None:
    """A harness went on, and launched other kernels later."""
    caught = Compilation("k", "", failure=Failure("CompilationError", "at 3:4: no"))
    definition = {"kind": "function", "text": "@triton.jit\ndef {}():\n    pass\n"}
    launches = [
        {**RECORD, "kernel": name, "allocator": False,
         "definitions": [{**definition, "name": name, "text": definition["text"].format(name)}]}
        for name in ("later", "k")
    ]  # fmt: skip
    run = Run("cold", 0, compiles=(caught,), captured={"launches": launches})
    assert choice.in_a_launch(run)
    assert [offer.kernel for offer in choice._offers(run, None)] == ["k"]
    ended_well = replace(run, compiles=())
    assert [offer.kernel for offer in choice._offers(ended_well, None)] == ["later", "k"]
    racing = Launch("k", "", (2,), fault="race: the store touches element 0 of x in program instances 0 and 1")
    assert [offer.kernel for offer in choice._offers(replace(ended_well, launches=(racing,)), None)] == ["k"]


def test_a_bug_in_lifting_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(run: Run) -> bool:
        raise AssertionError("in the lifting")

    monkeypatch.setattr(choice, "in_a_launch", stumble)
    said: list[str] = []
    start = begun(given(tmp_path, "[][7]\n", "exception:IndexError"), said)
    assert (start.program.text, start.lifted) == ("[][7]\n", False)
    assert said[-1].startswith("lifting failed by a bug of shrink's own") and "in the lifting" in said[-1]


def test_the_environment_that_the_program_sets_before_its_imports_comes_along() -> None:
    text = lifted_scripts.setting((("TRITON_INTERPRET", "1"),), "import triton\n")
    assert text == "import os\n\nos.environ['TRITON_INTERPRET'] = '1'\n\nimport triton\n"
    assert lifted_scripts.setting((), "import triton\n") == "import triton\n"


HARNESS = """\
import torch
import triton
import triton.language as tl


@triton.jit
def bad(x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, {value})


@triton.jit
def good(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


for kernel in (bad, good):
    try:
        kernel[(1,)](torch.zeros(128, 128, device="cuda"), BLOCK=128)
        torch.cuda.synchronize()
    except Exception as error:
        print("skipped", kernel.__name__)
"""
CAUGHT = {
    "tl.dot(at, at)": "compile:input and other must have equal ranks >= -?[0-9]+",
    "tl.static_assert(BLOCK == 1, 'too wide')": "",
}


@pytest.mark.parametrize("value", CAUGHT)
def test_what_a_harness_catches_is_found_and_lifted(tmp_path: Path, value: str) -> None:
    """It prints a word, launches another kernel, and exits with 0."""
    program = given(tmp_path, HARNESS.format(value=value), "exit:0")
    asked: list[str] = []

    def adopting(run: Run) -> Oracle:
        asked.append(calibration.adoptable_spec(run))
        return same_fault(parse(asked[-1], folder=tmp_path))

    virtual = replace(program, setup=replace(program.setup, arch=90), chosen=None, adopting=adopting)
    start = begun(virtual, [])
    if start.lanes is not None:
        start.lanes.close()
    if not CAUGHT[value]:  # what an autotuner catches, too, is no reason to begin
        assert (asked, start.lifted) == ([], False)
        return
    assert asked == [CAUGHT[value]]
    assert start.lifted and "bad[(1,)]" in start.program.text and "good" not in start.program.text


def on_the_virtual_gpu(folder: Path, text: str) -> tuple[Start, list[str]]:
    """Asked for two kernels of different widths, which one launch alone cannot show."""
    program = given(folder, text, "ttgir:tensor<32xf32", "ttgir:tensor<64xf32")
    script = replace(program.script, asserts=False, wants=("ttgir",))
    said: list[str] = []
    start = begun(replace(program, setup=replace(program.setup, arch=90), script=script), said)
    if start.lanes is not None:
        start.lanes.close()
    return start, said


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> list[calibration.LaneSet | None]:
    """The workers that came up while the program ran."""
    made: list[calibration.LaneSet | None] = []

    def ahead(given: UserProgram) -> calibration.LaneSet | None:
        made.append(lifted_scripts.ahead(given))
        return made[-1]

    monkeypatch.setattr(choice, "ahead", ahead)
    return made


def one_kernel(folder: Path, text: str, **changes: object) -> UserProgram:
    program = given(folder, text, "ttgir:tensor<64xf32")
    script = replace(program.script, asserts=False, wants=("ttgir",))
    return replace(program, setup=replace(program.setup, arch=90), script=script, **changes)  # type: ignore[arg-type]


MISALIGNED = """\
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x):
    desc = tl.make_tensor_descriptor(x, [8, 4], [4, 1], [1, 4])
    for start in tl.range(2, num_stages=3):
        at = tl.arange(0, 4)
        tl.store(x + at, tl.sum(desc.load([start, 0]), axis=0), mask=at < 4)


triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
kernel[(1,)](torch.zeros(32, device="cuda"))
torch.cuda.synchronize()
"""
SETTING = "import os\n\nos.environ['TRITON_DEBUG'] = '0'\n"
PADDING = "".join(f"spare_{i} = [{i}, {i} + 1, {i} * 2]\n" for i in range(20))
OTHER_WAYS = tuple(map(knob_settings.parse_setting, ("exact-allocation", "interpreter")))


@pytest.mark.parametrize("lifted", [True, False])
def test_those_of_other_ways_come_up_meanwhile_where_the_fault_is_of_the_device(
    tmp_path: Path, early: list[calibration.LaneSet | None], monkeypatch: pytest.MonkeyPatch, lifted: bool
) -> None:
    made: list[Stock] = []
    other, close = Pool._other, calibration.LaneSet.close

    def recorded(pool: Pool, *given: Any) -> Stock:
        made.append(other(pool, *given))
        return made[-1]

    def come_up() -> bool:
        until = time.monotonic() + 100
        while len(made) < len(OTHER_WAYS) and time.monotonic() < until:
            time.sleep(0.05)
        return len(made) == len(OTHER_WAYS)

    monkeypatch.setattr(Pool, "_other", recorded)
    monkeypatch.setattr(calibration.LaneSet, "close", lambda lanes: (come_up(), close(lanes)))
    program = given(tmp_path, SETTING + PADDING * lifted + MISALIGNED, "misaligned address")
    setup = replace(program.setup, arch=90)
    start = begun(replace(program, setup=setup, limits=Limits(lifted_scripts.JOBS_AHEAD), ways=OTHER_WAYS), [])
    [lanes] = early
    assert start.lifted is lifted and lanes is not None and lanes.warm is not None, start.told
    assert come_up()
    if lifted:
        plan = replace(program, setup=setup, limits=Limits(lifted_scripts.JOBS_AHEAD)).plan(start)
        try:
            runs = [plan.pool.run(start.program.text, way=way) for way in OTHER_WAYS]
            assert [(run.driver_error, run.trouble) for run in runs] == [(716, ""), (0, "")], runs
            assert len(made) == len(OTHER_WAYS), "the guards use these"
        finally:
            plan.close()
    assert not [one.worker.process.pid for one in made if Path(f"/proc/{one.worker.process.pid}").exists()], "they end"


def test_workers_that_import_too_little_make_room_for_others(
    tmp_path: Path, early: list[calibration.LaneSet | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration.LaneSet, "import_for", lambda lanes, source: lanes is not early[0])
    once = TWICE.replace("(30, 60)", "(60,)")
    start = begun(one_kernel(tmp_path, once, limits=Limits(lifted_scripts.JOBS_AHEAD)), [])
    assert start.alone and start.lanes is not None and start.lanes is not early[0], start.told
    start.lanes.close()


@pytest.mark.parametrize(
    ("sizes", "launch", "up"), [("(30, 29, 60, 16)", "5 of 8", True), ("(60, 30)", "1 of 4", False)]
)
def test_lanes_tell_which_launches_are_worth_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: str, launch: str, up: bool
) -> None:
    """Those that came up while the program ran, and are the reduction's own from here on."""
    made: list[calibration.LaneSet] = []

    def ahead(given: UserProgram) -> calibration.LaneSet | None:
        lanes = lifted_scripts.ahead(given)
        assert lanes is not None and lanes.started is not None
        lanes.started.result()
        made.append(lanes if up else replace(lanes, started=Future()))
        return made[-1]

    monkeypatch.setattr(choice, "ahead", ahead)
    start = begun(one_kernel(tmp_path, TWICE.replace("(30, 60)", sizes), limits=Limits(lifted_scripts.JOBS_AHEAD)), [])
    assert start.alone and f"launch {launch}" in start.told
    assert (start.tries[COLD] <= 4, start.tries[LANE] > 3) == (up, up), start.tries
    assert start.lanes is not None
    if up:
        [lanes] = made
        assert start.lanes is lanes and lanes.warm is not None and lanes.warm.run(start.program.text).launches
    start.lanes.close()


def test_many_launches_wait_for_lanes_where_jobs_are_few(tmp_path: Path) -> None:
    start = begun(one_kernel(tmp_path, TWICE.replace("(30, 60)", "(30, 29, 60, 16)"), limits=Limits(1)), [])
    assert start.alone and "launch 5 of 8" in start.told
    assert start.tries[COLD] <= 4 and start.tries[LANE] > 3, start.tries
    assert start.lanes is not None
    start.lanes.close()


def test_the_likeliest_is_run_three_times_though_a_lane_does_not_show_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With jobs for three runs at a time, what lanes show has the first ones."""
    shows, ends_well, runs = Run("cold", 1, failure=Failure("KeyError", "x")), Run("cold", 0), Counter[str]()

    def cold(source: str, **how: object) -> Run:
        runs[source] += 1
        return shows if source == "likeliest" and runs[source] == 2 else ends_well

    pool = SimpleNamespace(cold=cold, seconds=1.0, terms=Terms("cold", 4, 1.0, 0.0), on=lambda terms: pool)
    pool.forking = pool.serving = lambda *script, **seconds: pool
    pool.script = None
    monkeypatch.setattr(UserProgram, "cold", lambda given: pool)
    monkeypatch.setattr(lifted_scripts.LiftedScripts, "_sifted", lambda self, *_: ["in a lane", "likeliest", "other"])
    asked = replace(given(tmp_path, "{}['x']\n", "exception:KeyError"), limits=Limits(4))
    lanes: Any = SimpleNamespace(import_for=lambda text: True, up=lambda oracle, wait: pool)
    oracle = parse("exception:KeyError", folder=tmp_path)
    tried = lifted_scripts.LiftedScripts(asked, Counter(), print, gpu=True, identity=None, lanes=lanes)
    found = tried.first(["likeliest", "in a lane", "other"], oracle, shows)
    assert found is not None and found[0] == "likeliest" and len(found[1]) == 3
    assert runs == {"in a lane": 3, "likeliest": 3, "other": 1}


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        (3, ["aaa", "bbb", "cde", "f"]),
        (5, ["aaacd", "bbbef"]),
        (6, ["aaabbb", "cdef"]),
        (8, ["aaabbbcd", "ef"]),
    ],
)
def test_what_is_run_often_has_waves_of_its_own_where_it_does_not_fit_in_one(jobs: int, expected: list[str]) -> None:
    assert ["".join(wave) for wave in lifted_scripts.in_waves("ab", "cdef", times=3, jobs=jobs)] == expected


@pytest.mark.parametrize("text", ["print('well')\n", HELPED])
def test_workers_for_nothing_lifted_end(tmp_path: Path, early: list[calibration.LaneSet | None], text: str) -> None:
    (tmp_path / "helper.py").write_text("def find(key):\n    return [1, 2, 3][key]\n")
    start = begun(replace(given(tmp_path, text, "exception:IndexError"), limits=Limits(lifted_scripts.JOBS_AHEAD)), [])
    [lanes] = early
    assert not start.alone and lanes is not None and start.lanes is not lanes
    with pytest.raises(RuntimeError, match="after shutdown"):
        lanes.starter.submit(print)
    if start.lanes is not None:
        start.lanes.close()


@pytest.mark.parametrize(("text", "jobs"), [("print('well')\n", 2), ("from torch.utils import cpp_extension\n", 16)])
def test_where_jobs_are_few_or_an_extension_is_built_there_are_none(tmp_path: Path, text: str, jobs: int) -> None:
    assert lifted_scripts.ahead(replace(given(tmp_path, text, "exception:IndexError"), limits=Limits(jobs))) is None


def test_where_only_the_run_with_values_ends_well_timing_is_believed_lost(tmp_path: Path) -> None:
    marker = tmp_path / "seen"
    once = f"import os\nif os.path.exists({str(marker)!r}):\n    raise SystemExit(0)\nopen({str(marker)!r}, 'w')\n"
    start, _ = on_the_virtual_gpu(tmp_path, once + TWICE)
    assert not start.lifted and start.told.endswith("the timing is believed to matter")


def test_what_is_missing_in_the_scripts_is_believed_lost_and_else_time() -> None:
    history = {"left_out": 7, "events": [{}] * 2000, "trouble": []}
    again = Run("cold", 1, captured={"launches": [], "history": history})
    tried = "not lifted: neither a launch alone, with the values it had, nor the list of all launches shows the fault"
    told = "history: the list of launches has the latest 2,000 events, 7 came before"
    assert description.failure_description(again, shows=True, offers=True) == f"{tried}; believed lost is {told}"
    told = "timing, or what the host does between the launches, is believed to matter"
    assert description.failure_description(Run("cold", 1), shows=True, offers=True) == f"{tried}: {told}"


def test_a_compile_fault_is_not_believed_to_hang_on_the_timing() -> None:
    refused = 'triton.compiler.errors.CompilationError: at 2:4: NameError("K")'
    again = Run("cold", 1, failure=Failure("triton.compiler.errors.CompilationError", refused), stderr=refused)
    told = description.failure_description(again, shows=True, offers=True)
    assert "timing" not in told and "the compiler sees" in told


def test_a_kernel_that_the_text_does_not_have_comes_from_elsewhere() -> None:
    by_name = Program.from_text("import importlib\nimportlib.import_module('kern.ops').run()\n")
    lifted = Program.from_text("@triton.jit\ndef add(x):\n    pass\n\n\nadd[(1,)](0)\n")
    assert choice.from_elsewhere(lifted, by_name)
    assert not choice.from_elsewhere(lifted, Program.from_text(f"def main():\n    pass\n{lifted.text}"))


def test_a_program_that_only_starts_others_is_longer_than_its_text(tmp_path: Path) -> None:
    """What it starts runs a file of its own, which no edit of the program's text makes shorter."""
    (tmp_path / "job.py").write_text(TWICE.split("class Model")[0] + "add[(1,)](torch.zeros(0), 0, 0, C=16)\n")
    text = "import subprocess, sys\n\nsubprocess.run([sys.executable, 'job.py'], check=True)\n"
    program = given(tmp_path, text, "exception:CalledProcessError")
    assert not choice.stands_on_more(program.program, program, children=False)
    run = program.cold().cold(text, capture="launch")
    assert run.captured is not None and [child["command"][-1] for child in run.captured["children"]] == ["job.py"]
    assert choice.stands_on_more(program.program, program, children=True)

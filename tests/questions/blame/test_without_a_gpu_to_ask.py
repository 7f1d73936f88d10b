"""Verdicts that no trial is needed for, on runs as data: what nobody followed is not known."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.evidence.evidence import Evidence
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.questions.blame.blame import WHOSE, Blame
from shrinkray_gpu.questions.blame.trials import BlameTrials
from shrinkray_gpu.questions.blame.verdict import blame
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Compilation, Failure, Launch, Run

LAUNCH = Launch("k", "1", (1,), synced=True, unfollowed="")
FAR = Run("virtual", 1, virtual=True, driver_error=700, launches=(LAUNCH,))


def told(run: Run, *, text: str = "", last_pass: str = "", **seen: Any) -> Blame:
    """`last_pass`: the one that a run which tells of them begins last."""
    fault = Fault.of(run)
    setup = Setup("python", {}, (), (), "/nowhere")
    trials = BlameTrials(text, Script(Path("/nowhere/program.py")), setup, 1.0, run)
    trials.__dict__["last_pass"] = last_pass  # else it would be run
    return blame(Evidence("program.py", fault, "", run=run, **seen), trials)


def test_what_stays_inside_everywhere_is_the_compiler_s_or_below_it() -> None:
    found = told(FAR)
    assert found.whose == "compiler or below" and "in all 1 launches each access stays inside" in found.why
    assert found.next and not found.enough


def test_what_could_not_be_followed_is_not_known() -> None:
    found = told(replace(FAR, launches=(replace(LAUNCH, unfollowed="a float decides"),)))
    assert found.whose == "not known" and "a float decides" in found.why


def test_an_error_that_ir_does_not_tell_of_is_not_known() -> None:
    assert told(replace(FAR, driver_error=716)).whose == "not known"
    assert told(replace(FAR, driver_error=719)).whose == "not known"


def test_a_device_that_is_broken_says_so() -> None:
    assert told(replace(FAR, driver_error=214)).whose == "driver or hardware"


@pytest.mark.parametrize(
    ("words", "text", "whose"),
    [
        ("UNREACHABLE executed at /src/llvm-project/llvm/lib/CodeGen/A.cpp:7!", "", "LLVM"),
        (
            "UNREACHABLE executed at /src/llvm-project/llvm/lib/CodeGen/A.cpp:7!",
            "tl.inline_asm_elementwise",
            "not known",
        ),
        ("UNREACHABLE executed at /src/llvm-project/llvm/include/llvm/Support/Error.h:7!", "", "not known"),
        ("LLVM ERROR: something", "", "not known"),
        ("LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.wait", "", "LLVM"),
    ],
)
def test_a_compiler_that_dies_is_told_by_where_its_last_words_come_from(words: str, text: str, whose: str) -> None:
    run = Run("cold", None, signal=6, stderr=f"cannot select\n{words}\n", compiles=(Compilation("k", ""),))
    assert told(run, text=text).whose == whose


TRACEBACK = """\
Traceback (most recent call last):
  File "/site/triton/{file}", line 286, in make_llir
    {line}
    ~~~~~^^^^^
{error}
"""


def failed(line: str, error: str, *, file: str = "backends/nvidia/compiler.py", refused: bool = False) -> Run:
    """A compilation that ends in such an exception, which the front end makes a refusal of."""
    trace, kind = TRACEBACK.format(file=file, line=line, error=error), error.partition(":")[0]
    if refused:
        trace, kind = f"{trace}\n{speech.CAUSED}\n\n{trace}", "triton.compiler.errors.CompilationError"
    failure = Failure(kind, error.partition(": ")[2], traceback=trace)
    return Run("virtual", 1, virtual=True, failure=failure, compiles=(Compilation("k", "", failure=failure),))


def test_a_pass_that_does_not_say_so_is_the_one_that_was_begun_last() -> None:
    """As Triton 3.1 and 3.2 have it, which say no more than an assertion or what C++ threw."""
    dies = Run("cold", None, signal=6, stderr="python: /src/lib/Dialect/T.cpp:4: int f(): Assertion `x' failed.\n")
    for run in (dies, failed("pm.run(mod)", "IndexError: map::at")):
        found = told(run, last_pass="AccelerateMatmul")
        assert (found.whose, found.named) == ("compiler pass", "AccelerateMatmul"), found
        assert told(run).whose == "not known"
    elsewhere = replace(dies, stderr="python: /my/lib.cpp:4: int f(): Assertion `x' failed.\n")
    assert told(elsewhere, last_pass="AccelerateMatmul").whose == "not known"
    assert told(failed("metadata[x]", "IndexError: map::at"), last_pass="AccelerateMatmul").whose == "not known"


def test_a_type_error_that_no_line_raises_is_the_front_ends_own() -> None:
    """What it raises itself is how it refuses a kernel."""
    own = failed("return a <= b", "TypeError: '<=' not supported", file="language/core.py", refused=True)
    assert told(own).whose == "not known" and "an exception of its own (TypeError at core.py:286)" in told(own).why
    refusal = failed("raise TypeError(what)", "TypeError: wrong", file="language/core.py", refused=True)
    assert told(refusal).whose == "kernel source"


def test_an_error_of_python_behind_launches_may_hang_on_their_results() -> None:

    run = Run("virtual", 1, failure=Failure("KeyError", "'x'", line=3), launches=(LAUNCH,), virtual=True)
    assert told(run).whose == "not known"


def test_the_list_of_words_is_closed() -> None:
    with pytest.raises(AssertionError):
        Blame("the weather", "it rains")
    assert len(set(WHOSE)) == 10


def test_lanes_that_are_up_are_used_and_left_up(tmp_path: Path) -> None:
    text, script = "[][7]\n", Script(tmp_path / "program.py", cwd=tmp_path)
    setup = Setup(sys.executable, dict(os.environ), (), (), str(tmp_path), arch=90, confine=False, plain=True)
    with closing(Pool(script, setup, mode="virtual", jobs=1, seconds=60.0)) as up:
        up.start(text)
        nowhere = replace(setup, python="/nowhere/python")
        trials = BlameTrials(text, script, nowhere, 60.0, FAR, up=up)
        assert trials.run(text).failure is not None, "no other worker could have come up"
        trials.close()
        assert up.run(text).failure is not None

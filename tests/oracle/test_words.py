"""Plain words: what a failing run says about its failure, never what is merely printed or quoted."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.oracle import Answer, parse, speech
from shrinkray_gpu.oracle.words import plain_pattern
from shrinkray_gpu.runner.run import Compilation, Failure, Launch, Run
from tests.oracle.runs import (
    ACCELERATOR,
    BROKEN,
    CAUSE,
    CONTEXT,
    CRASH,
    OUT_OF_MEMORY,
    PTXAS,
    check_answer,
    failing,
    passing,
    plain,
    traceback,
)

YES, NO, UNKNOWN = Answer.FAULTS, Answer.PASSES, Answer.UNKNOWN

COMPILE_ERROR = (
    'at 3:4:\ndef k(p, B: tl.constexpr):\n    "a docstring about bananas"\n    tl.foo(p)\n    ^\nno such function'
)
WARNING = 'x.py:3: UserWarning: bananas\n  warnings.warn("bananas")\n'
SHAPES = "mat1 and mat2 shapes cannot be multiplied (4x8 and 4x8)"

CASES = {
    "in the exception": ("shapes cannot be multiplied", failing("RuntimeError", SHAPES), YES),
    "a whole pasted line": (f"RuntimeError: {SHAPES}", failing("RuntimeError", SHAPES), YES),
    "pasted without the module": ("OutOfMemoryError: CUDA out of memory", OUT_OF_MEMORY, YES),
    "pasted with a line break in it": ("shapes cannot\n   be multiplied", failing("RuntimeError", SHAPES), YES),
    "an unknown prefix is plain text": ("shrink: no such thing", failing("ValueError", "shrink: no such thing"), YES),
    "another exception": ("shapes cannot be multiplied", failing("NameError", "name 'x' is not defined"), NO),
    "printed by a run that ends well": ("bananas", passing(stdout="no bananas found\n"), NO),
    "warned of by a run that ends well": ("bananas", passing(stderr="x.py:3: UserWarning: bananas\n"), NO),
    "printed before another death": ("bananas", failing("ValueError", "x", stdout="bananas\n"), NO),
    "warned of before another death": (
        "bananas",
        failing("ValueError", "x", stderr=WARNING + traceback("ValueError: x")),
        NO,
    ),
    "in a source line that the traceback quotes": (
        "bananas",
        failing("ValueError", "x", stderr=traceback("ValueError: x", "f(x)  # bananas")),
        NO,
    ),
    "in a quoted line of a plain run": ("bananas", plain(traceback("ValueError: x", 'raise E("bananas")')), NO),
    "in the kernel that a compile error quotes": (
        "bananas",
        failing("triton.compiler.errors.CompilationError", COMPILE_ERROR),
        NO,
    ),
    "in the message below that quotation": (
        "no such function",
        failing("triton.compiler.errors.CompilationError", COMPILE_ERROR),
        YES,
    ),
    "the same in a plain run": (
        "no such function",
        plain(traceback(f"triton.compiler.errors.CompilationError: {COMPILE_ERROR}")),
        YES,
    ),
    "a docstring quoted in a plain run": (
        "bananas",
        plain(traceback(f"triton.compiler.errors.CompilationError: {COMPILE_ERROR}")),
        NO,
    ),
    "only printed by the compiler": (
        "expected matching shapes",
        Run("fork", 1, failure=CRASH, compiles=(BROKEN,), stderr=traceback("RuntimeError: PassManager::run failed")),
        YES,
    ),
    "quoted by the compiler": (
        "a comment about bananas",
        Run("fork", 1, failure=CRASH, compiles=(BROKEN,), stderr=traceback("RuntimeError: PassManager::run failed")),
        NO,
    ),
    "a compile error that an autotuner swallowed": ("expected matching shapes", passing(compiles=(BROKEN,)), YES),
    "in an abort message": (
        "Assertion `idx < size()' failed",
        Run("fork", None, 6, stderr="python: SmallVector.h:295: Assertion `idx < size()' failed.\n"),
        YES,
    ),
    "on stderr before a nonzero exit": ("bananas", Run("fork", 3, stderr="fatal: out of bananas\n"), YES),
    "in the direct cause": (
        "bananas",
        failing("ValueError", "x", stderr=traceback("KeyError: 'bananas'") + CAUSE + traceback("ValueError: x")),
        YES,
    ),
    "in an exception that was merely being handled": (
        "bananas",
        failing("NameError", "x", stderr=traceback("KeyError: 'bananas'") + CONTEXT + traceback("NameError: x")),
        NO,
    ),
    "the same in a plain run, handled": (
        "bananas",
        plain(traceback("KeyError: 'bananas'") + CONTEXT + traceback("NameError: x")),
        NO,
    ),
    "in a child process": ("bananas", passing(children=("ValueError: bananas",)), YES),
    "out of memory, asked for": ("out of memory", OUT_OF_MEMORY, YES),
    "out of memory beside others, not asked for": ("shapes", OUT_OF_MEMORY, UNKNOWN),
    "out of host memory beside others": ("shapes", failing("MemoryError", ""), UNKNOWN),
    "out of memory alone, not asked for": (
        "shapes",
        failing("torch.OutOfMemoryError", "CUDA out of memory.", ACCELERATOR, mode="cold"),
        NO,
    ),
    "invalid argument, by exception": (
        "RuntimeError: Triton Error [CUDA]: invalid argument",
        failing("torch.AcceleratorError", "CUDA error: invalid argument", ACCELERATOR),
        YES,
    ),
    "invalid argument, only on stderr": ("invalid argument", Run("fork", 2, stderr="usage: invalid argument\n"), NO),
    "out of resource": (
        "out of resource",
        failing("triton.runtime.errors.OutOfResources", "out of resource: shared memory, Required: 9, limit: 8."),
        YES,
    ),
    "the lane died": ("bananas", Run("fork", None, trouble="the lane was gone"), UNKNOWN),
    "stopped for time": ("bananas", Run("fork", None, timed_out=True, seconds=9, stderr="bananas\n"), UNKNOWN),
    "killed from outside": ("bananas", Run("fork", None, 9, stderr="bananas\n"), UNKNOWN),
    "never said how it ended": ("bananas", Run("fork", None), UNKNOWN),
    "regex in the exception": (r"regex:shapes .* \(\d+x\d+", failing("RuntimeError", SHAPES), YES),
    "regex in what is printed": (r"regex:ban.n", passing(stdout="bananas"), NO),
    "a syntax error of a plain run": (
        "invalid syntax",
        plain('  File "x.py", line 1\n    foo bananas\n        ^^^^^^^\nSyntaxError: invalid syntax\n'),
        YES,
    ),
    "the line of a syntax error": (
        "foo bananas",
        plain('  File "x.py", line 1\n    foo bananas\n        ^^^^^^^\nSyntaxError: invalid syntax\n'),
        NO,
    ),
    "the listing below a ptxas error": (
        "bogus.instr",
        Run("fork", 1, failure=Failure("triton.runtime.errors.PTXASError", "PTXAS error: x"),
            compiles=(Compilation("k", "", failure=CRASH, printed=PTXAS),)),
        NO,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_words(case: str) -> None:
    check_answer(*CASES[case])


def test_the_why_shows_the_line_found() -> None:
    verdict = parse("cannot be multiplied", folder=Path()).judge(failing("RuntimeError", SHAPES))
    assert verdict.why == f"exception: RuntimeError: {SHAPES}"


def test_the_why_of_a_trap_says_that_it_is_one() -> None:
    verdict = parse("bananas", folder=Path()).judge(passing(stdout="bananas"))
    assert verdict.why == "the words are printed by a script that ends well (exit 0)"


def test_calibrated_words_stay_where_the_original_had_them() -> None:
    """Words of the uncaught exception are not replaced by the same words in a log before another death."""
    oracle = parse("bananas", folder=Path())
    logged = failing("NameError", "y", stderr="ERROR: bananas\n" + traceback("NameError: y"))
    assert oracle.judge(logged).faults
    calibrated = oracle.calibrate(failing("ValueError", "bananas"))
    assert calibrated.judge(logged).answer is NO
    assert calibrated.judge(failing("KeyError", "bananas")).faults
    assert calibrated.judge(plain(traceback("ValueError: bananas"))).faults


def test_calibrated_words_on_stderr_may_be_anywhere() -> None:
    calibrated = parse("bananas", folder=Path()).calibrate(Run("cold", 3, stderr="bananas\n"))
    assert calibrated.judge(failing("ValueError", "bananas")).faults
    assert calibrated.judge(Run("fork", 4, stderr="bananas\n")).faults


REFUSED = Launch("k", "h", (1,), failure="triton.runtime.errors.OutOfResources: out of resource: shared memory")


def test_what_the_original_dies_of_may_not_be_swallowed() -> None:
    calibrated = parse("expected matching shapes", folder=Path()).calibrate(
        Run("fork", 1, failure=CRASH, compiles=(BROKEN,), stderr=traceback("RuntimeError: PassManager::run failed"))
    )
    assert calibrated.judge(passing(compiles=(BROKEN,))).answer is NO


@pytest.mark.parametrize("run", [passing(launches=(REFUSED,)), passing(compiles=(BROKEN,))])
def test_what_the_original_swallows_may_be_swallowed_or_not(run: Run) -> None:
    words = "out of resource" if run.launches else "expected matching shapes"
    calibrated = parse(words, folder=Path()).calibrate(run)
    assert calibrated.judge(run).faults
    assert calibrated.judge(failing("RuntimeError", words)).faults
    assert calibrated.judge(passing()).answer is NO
    assert calibrated.judge(plain("", exit=0)).answer is UNKNOWN, "nobody watches a plain process compile"


def test_a_failing_assertion_is_a_weak_oracle() -> None:
    assert "weak" in parse("exception:AssertionError", folder=Path()).warning
    calibrated = parse("Tensor-likes are not close", folder=Path()).calibrate(
        failing("AssertionError", "Tensor-likes are not close!")
    )
    assert "weak" in calibrated.warning


def test_so_is_what_the_script_raises_by_itself() -> None:
    def warned(source: str, line: int = 12) -> bool:
        text = traceback("RuntimeError: off by 0.3", source)
        run = Run("fork", 1, failure=Failure("RuntimeError", "off by 0.3", (), line, text), stderr=text)
        said = [parse(spec, folder=Path()).calibrate(run).warning for spec in ("off by", "exception:RuntimeError")]
        assert said[0] == said[1]
        return "`raise` at line 12" in said[0]

    assert warned('raise RuntimeError(f"off by {error}")')
    assert not warned("launch(x)") and not warned('raise RuntimeError("in a library")', line=3)


@pytest.mark.parametrize(
    ("words", "said", "found"),
    [
        ("block sizes or num_stages may help", "Reducing block sizes or `num_stages` may help.", True),
        ("\x1b[31mbad 'x'\x1b[0m here", "bad x here", True),
        ("can't do", "can't `do` that", True),
        ("bad x", "badx", False),
        ("a b", "a, b", False),
        ("''", "nothing is quoted", False),
    ],
)
def test_pasted_words_need_neither_colours_nor_quotation_marks(words: str, said: str, found: bool) -> None:
    assert bool(plain_pattern(words).search(said)) == found


def test_of_functions_that_the_kernel_calls_the_innermost_says_why_though_its_traceback_was_taken_away() -> None:
    inner = "CompilationError: at 2:11:\ndef mixed(v, w):\n    return v + w\n           ^\nValueError('shapes 8 and 4')"
    middle = "CompilationError: at 2:11:\ndef middle(v, w):\n    return mixed(v, w)\n           ^"
    outer = "at 3:26:\ndef k(x):\n    middle(x, 1)\n    ^"
    chain = inner + CAUSE + middle + CAUSE + traceback(f"CompilationError: {outer}")
    compile = Compilation("k", "", failure=Failure("CompilationError", outer, traceback=chain))
    assert list(speech.reasons(compile)) == ["CompilationError:", "CompilationError:\nValueError('shapes 8 and 4')"]
    assert speech.reason(compile) == "ValueError('shapes 8 and 4')"


@pytest.mark.parametrize(
    "words",
    [
        "2026-11-26 18:16:32,120 ERROR shapes do not fit",
        "[2026-11-26T18:16:32Z] shapes do not fit",
        "[rank0]: shapes do not fit",
        "[rank3]: E   shapes do\n[rank3]:   not fit",
        "E       shapes do not fit",
        "shapes do\n    not fit",
    ],
)
def test_pasted_words_need_neither_the_log_s_time_nor_its_rank_nor_its_lines(words: str) -> None:
    assert plain_pattern(words).search("ValueError: shapes do not fit")
    assert not plain_pattern(words).search("ValueError: shapes do fit")


@pytest.mark.parametrize("words", ["E    fit", "ERROR do not", "[rank0]:"])
def test_what_only_looks_like_a_log_s_stays(words: str) -> None:
    assert not plain_pattern(words).search("ValueError: shapes do not fit")

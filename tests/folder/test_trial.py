"""What counts as wrong in what a command prints, and which fault is adopted."""

from __future__ import annotations

import pytest

from shrinkray_gpu.folder.trial import as_signalled, as_told_plainly, seen, wrongs
from shrinkray_gpu.oracle.words import WordsOracle, plain_pattern
from shrinkray_gpu.runner.run import Run

PTXAS = "ptxas error   : Entry function '_Z1fPii' uses too much shared data (0x10000 bytes, 0xc000 max)"


def run(said: str, exit: int = 1) -> Run:
    return Run(mode="plain", exit=exit, stderr=said)


@pytest.mark.parametrize(
    ("said", "exit", "spec"),
    [
        (f"{PTXAS}\nmake: *** [Makefile:1: x] Error 255\n", 2, "regex:Entry function ._Z1fPii. uses too much shared"),
        ("a.cpp:3:5: error: 'x' was not declared in this scope\n", 1, "regex:.x. was not declared in this scope"),
        ("ValueError: 3 and 4 differ\n", 1, "regex:ValueError: -?[0-9]+ and -?[0-9]+ differ"),
        ("", 139, "signal:SIGSEGV"),
        ("make: *** [Makefile:3: run] Segmentation fault\n", 2, "Segmentation fault"),
        ("", 3, "exit:3"),
        ("error: but it ends well\n", 0, ""),
    ],
)
def test_the_fault_that_is_adopted(said: str, exit: int, spec: str) -> None:
    assert seen(run(said, exit)).startswith(spec) and bool(seen(run(said, exit))) == bool(spec)


def test_places_and_names_make_no_other_error() -> None:
    one = wrongs(run('src/a.cu(12): error: identifier "foo" is undefined\nmake: *** [Makefile:4: a.o] Error 1\n'))
    other = wrongs(run('/x/b.cu(3): error: identifier "bar" is undefined\nmake: *** [Makefile:1: b.o] Error 2\n'))
    assert one == other and len(one) == 2
    new = wrongs(run("a.cu(1): error: expected a declaration\na.cu:2: warning: no return [-Wreturn-type]\n"))
    assert len(new - one) == 2


PYTEST = """\
_________________________________ test_kernel _________________________________

    def test_kernel():
        # asks for a needle
>       build("needle")

tests/test_a.py:4:
E       triton.compiler.errors.CompilationError: at 2:4:
E       def needle():
E           x
E           ^
E       ValueError('3 and 4 differ')

a.py:80: CompilationError
"""


def test_source_that_pytest_quotes_is_no_evidence() -> None:
    told = as_told_plainly(PYTEST)
    assert "asks for" not in told and ">  " not in told and "\nValueError('3 and 4 differ')" in told
    assert not WordsOracle(spec="needle", pattern=plain_pattern("needle")).judge(run(told)).faults
    assert WordsOracle(spec="3 and 4", pattern=plain_pattern("3 and 4")).judge(run(told)).faults


def test_a_shells_status_is_a_signal() -> None:
    assert as_signalled(run("", 139)).signal == 11 and as_signalled(run("", 130)).exit == 130

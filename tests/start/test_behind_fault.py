"""Which statements a program comes to after its fault only."""

from __future__ import annotations

import ast

import pytest

from shrinkray_gpu.runner.run import Failure, Run
from shrinkray_gpu.start.behind_fault import behind_fault, is_awaited

STRAIGHT = """\
def launch(x):
    kernel(x)
    wait()  # here
    other(x)
    return x

def main():
    try:
        if ready():
            y = launch(1)  # here
            use(y)
        else:
            kept()
    finally:
        close()
    check(y)

main()  # here
done()
"""
LOOP = """\
def step(x):
    kernel(x)
    wait()  # here
    x += 1

for x in range(4):
    step(x)  # here
    log(x)
else:
    over()
done()
"""
TWICE = """\
def launch(x):
    wait()  # here
    other(x)

launch(1)
launch(2)  # here
done()
"""
LIST = """\
def launch(x):
    wait()  # here
    other(x)

y = [launch(x) for x in range(4)]  # here
done()
"""


def ran(text: str) -> Run:
    """A run that ended at the lines that say `here`, the last one outermost; before its error another was handled."""
    lines = [at for at, line in enumerate(text.splitlines(), start=1) if line.endswith("# here")]
    names = ["<module>", *("function" for _ in lines[1:])]
    own = "".join(f'  File "/w/program.py", line {at}, in {name}\n    code\n' for at, name in zip(lines[::-1], names))
    start = "Traceback (most recent call last):\n"
    before = f'{start}  File "/w/program.py", line 1, in <module>\nKeyError\n\nDuring handling:\n\n'
    inside = '  File "/torch/cuda.py", line 5, in synchronize\n    code\n'
    return Run("virtual", 1, failure=Failure("torch.AcceleratorError", "", traceback=before + start + own + inside))


@pytest.mark.parametrize(
    ("text", "behind"),
    [
        (STRAIGHT, ["other(x)", "return x", "use(y)", "check(y)", "done()"]),  # but close(), which runs all the same
        (LOOP, ["done()"]),
        (TWICE, ["done()"]),
        (LIST, ["done()"]),
    ],
)
def test_what_lies_behind_the_frames_never_runs(text: str, behind: list[str]) -> None:
    tree = ast.parse(text)
    found = behind_fault(tree, ran(text))
    told = [each for each in found if isinstance(each, ast.stmt)]
    assert [ast.unparse(each) for each in sorted(told, key=lambda each: each.lineno)] == behind


def test_of_a_run_without_an_error_nothing_is_behind() -> None:
    assert behind_fault(ast.parse(STRAIGHT), Run("virtual", 0)) == set()


@pytest.mark.parametrize(
    ("text", "frames", "awaited"),
    [
        pytest.param("class A: pass\nx = A(torch.f(y))\n", [(2, "<module>")], True, id="a class takes it"),
        pytest.param("def f(x): g(x)\nf(torch.f(y))\n", [(2, "<module>"), (1, "f")], False, id="the function failed"),
        pytest.param("def f(x): g(x)\nprint(f(y))\n", [(2, "<module>"), (1, "f")], False, id="a builtin takes it"),
        pytest.param("def f(x): g(x)\ndef h(x): x\nh(f(y))\n", [(3, "<module>"), (1, "f")], True, id="a function does"),
        pytest.param(
            "class A:\n    def __call__(self): g()\na = A()\na(torch.f(y))\n", [(4, "<module>")], True, id="an object"
        ),
        pytest.param("import torch\ntorch.h(torch.f(y))\n", [(2, "<module>")], False, id="a library takes it"),
    ],
)
def test_whether_something_of_the_program_waits_for_what_failed(
    text: str, frames: list[tuple[int, str]], awaited: bool
) -> None:
    told = "".join(f'  File "p.py", line {line}, in {name}\n    here\n' for line, name in frames)
    failure = Failure("ValueError", "no", traceback=f"Traceback (most recent call last):\n{told}ValueError: no")
    assert is_awaited(ast.parse(text), Run("cold", 1, failure=failure)) == awaited

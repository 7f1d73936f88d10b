"""The whole course of reductions with all passes, pinned: which pass took what, and how small the program was then.

The tests are predicates, so that neither machine nor Triton has a part in it. If a course changes on purpose, look
whether it got longer or its end larger, and copy the new one over the old: the failing test says where it lies.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from shrinkray_gpu.passes import ONE_LAUNCH, PASSES
from shrinkray_gpu.reduction.outcome import Reduction
from tests.reduction.course import Bench

SAMPLES = Path(__file__).parents[1] / "passes" / "samples"
COURSES = Path(__file__).parent / "courses"

Needle = Callable[[ast.FunctionDef], bool]


def launched(text: str, needle: Needle) -> bool:
    """Whether a decorated function with the needle in it is launched, as `kernel[grid](...)`, in order to be run."""
    tree = ast.parse(text)
    launches = {
        call.func.value.id
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Subscript)
        and isinstance(call.func.value, ast.Name)
        and isinstance(call.func.slice, (ast.Tuple, ast.Lambda, ast.Name))
    }
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.decorator_list]
    return any(function.name in launches and needle(function) for function in functions)


def calls(function: ast.AST, name: str) -> bool:
    return any(isinstance(node, ast.Call) and ast.unparse(node.func) == name for node in ast.walk(function))


def dot_in_a_loop(function: ast.FunctionDef) -> bool:
    return any(calls(loop, "tl.dot") for loop in ast.walk(function) if isinstance(loop, ast.For))


def rsqrt_that_is_stored(function: ast.FunctionDef) -> bool:
    return calls(function, "libdevice.rsqrt") and calls(function, "tl.store")


def maximum_that_a_loop_carries(function: ast.FunctionDef) -> bool:
    """Of a softmax that goes page by page: a variable of the loop is the maximum of itself and something new, and an
    exponential is taken of it."""
    loops = [loop for loop in ast.walk(function) if isinstance(loop, ast.For) and calls(loop, "tl.exp2")]
    return any(
        isinstance(line, ast.Assign) and calls(line, "tl.maximum") and line.lineno > function.body[0].lineno
        for loop in loops
        for line in loop.body
    )


def descriptor_made_in_a_loop(function: ast.FunctionDef) -> bool:
    """And what is loaded by it multiplied there."""
    loops = [loop for loop in ast.walk(function) if isinstance(loop, ast.For) and calls(loop, "tl.dot")]
    return any(calls(loop, "tl.make_tensor_descriptor") for loop in loops) and "load" in ast.unparse(function)


@pytest.mark.parametrize(
    ("name", "needle"),
    [
        ("autotuned_matmul", dot_in_a_loop),
        ("layernorm", rsqrt_that_is_stored),
        ("attention", maximum_that_a_loop_carries),
    ],
)
def test_the_course_is_as_it_was(name: str, needle: Needle, tmp_path: Path) -> None:
    bench = Bench(lambda text: launched(text, needle))
    result = bench.reduce((SAMPLES / f"{name}.py").read_text(), tmp_path / "folder", passes=PASSES, width=6)
    compare(name, bench, result, tmp_path)


def test_the_course_of_a_lifted_launch_is_as_it_was(tmp_path: Path) -> None:
    original = (COURSES / "one_launch_original.txt").read_text()
    ends = {}
    for name, passes in (("one_launch", ONE_LAUNCH), ("one_launch_staged", PASSES)):
        bench = Bench(lambda text: launched(text, descriptor_made_in_a_loop))
        ends[name] = bench.reduce(original, tmp_path / name, passes=passes, width=6)
        if name == "one_launch":
            compare(name, bench, ends[name], tmp_path)
    assert ends["one_launch"].program.size.tokens <= ends["one_launch_staged"].program.size.tokens
    assert ends["one_launch"].cost.tries < ends["one_launch_staged"].cost.tries, "what the order is there for"


def test_a_lifted_launch_meets_every_pass_once() -> None:
    # Those for host Python alone have nothing to do with a launch.
    assert sorted(each.name for each in ONE_LAUNCH) == sorted(each.name for each in PASSES if not each.plain)


def compare(name: str, bench: Bench, result: Reduction, tmp_path: Path) -> None:
    steps = [
        f"round {e.round}, {e.pass_name}, {e.tries} tries: {e.program.size.tokens} tokens"
        for e in bench.events
        if e.kind == "accepted"
    ]
    cost = f"{result.cost.tries} tries, {result.cost.rounds} rounds"
    course = "\n".join([*steps, cost, "", result.program.text.strip(), ""])
    new = tmp_path / f"{name}.txt"
    new.write_text(course)
    assert course == (COURSES / f"{name}.txt").read_text(), f"the new course: {new}"

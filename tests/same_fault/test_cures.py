"""Cures: which edits each kind offers, and what a guard makes of a step that none of them mends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.oracle import spec
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.verdict import Answer
from shrinkray_gpu.runner.knob_settings import KnobSetting
from shrinkray_gpu.runner.run import Compilation, Failure, Launch, Run
from shrinkray_gpu.same_fault import controls
from shrinkray_gpu.same_fault.argument_controls import of_front_end
from shrinkray_gpu.same_fault.controls import ControlOutcome, Controls
from shrinkray_gpu.same_fault.cures import CURES, MOST, refused_line

BY_NAME = {cure.name: cure for cure in CURES}
PARAMETERS = """@triton.jit
def kernel(p, N: int, M: tl.constexpr, *more):
    pass

def host(q):
    pass
"""
KERNEL = """x = tl.load(p + tl.arange(0, 8)[:, None] * (n + 1).to(tl.float32))
y = tl.sum(x, axis=1) + tl.zeros((8,), tl.int32)
z = tl.dot(x, tl.trans(y)) + tl.dot(x.T, y.trans())
z = tl.load(n.to(tl.pointer_type(tl.float16)) + tl.cast(n, tl.pointer_type(tl.float16)))
"""


@pytest.mark.parametrize(
    ("name", "edits"),
    [
        ("without a cast", ["(n + 1) for (n + 1).to(tl.float32)"]),
        ("expanded the other way", ["tl.arange(0, 8)[None, :] for tl.arange(0, 8)[:, None]"]),
        ("along the other axis", ["tl.sum(x, axis=0) for tl.sum(x, axis=1)"]),
        (
            "transposed",
            [
                "tl.dot(x, y.trans()) for tl.dot(x.T, y.trans())",
                "tl.dot(x.T, y) for tl.dot(x.T, y.trans())",
                "tl.dot(tl.trans(x), tl.trans(y)) for tl.dot(x, tl.trans(y))",
                "tl.dot(x, y) for tl.dot(x, tl.trans(y))",
            ],
        ),
        (
            "of the other's type",
            [
                "tl.dot(x.T.to(y.trans().dtype), y.trans()) for tl.dot(x.T, y.trans())",
                "tl.dot(x.T, y.trans().to(x.T.dtype)) for tl.dot(x.T, y.trans())",
                "tl.dot(x.to(tl.trans(y).dtype), tl.trans(y)) for tl.dot(x, tl.trans(y))",
                "tl.dot(x, tl.trans(y).to(x.dtype)) for tl.dot(x, tl.trans(y))",
            ],
        ),
        ("of another extent", ["tl.arange(0, 7) for tl.arange(0, 8)"]),
        (
            "of another type",
            [f"tl.zeros((8,), tl.{other}) for tl.zeros((8,), tl.int32)" for other in ("float32", "int64", "float16")],
        ),
    ],
)
def test_a_kind_of_edit_is_offered_at_each_place_that_it_fits(name: str, edits: list[str]) -> None:
    cured = list(BY_NAME[name].apply(KERNEL))
    assert [each.edit for each in cured] == edits
    for each in cured:
        compile(each.text, name, "exec")
        assert each.text != KERNEL


def test_a_sum_gets_parentheses_before_it_is_cast() -> None:
    edits = [each.edit for each in BY_NAME["of the other's type"].apply("z = tl.dot(x + 1, y[0])\n")]
    assert edits == [f"tl.dot({each}) for tl.dot(x + 1, y[0])" for each in (
        "(x + 1).to(y[0].dtype), y[0]", "x + 1, y[0].to((x + 1).dtype)",
    )]  # fmt: skip


def test_a_type_that_is_taken_from_a_tensor_is_one_of_another_type() -> None:
    text = "peak = tl.full([8], 0.0, q.dtype)\nsum = tl.zeros([8], dtype=out.dtype.element_ty)\n"
    edits = [each.edit for each in BY_NAME["of another type"].apply(text)]
    assert "tl.full([8], 0.0, tl.float32) for tl.full([8], 0.0, q.dtype)" in edits
    assert "tl.zeros([8], dtype=tl.float32) for tl.zeros([8], dtype=out.dtype.element_ty)" in edits
    chosen = "sum = tl.zeros((B,), tl.float16 if HALF else tl.float32)\nmost = tl.full((B,), N, ACC)\n"
    edits = [each.edit for each in BY_NAME["of another type"].apply(chosen)]
    assert "tl.zeros((B,), tl.float32) for tl.zeros((B,), tl.float16 if HALF else tl.float32)" in edits
    assert "tl.full((B,), N, tl.float32) for tl.full((B,), N, ACC)" in edits
    assert not any("full((B,), tl" in each for each in edits)


def test_a_parameter_of_a_kernel_becomes_a_constexpr() -> None:
    edits = [each.edit for each in BY_NAME["a constexpr"].apply("import triton\n" + PARAMETERS)]
    assert edits == ["N: 'constexpr' for N: int", "p: 'constexpr' for p"]


def test_a_number_that_a_variable_of_a_kernel_begins_with_is_another_one() -> None:
    text = """n = 0
n = 1
@triton.jit
def kernel(p):
    total = 0
    peak, low = 0, 0.0
    low = 0.5
    d = 1.0
    only = 0
    for i in range(2):
        total += tl.load(p, other=0, mask=True)
        d = d * 2
        low = 2.
"""
    edits = [each.edit for each in BY_NAME["begun with another number"].apply(text)]
    assert edits == ["low = 2 for low = 2.", "d = 1 for d = 1.0", "total = 0.0 for total = 0"]


def test_the_last_places_come_first_and_there_are_not_too_many() -> None:
    text = "".join(f"y = x{at}.to(tl.float32)\n" for at in range(2 * MOST))
    found = [each.edit.split()[0] for each in BY_NAME["without a cast"].apply(text)]
    assert found == [f"x{2 * MOST - 1 - at}" for at in range(MOST)]


def test_the_places_before_the_line_that_is_refused_come_first() -> None:
    text = "".join(f"y{at} = x{at}.to(tl.float32)\n" for at in range(10, 10 + 2 * MOST))
    message = "at 3:9:\ndef kernel(x):\n    y11 = x11.to(tl.float32)\n    y12 = x12.to(tl.float32)\n         ^"
    run = Run("virtual", 1, compiles=(Compilation("kernel", "", failure=Failure("CompilationError", message)),))
    found = [each.edit.split()[0] for each in BY_NAME["without a cast"].apply(text, refused_line(run))]
    assert found[:4] == ["x12", "x11", "x10", f"x{9 + 2 * MOST}"] and len(found) == MOST


REFUSED = Run(
    "virtual", 1, failure=Failure("triton.CompilationError", "invalid operands"),
    compiles=(Compilation("k", "", failure=Failure("triton.CompilationError", "invalid operands")),), virtual=True,
)  # fmt: skip
HEALTHY = Run("virtual", 0, compiles=(Compilation("k", "1"),), launches=(Launch("k", "1", (1,)),), virtual=True)


def guard(text: str, healthy: str) -> controls.Verdict:
    """What the cure by a cast left out says of a step, where a program is healthy that has these words."""

    def run(source: str, way: KnobSetting) -> Run:
        return HEALTHY if healthy in source else REFUSED

    oracle = spec.parse("compile:invalid operands", folder=Path()).calibrate(REFUSED)
    [cast, *_] = of_front_end(Fault("compile", "CompilationError"))
    return Controls(run, oracle, reference=REFUSED).guard(text, [cast])


def test_a_step_that_the_edit_mends_stands_and_any_other_is_another_cause() -> None:
    assert guard("p + x.to(tl.float32)\n", "p + x\n").faults
    assert guard("p + 0.0\n", "p + x\n").answer is Answer.PASSES
    assert "nothing in it can be without a cast" in guard("p + 0.0\n", "p + x\n").why
    assert guard("p + 0.0 + x.to(tl.float32)\n", "p + x\n").answer is Answer.PASSES  # a second defect


def test_a_program_that_is_compiled_for_long_is_mended() -> None:
    """On an H200 no control was left for a product of types that do not match: mended, it took ten seconds more."""
    slow = Run("fork", None, timed_out=True, seconds=3.0)
    [cast, *_] = of_front_end(Fault("compile", "CompilationError"))
    oracle = spec.parse("compile:invalid operands", folder=Path()).calibrate(REFUSED)
    trying = Controls(lambda text, way: slow if "p + x\n" in text else REFUSED, oracle, reference=REFUSED)
    tried = trying.attempt(cast, "p + x.to(tl.float32)\n")
    assert tried.outcome is ControlOutcome.PASSES and "past the front end" in tried.why
    assert trying.guard("p + 0.0\n", [cast]).answer is Answer.PASSES
    died = replace(slow, trouble="its lane died")
    trying = Controls(lambda text, way: died if "p + x\n" in text else REFUSED, oracle, reference=REFUSED)
    assert trying.attempt(cast, "p + x.to(tl.float32)\n").outcome is ControlOutcome.NOT_APPLICABLE


def test_only_errors_of_the_front_end_have_cures() -> None:
    assert of_front_end(Fault("compile", "SIGABRT")) == ()
    assert of_front_end(Fault("device", "an illegal memory access was encountered", code=700)) == ()


def test_a_program_that_nothing_mends_has_no_such_control() -> None:
    [cast, *_] = of_front_end(Fault("compile", "CompilationError"))
    oracle = spec.parse("compile:invalid operands", folder=Path()).calibrate(REFUSED)
    tried = Controls(lambda text, way: REFUSED, oracle, reference=REFUSED).attempt(cast, "p + x.to(tl.float32)\n")
    assert tried.outcome is ControlOutcome.NOT_APPLICABLE and tried.known


def test_what_mended_the_step_before_is_tried_first_and_costs_one_run() -> None:
    """Casts near the end come first else, and each takes a run of its own."""
    ran = []

    def run(source: str, way: KnobSetting) -> Run:
        ran.append(source)
        return HEALTHY if "p + x\n" in source else REFUSED

    oracle = spec.parse("compile:invalid operands", folder=Path()).calibrate(REFUSED)
    [cast, *_] = of_front_end(Fault("compile", "CompilationError"))
    guard = Controls(run, oracle, reference=REFUSED)
    others = "".join(f"y{number}.to(tl.float16)\n" for number in range(4))
    assert guard.attempt(cast, "p + x.to(tl.float32)\n" + others).outcome is ControlOutcome.PASSES
    assert len(ran) == 6  # as it is, and five places
    ran.clear()
    assert guard.attempt(cast, "q\np + x.to(tl.float32)\n" + others).outcome is ControlOutcome.PASSES
    assert len(ran) == 1
    more = "p + x.to(tl.float32)\n" + others * MOST
    assert guard.attempt(cast, more).outcome is ControlOutcome.PASSES  # though it is no longer among the first
    elsewhere = guard.attempt(cast, "p + (x).to(tl.float32)\n")
    assert elsewhere.outcome is ControlOutcome.NOT_APPLICABLE, "another edit is tried all the same"

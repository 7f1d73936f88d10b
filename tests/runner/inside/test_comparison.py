"""The check that a script fails: which kernels its values come from, through torch, Python and NumPy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from shrinkray_gpu.runner.inside.compare.comparison import AGAINST, GOES_ON, KINDS, SAVE, UNSTEADY
from tests.runner.inside.forked import forked
from tests.runner.inside.test_watchers import candidate, run

SCRIPT = """\
import torch, triton, triton.language as tl

@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

def twice(x):
    out = torch.zeros_like(x)
    rows[(1,)](x, out, x.numel(), BLOCK=16)
    return out

x = torch.randn(12)
actual, expected = twice(x), x * 3
"""


def checked(folder: Path, check: str, *wants: str, script: str = SCRIPT, **asked: Any) -> dict[str, Any]:
    """The report on the script with this check at its end."""

    def work() -> dict[str, Any]:
        os.environ["TRITON_INTERPRET"] = "1"
        return run(
            candidate(folder, source=script + check + "\n", wants=wants or (SAVE + str(folder / "kept"),), **asked)
        )

    return forked(folder, work)


CHECKS = {
    "assert_close": "torch.testing.assert_close(actual, expected)",
    "allclose": "assert torch.allclose(expected, actual)",
    "equal": "if not torch.equal(actual, expected): raise ValueError('mismatch')",
    "distance": "assert (actual - expected).abs().max() < 1e-3",
    "relative": "assert ((actual.double() - expected).norm() / expected.norm()).item() < 1e-3",
    "view": "assert torch.allclose(actual.view(3, 4)[1:].T.contiguous(), expected.view(3, 4)[1:].T)",
    "in place": "actual.add_(1)\nassert torch.allclose(actual, expected + 1)",
    "backward": "w = x.clone().requires_grad_()\n(w * actual).sum().backward()\nassert w.grad.allclose(expected)",
    "element": "assert abs(actual[3] - expected[3]) < 1e-3",
    "exit": "if (actual - expected).abs().max().item() > 1e-3:\n    print('mismatch')\n    raise SystemExit(1)",
    "unittest": "import unittest\nunittest.TestCase().assertTrue(torch.allclose(actual, expected))",
    "numpy": "import numpy\nnumpy.testing.assert_allclose(actual.numpy(), expected.numpy())",
    "numpy's copy": "import numpy\nassert numpy.allclose(actual.numpy().copy(), x.numpy() * 3)",
    "numpy, by keyword": "import numpy\nnumpy.testing.assert_allclose(desired=expected.numpy(), actual=actual.numpy())",
    "half by keyword": "import numpy\nassert numpy.allclose(actual.numpy(), rtol=1e-3, b=expected.numpy())",
    "tensors to numpy": "import numpy\nnumpy.testing.assert_allclose(actual, expected)",
    "numpy by hand": "import numpy\nassert numpy.abs(actual.numpy() - expected.numpy()).max() < 1e-3",
    "lists": "assert actual.tolist() == expected.tolist()",
}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_both_sides_are_found(tmp_path: Path, check: str) -> None:
    report = checked(tmp_path, check)
    assert report["exit"] == 1 and report["trouble"] == ""
    seen = report["comparison"]
    assert (seen["kernels"], seen["others"], seen["alone"]) == (["rows"], [], False), seen
    assert seen["kind"] == "wrong" and 0 < seen["elements"] == seen["total"] and seen["trouble"] == ""


def test_a_scalar_is_held_against_a_quotient(tmp_path: Path) -> None:
    """Of numbers, torch.testing reads the values for its message: those of the reference alone as well."""
    seen = checked(tmp_path, "torch.testing.assert_close(actual.sum(), x.sum() / (x * x).sum())")["comparison"]
    assert (seen["kernels"], seen["others"], seen["alone"]) == (["rows"], [], False), seen


@pytest.mark.parametrize("assert_close", ["torch.testing.assert_close", "numpy.testing.assert_allclose"])
def test_what_a_later_check_lets_pass_is_not_what_failed(tmp_path: Path, assert_close: str) -> None:
    """As in unittest, which goes on with the tests behind the one that fails."""
    check = f"""import numpy
try:
    {assert_close}(actual, expected)
except AssertionError as error:
    failed = error
for _ in range(5):
    {assert_close}(actual, x * 2 * (1 + 1e-7), rtol=1e-3, atol=1e-3)
raise failed
"""
    seen = checked(tmp_path, check)["comparison"]
    assert seen["kernels"] == ["rows"] and seen["largest"] > 0.1, seen


IN_PLACE = {
    "p.requires_grad_()\nrows[(1,)](p, p, 12, BLOCK=16)": "x of rows",
    "p.requires_grad_()\nrows[(1,)](x, p.view(3, 4), 12, BLOCK=16)": "out of rows",
    "p.requires_grad_()\nq = torch.zeros(12)\nrows[(1,)](p, q, 12, BLOCK=16)": "",
    "rows[(1,)](x, p, 12, BLOCK=16)": "",
    "p.requires_grad_()\nrows[(1,)](x, p.detach(), 12, BLOCK=16)": "",
    "p.requires_grad_()\nrows[(1,)](x, p.data, 12, BLOCK=16)": "",
    "p.requires_grad_()\nrows[(1,)](x, p * 1, 12, BLOCK=16)": "",
    "p.requires_grad_()\nwith torch.no_grad():\n    rows[(1,)](x, p, 12, BLOCK=16)": "",
    "p.requires_grad_()\nwith torch.inference_mode():\n    rows[(1,)](x, p, 12, BLOCK=16)": "",
    "p.requires_grad_()\ntorch.set_grad_enabled(False)\nrows[(1,)](x, p, 12, BLOCK=16)": "",
}


@pytest.mark.parametrize(("launch", "refused"), IN_PLACE.items(), ids=range(len(IN_PLACE)))
def test_a_kernel_that_writes_where_torch_would_not(tmp_path: Path, launch: str, refused: str) -> None:
    """With the bug mended, such a script may fail of that."""
    seen = checked(tmp_path, f"p = torch.ones(12)\n{launch}\nassert torch.allclose(actual, expected)")["comparison"]
    assert seen["refused"] == refused and seen["kind"] == "wrong"


TOLERANCES = {
    "torch.testing.assert_close(actual, expected, rtol=0, atol=1e-3)": [0, 1e-3],
    "torch.testing.assert_close(actual, expected)": [1.3e-6, 1e-5],
    "assert torch.allclose(actual, expected, 1e-4)": [1e-4, 1e-8],
    "assert expected.isclose(actual, atol=0.5).all()": [1e-5, 0.5],
    "import numpy\nnumpy.testing.assert_allclose(actual, expected, atol=1e-3)": [1e-7, 1e-3],
    "import numpy\nassert numpy.allclose(actual.numpy(), expected, 1e-2)": [1e-2, 1e-8],
    "import numpy\nnumpy.testing.assert_array_almost_equal(actual, expected, decimal=3)": [0, 1.5e-3],
    "assert (actual - expected).abs().max() < 1e-3": [],
    "assert torch.equal(actual, expected)": [],
    "torch.allclose(actual, expected)\nassert (actual - expected).abs().max() < 1e-3": [],
}


@pytest.mark.parametrize(("check", "tolerance"), TOLERANCES.items(), ids=range(len(TOLERANCES)))
def test_what_a_check_lets_pass(tmp_path: Path, check: str, tolerance: list[float]) -> None:
    assert checked(tmp_path, check)["comparison"]["tolerance"] == pytest.approx(tolerance)


@pytest.mark.parametrize("check", ["assert not actual.isnan().any()", "assert actual.sum() == 8.0"])
def test_one_side_alone(tmp_path: Path, check: str) -> None:
    seen = checked(tmp_path, check, script=SCRIPT.replace("* 2", "* float('nan')"))["comparison"]
    assert (seen["kernels"], seen["alone"]) == (["rows"], True), seen


def test_two_kernels_and_the_kernels_before_them(tmp_path: Path) -> None:
    seen = checked(tmp_path, "assert torch.allclose(twice(twice(x)), actual)")["comparison"]
    assert (seen["kernels"], seen["others"], seen["alone"]) == (["rows"], ["rows"], False), seen


@pytest.mark.parametrize(
    ("made", "instead"),
    [
        ("x * 3", "(x - x.flip(0)) * 3"),
        ("= twice(x)", "= twice(x - x.flip(0))"),
        ("twice(x), x * 3", "twice(x / (x + 2)), (x - x.flip(0)) / (x + 4)"),
    ],
    ids=["the reference", "what the kernel is given", "both"],
)
@pytest.mark.parametrize("check", ["torch.testing.assert_close(actual, expected)", CHECKS["exit"], CHECKS["relative"]])
def test_what_a_program_subtracts_on_its_way_is_no_distance(
    tmp_path: Path, made: str, instead: str, check: str
) -> None:
    seen = checked(tmp_path, check, script=SCRIPT.replace(made, instead))["comparison"]
    assert (seen["kernels"], seen["others"], seen["alone"]) == (["rows"], [], False), seen


def test_what_a_kernel_makes_of_a_difference_is_looked_at(tmp_path: Path) -> None:
    script = SCRIPT.replace("= twice(x)", "= twice(x - x.flip(0))").replace("* 2", "* float('nan')")
    seen = checked(tmp_path, "assert actual.sum() == 8.0", script=script)["comparison"]
    assert (seen["kernels"], seen["alone"]) == (["rows"], True), seen


def test_a_new_tensor_has_nothing_of_one_that_is_gone(tmp_path: Path) -> None:
    """A tensor of Python's numbers is made by no operation, in memory that a distance may have had."""
    gone = "far = actual - expected\ndel far\nnumbers = torch.tensor([0.5] * 12)\nassert torch.equal(actual, numbers)"
    seen = checked(tmp_path, gone)["comparison"]
    assert (seen["operation"], seen["kernels"], seen["others"]) == ("equal", ["rows"], []), seen


SLOPES = SCRIPT.replace(
    "def twice",
    """\
@triton.jit
def slopes(grad, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(grad + at, mask=at < n) * 5, mask=at < n)

def slope(grad):
    out = torch.zeros_like(grad)
    slopes[(1,)](grad, out, grad.numel(), BLOCK=16)
    return out

def twice""",
)
INNER = {
    "a reference that counts what differs": "wanted = ((actual - x).abs() > 1e-6) * 2.0\ngrad = slope(torch.ones(12))",
    "a loss": "wanted = (expected - x) * 6\ngrad = slope(actual - expected)",
    "a part": "wanted = x * 6\ngrad = slope(x) * ((actual - expected).abs() > 1e-9)",
}
OUTER = ("assert not ((grad - wanted).abs() > 1e-3).sum()", "assert not ((wanted - grad).abs() > 1e-3).any()")


@pytest.mark.parametrize("check", [*OUTER, "assert grad.tolist() == wanted.tolist()"])
@pytest.mark.parametrize("inner", INNER.values(), ids=INNER)
def test_a_comparison_inside_the_one_that_fails_is_not_taken_for_it(tmp_path: Path, inner: str, check: str) -> None:
    script = SLOPES + inner + "\n"
    kept = str(tmp_path / "kept")
    seen = checked(tmp_path, check, SAVE + kept, script=script)["comparison"]
    assert seen["kernels"][-1] == "slopes" and not seen["alone"], seen
    for before, after, what in (("* 5", "* 4", "actual"), ("* 2.0", "* 2.5", "expected"), ("* 6", "* 7", "expected")):
        if before in script:
            told = checked(tmp_path, check, AGAINST + kept, script=script.replace(before, after))["comparison"]
            assert what in told["moved"], (before, told)


def test_what_a_kernel_makes_of_a_distance_is_a_value(tmp_path: Path) -> None:
    seen = checked(tmp_path, "assert slope(actual - expected).sum() == 8.0", script=SLOPES)["comparison"]
    assert (seen["kernels"], seen["alone"]) == (["rows", "slopes"], True), seen


@pytest.mark.parametrize("other", ["actual.abs()", "torch.full((12,), 0.5)", "(expected - x).abs()"])
def test_what_a_distance_may_be_is_no_side(tmp_path: Path, other: str) -> None:
    seen = checked(tmp_path, f"assert ((actual - expected).abs() <= 1e-3 * {other}).all()")["comparison"]
    assert (seen["operation"], seen["kernels"], seen["others"]) == ("sub", ["rows"], []), seen


def test_where_no_kernel_takes_part(tmp_path: Path) -> None:
    seen = checked(tmp_path, "assert torch.allclose(x, expected)")["comparison"]
    assert seen["operation"] == "allclose" and seen["kernels"] == []
    seen = checked(tmp_path, "assert actual.shape == (3,)")["comparison"]
    assert seen["operation"] == "" and seen["kernels"] == []


def test_what_python_made_of_values_is_not_told_to_come_from_no_kernel(tmp_path: Path) -> None:
    seen = checked(tmp_path, "y = torch.tensor([2 * v for v in actual.tolist()])\nassert torch.allclose(y, expected)")
    assert seen["comparison"]["operation"] in ("", "values"), seen["comparison"]


def moved(folder: Path, before: str, after: str, check: str = "assert torch.allclose(actual, expected)") -> str:
    """In what the check of the changed script is another than that of the script."""
    kept = str(folder / "kept")
    assert checked(folder, check, SAVE + kept)["comparison"]["moved"] == {}
    assert before in SCRIPT + check
    script = SCRIPT.replace(before, after)
    seen = checked(folder, check.replace(before, after), AGAINST + kept, script=script)
    return next(iter(seen["comparison"]["moved"].values()), "")


def test_either_side_that_becomes_another_is_told(tmp_path: Path) -> None:
    assert moved(tmp_path, "* 2,", "* 2 + 0,") == ""
    assert moved(tmp_path, "* 2,", "* 2.5,").startswith("the actual values are others, by up to ")
    assert moved(tmp_path, "x * 3", "x * 4").startswith("the expected values are others, by up to ")
    assert moved(tmp_path, "x * 3", "x + x + x") == ""
    assert (
        moved(tmp_path, "randn(12)", "randn(11)")
        == "the actual values are float32 of 11 elements instead of float32 of 12 elements"
    )


def test_no_side_moves_by_more_than_the_check_lets_pass(tmp_path: Path) -> None:
    """A reference that has lost `approximate="tanh"` would fail the check with the bug mended."""
    within, beyond = "x * 3 + 4e-4", "x * 3 + 2e-3"
    loose, tight = (f"assert torch.allclose(actual, expected, rtol=0, atol={atol})" for atol in ("1e-2", "1e-3"))
    for after, check, is_held in ((within, tight, False), (beyond, loose, False), (beyond, tight, True)):
        why = moved(tmp_path, "x * 3", after, check)
        assert why.startswith("the expected values are others") is is_held, (after, check, why)


def test_zero_by_zero_is_another_value(tmp_path: Path) -> None:
    assert moved(tmp_path, "x * 3", "x * 3 + (x - x) / (x - x)").startswith("the expected values are others")
    assert moved(tmp_path, "* 2,", "* 2 + tl.log(0.0 * tl.load(x + at)),").startswith("the actual values are others")


TABLE = SCRIPT.replace("x, out, n, BLOCK", "x, rates, out, n, BLOCK")
TABLE = TABLE.replace("mask=at < n) * 2", "mask=at < n) * tl.load(rates + at, mask=at < n)")
TABLE = TABLE.replace("(x, out,", "(x, rates, out,")
TABLE = TABLE.replace("x = torch", "rates = torch.tensor([2.0, 1.0] * 7)\nx = torch")
ROWS = "assert torch.allclose(actual[::2], expected[::2])"


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("[2.0, 1.0] * 7", "[2.0] * 14", "rates"),
        ("[2.0, 1.0] * 7", "[2.0] * 13", "rates"),
        ("[2.0, 1.0] * 7", "[2.0 + 0, 1.0] * 7", ""),
        ("[2.0, 1.0] * 7", "[2.0, 1.0] * 6", ""),
        ("x = torch.randn(12)", "x = torch.randn(12)\nx[1] = 0", "x"),
        ("rates", "factors", ""),
    ],
)
def test_what_the_check_does_not_see_of_the_inputs_stays(tmp_path: Path, before: str, after: str, why: str) -> None:
    kept = str(tmp_path / "kept")
    assert checked(tmp_path, ROWS, SAVE + kept, script=TABLE)["comparison"]["moved"] == {}
    assert before in TABLE
    seen = checked(tmp_path, ROWS, AGAINST + kept, script=TABLE.replace(before, after))["comparison"]["moved"]
    assert seen == ({"input": f"the launch is given other values as {why}"} if why else {})


def test_a_kernel_that_gets_these_values_alone_is_another_one(tmp_path: Path) -> None:
    script = SCRIPT.replace("tl.load(x + at, mask=at < n) * 2", "tl.maximum(tl.load(x + at, mask=at < n) * 2, 0.0)")
    script = script.replace("x = torch.randn(12)", "x = -torch.rand(12)").replace("zeros_like", "empty_like")
    check, kept = "assert torch.allclose(actual, expected)", str(tmp_path / "kept")
    assert checked(tmp_path, check, SAVE + kept, script=script)["comparison"]["moved"] == {}
    for before, after, why in (
        ("* 2, 0.0", "+ 0 + tl.load(x + at, mask=at < n), 0.0", ""),
        ("* 2, 0.0", "* 3, 0.0", "its kernel makes something else of other values"),
        ("* 2, 0.0", "* 0, 0.0", "its kernel makes something else of other values"),
    ):
        assert before in script
        changed, told = script.replace(before, after), {"output": why} if why else {}
        assert checked(tmp_path, check, AGAINST + kept, script=changed)["comparison"]["moved"] == told, after


@pytest.mark.parametrize("hidden", ["* 2 + (n // 12 - 1)", "* 2 + tl.minimum(tl.load(x + at, mask=at < n) + 9, 0.0)"])
def test_what_these_sizes_and_values_hide_shows_at_others(tmp_path: Path, hidden: str) -> None:
    script = SCRIPT.replace("* 2", hidden)
    check, kept = "assert torch.allclose(actual, expected)", str(tmp_path / "kept")
    assert checked(tmp_path, check, SAVE + kept, KINDS + "part probe", script=script)["comparison"]["moved"] == {}
    assert checked(tmp_path, check, AGAINST + kept, script=script)["comparison"]["moved"] == {}
    seen = checked(tmp_path, check, AGAINST + kept, script=SCRIPT)["comparison"]["moved"]
    assert seen == {"probe": "its kernel makes something else of negative values at other sizes"}


TILES = SCRIPT.replace("at = tl.arange(0, BLOCK)", "at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)")


@pytest.mark.parametrize("programs", [2, 3, 4])
def test_who_writes_what_shows_where_some_programs_do_not_run(tmp_path: Path, programs: int) -> None:
    script = TILES.replace("rows[(1,)]", f"rows[({programs},)]").replace("BLOCK=16", "BLOCK=4")
    script = script.replace("randn(12)", f"randn({4 * programs})")
    check, kept = "assert torch.allclose(actual, expected)", str(tmp_path / "kept")
    assert checked(tmp_path, check, SAVE + kept, KINDS + "part probe", script=script)["comparison"]["moved"] == {}
    assert checked(tmp_path, check, AGAINST + kept, script=script)["comparison"]["moved"] == {}
    turned = script.replace("tl.program_id(0)", f"({programs - 1} - tl.program_id(0))")
    seen = checked(tmp_path, check, AGAINST + kept, script=turned)["comparison"]["moved"]
    assert seen == {"part": "other elements are written by other programs of its kernel"}
    # A side that is no more the same: the rest is asked all the same where that is no news.
    drawn = turned.replace("x * 3", "x * 4")
    assert "part" not in checked(tmp_path, check, AGAINST + kept, script=drawn)["comparison"]["moved"]
    unsteady = UNSTEADY + "actual expected"
    assert "part" in checked(tmp_path, check, AGAINST + kept, unsteady, script=drawn)["comparison"]["moved"]


def test_another_grid_is_not_held_to_its_part(tmp_path: Path) -> None:
    """An autotuner may find another block the best one."""
    script = TILES.replace("rows[(1,)]", "rows[(6,)]").replace("BLOCK=16", "BLOCK=2")
    check, kept = "assert torch.allclose(actual, expected)", str(tmp_path / "kept")
    assert checked(tmp_path, check, SAVE + kept, KINDS + "part", script=script)["comparison"]["moved"] == {}
    other = script.replace("rows[(6,)]", "rows[(3,)]").replace("BLOCK=2", "BLOCK=4")
    assert checked(tmp_path, check, AGAINST + kept, script=other)["comparison"]["moved"] == {}


def test_at_smaller_sizes_a_kernel_may_index_further_than_it_did(tmp_path: Path) -> None:
    script = TILES.replace("tl.program_id(0) * BLOCK", "tl.program_id(0) // n * 13 + tl.program_id(0) % n * 4")
    script = script.replace("rows[(1,)](x, out, x.numel(), BLOCK=16)", "rows[(10,)](x, out, 5, BLOCK=4)")
    script = script.replace("mask=at < n", "mask=at < 33").replace("randn(12)", "randn(33)")
    check, kept = "assert torch.allclose(actual, expected)", str(tmp_path / "kept")
    first = checked(tmp_path, check, SAVE + kept, KINDS + "part probe", script=script)
    assert first["failure"]["type"] == "AssertionError"
    assert checked(tmp_path, check, AGAINST + kept, script=script)["comparison"]["moved"] == {}


def test_a_draw_less_changes_no_other(tmp_path: Path) -> None:
    assert moved(tmp_path, "x = torch", "y = torch.rand(7)\nx = torch") == ""
    assert moved(tmp_path, "x = torch", "torch.randn(12)\nx = torch").startswith("the actual values are others")


def test_what_is_drawn_after_the_same_seed_is_the_same(tmp_path: Path) -> None:
    """Of two models that are made alike, one is what the other is held against."""
    drawn = "{}\none = torch.randn(12)\n{}\nassert torch.equal(one, torch.randn(12))"
    seed = "torch.manual_seed({})"
    assert checked(tmp_path, drawn.format(seed.format(3), seed.format(3)))["exit"] == 0
    for again in ("", seed.format(4)):
        assert checked(tmp_path, drawn.format(seed.format(3), again))["exit"] == 1
    assert moved(tmp_path, "x = torch", "torch.manual_seed(3)\nx = torch") == ""


def test_a_case_draws_the_same_without_those_before_it(tmp_path: Path) -> None:
    by_numpy = "import numpy\nnumpy.testing.assert_allclose(actual, x * 2)"
    for passes in ("assert torch.allclose(actual, x * 2)", by_numpy):
        case = f"x = torch.randn(12)\nactual, expected = twice(x), x * 3\n{passes}\n"
        assert SCRIPT.endswith("x = torch.randn(12)\nactual, expected = twice(x), x * 3\n")
        check = f"{passes}\n{case}assert torch.allclose(actual, expected)"
        assert moved(tmp_path, f"{passes}\n{case}", "", check) == "", passes


def test_a_result_of_the_case_before_is_stale_only_where_draws_go_on(tmp_path: Path) -> None:
    stale = "import functools\ntwice_kept = functools.lru_cache(lambda shape: twice(x))\n"
    case = "x = torch.randn(12)\nassert torch.allclose(twice_kept(x.shape), x * 2)\n"
    stale = stale.replace("import functools", "import functools\nassert torch.allclose(actual, x * 2)")
    assert checked(tmp_path, stale + case + case)["exit"] == 0
    report = checked(tmp_path, stale + case + case, SAVE + str(tmp_path / "kept"), GOES_ON)
    assert report["exit"] == 1 and report["comparison"]["kernels"] == ["rows"]


def test_a_side_may_be_rounded_otherwise(tmp_path: Path) -> None:
    script = SCRIPT.replace("torch.randn(12)", "torch.full((12,), 20.0).half()").replace("* 2,", "* 3.1,")
    check, kept = "assert torch.allclose(actual, expected)", str(tmp_path / "kept")
    assert checked(tmp_path, check, SAVE + kept, script=script)["comparison"]["kind"] == "wrong"
    for steps, why in ((1, ""), (3, "the expected values are others, by up to 0.0938")):
        rounded = script.replace("x * 3\n", f"(x * 3).view(torch.int16).add({steps}).view(torch.float16)\n")
        assert rounded != script
        told = {"expected": why} if why else {}
        assert checked(tmp_path, check, AGAINST + kept, script=rounded)["comparison"]["moved"] == told


NEARER = ("assert_close", "allclose", "distance", "relative", "numpy", "numpy's copy", "numpy by hand", "backward")


@pytest.mark.parametrize("check", NEARER)
def test_the_two_sides_are_brought_nearer(tmp_path: Path, check: str) -> None:
    for fraction, exit in (("1e-8", 0), ("0.5", 1)):
        report = checked(tmp_path, CHECKS[check], knobs={"apart": fraction})
        assert (report["exit"], report["turned"]["apart"] > 0) == (exit, True), report
    assert report["comparison"]["kernels"] == ["rows"], "what the kernel wrote is told, not what was made of it"


def test_a_check_that_is_stricter_fails_though_the_sides_are_near(tmp_path: Path) -> None:
    loose, strict = (f"assert torch.allclose(actual, expected, rtol={rtol}, atol=0)" for rtol in ("1e-2", "1e-6"))
    ends = [checked(tmp_path, check, knobs={"apart": "0.001"})["exit"] for check in (loose, strict)]
    assert ends == [0, 1]

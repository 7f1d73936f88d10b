"""What the observer makes of two runs of one program, in Triton's interpreter: it launches kernels without a GPU.

Each run is a forked child, as in a lane; what differs between the two is an environment variable, which stands for a
knob, or what the program draws from the operating system.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.runner.inside.compare import disagreement, launch_outputs
from shrinkray_gpu.runner.inside.compare.ring import Ring
from shrinkray_gpu.runner.inside.process import script
from tests.runner.inside.forked import forked

Report = dict[str, Any]
Play = Callable[..., Report]

HEAD = """
import os, random
import torch
import triton
import triton.language as tl

turned = int(os.environ.get("TURNED", "0"))
"""
SCALE = (
    HEAD
    + """
@triton.jit
def scale(x_ptr, out_ptr, n, EXTRA: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x * 2 + tl.where(i < 3, EXTRA, 0.0), mask=i < n)
"""
)


@pytest.fixture(scope="module")
def libraries() -> None:
    """Imported before the forks, with one thread: a child's first parallel operation would hang after one here."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    pytest.importorskip("triton")


@pytest.fixture
def play(libraries: None, tmp_path: Path) -> Play:
    """play(source): the plain run, then the turned one; what the second tells. `knobs` are those it was told of."""

    def once(source: str, save: str, against: str, env: dict[str, str], knobs: dict[str, str], room: int) -> Report:
        def work() -> Report:
            os.environ.update({"TRITON_INTERPRET": "1", **env})
            observer = launch_outputs.Observer(save, against, knobs, room)
            status, failure, _ = script.perform(source, str(tmp_path / "script.py"), [])
            return {**observer.end(), "exit": status, "failure": failure}

        return forked(tmp_path, work)

    def run(
        source: str,
        *,
        turned: dict[str, str] | None = None,
        knobs: dict[str, str] | None = None,
        room: int = 1 << 20,
    ) -> Report:
        file = str(tmp_path / "outputs")
        first = once(source, file, "", {}, {}, room)
        if first["incomparable"]:
            return first
        return once(source, "", file, {"TURNED": "1"} if turned is None else turned, knobs or {}, room)

    return run


def found(report: Report) -> list[tuple[Any, ...]]:
    names = ("launch", "kernel", "argument", "kind", "elements", "total")
    assert not report["incomparable"], report
    return [tuple(each[name] for name in names) for each in report["differences"]]


def test_the_same_twice_is_agreement(play: Play) -> None:
    report = play(SCALE + "x = torch.randn(100)\nscale[(1,)](x, torch.empty(100), 100, 1.0, 128)\n")
    assert found(report) == []


def test_elements_that_a_knob_changes(play: Play) -> None:
    report = play(SCALE + "scale[(1,)](torch.ones(100), torch.empty(100), 100, EXTRA=1.0 * turned, BLOCK=128)\n")
    assert found(report) == [(0, "scale", "out_ptr", "wrong", 3, 100)]
    assert report["differences"][0]["largest"] == 1.0


KINDS = {"float('nan')": "nan", "float('inf')": "nan", "1e-5": "tolerance", "0.5": "wrong"}


@pytest.mark.parametrize("extra", KINDS)
def test_the_kind(play: Play, extra: str) -> None:
    report = play(
        SCALE + f"scale[(1,)](torch.ones(9), torch.empty(9), 9, EXTRA={extra} if turned else 0.0, BLOCK=16)\n"
    )
    assert found(report) == [(0, "scale", "out_ptr", KINDS[extra], 3, 9)]


def test_only_the_first_launch_that_differs_is_told(play: Play) -> None:
    report = play(
        SCALE
        + "a, b, c = torch.ones(9), torch.empty(9), torch.empty(9)\n"
        + "scale[(1,)](a, c, 9, 0.0, 16)\n"
        + "scale[(1,)](a, b, 9, 1.0 * turned, 16)\n"
        + "scale[(1,)](b, c, 9, 0.0, 16)\n"
    )
    assert found(report) == [(1, "scale", "out_ptr", "wrong", 3, 9)]


def test_rounding_does_not_hide_what_is_wrong_later(play: Play) -> None:
    report = play(
        SCALE
        + "a, b = torch.ones(9), torch.empty(9)\n"
        + "scale[(1,)](a, b, 9, 1e-6 * turned, 16)\n"
        + "scale[(1,)](b.relu(), a, 9, 1.0 * turned, 16)\n"
    )
    assert [(each[0], each[3]) for each in found(report)] == [(0, "tolerance"), (1, "wrong")]


def test_memory_that_nobody_wrote_is_the_same_in_all_runs(play: Play) -> None:
    """The lure: `out.zero_()` was dropped, and what is added to is what another tensor left there."""
    report = play(
        SCALE
        + "old = [torch.full((1000,), float(turned + n)) for n in range(20)]\ndel old\n"
        + "places = [torch.empty(1000), torch.empty_like(torch.ones(1000)), torch.ones(3).new_empty(1000)]\n"
        + "places += [torch.empty_strided((10, 100), (100, 1)), torch.ones(2, dtype=torch.half).new_empty(1000)]\n"
        + "assert all(place.isnan().all() for place in places)\n"
        + "assert (torch.empty(5, dtype=torch.int32) == -1).all() and torch.empty(5, dtype=torch.bool).all()\n"
        + "for place in places:\n    scale[(1,)](place, torch.zeros(1000), 1000, 0.0, 1024)\n"
    )
    assert (found(report), report["failure"]) == ([], None)


def test_what_is_drawn_by_chance_is_the_same_in_all_runs(play: Play) -> None:
    report = play(
        SCALE
        + "import numpy\n"
        + "x = torch.randn(9) + random.random() + numpy.random.rand() + numpy.random.default_rng().random()\n"
        + "scale[(1,)](x, torch.empty(9), 9, 0.0, 16)\n"
    )
    assert found(report) == []


DRAWN = "int.from_bytes(os.urandom(3), 'big')"

ASTRAY = {
    f"scale[(1,)](torch.ones(9) * {DRAWN}, torch.empty(9), 9, 0.0, 16)": "x_ptr of launch 0 .* something else",
    f"scale[(1,)](torch.ones(9), torch.empty(9 + {DRAWN}), 9, 0.0, 16)": "out_ptr of launch 0 .* in the other",
    f"scale[(1,)](torch.ones(9), torch.empty(9), -{DRAWN}, 0.0, 16)": "n of launch 0 .* in the other",
    f"scale[(1,)](torch.ones(9), torch.empty(9), 9, 1.0 * {DRAWN}, 16)": "EXTRA of launch 0 .* in the other",
    "for _ in range(1 + 2 * turned):\n    scale[(1,)](torch.ones(9), torch.empty(9), 9, 0.0, 16)": "makes 1 .* other 3",
    "x = torch.ones(9)": "no Triton kernel was launched",
}


@pytest.mark.parametrize("launch", ASTRAY)
def test_where_nothing_can_be_said(play: Play, launch: str) -> None:
    """`TURNED` is left alone but where the program must see it: an environment of its own excuses constexprs."""
    report = play(SCALE + launch + "\n", turned={"TURNED": "1"} if "turned" in launch else {})
    assert report["differences"] == []
    assert re.search(ASTRAY[launch], report["incomparable"]), report


def test_another_kernel_in_the_place(play: Play) -> None:
    other = SCALE.replace("scale(", "other(").partition("@triton.jit")[2]
    report = play(
        SCALE
        + "@triton.jit"
        + other
        + "(other if turned else scale)[(1,)](torch.ones(9), torch.empty(9), 9, 0.0, 16)\n"
    )
    assert report["incomparable"] == "launch 0 is of scale in one run, of other in the other"


def test_a_launch_that_fails_in_one_run_only(play: Play) -> None:
    report = play(SCALE + "scale[(1,)](torch.ones(9), torch.empty(9), 9, 0.0, 12 if turned else 16)\n")
    assert report["incomparable"].startswith("launch 0 (scale) fails in one run only: InterpreterError: ValueError")


RACE = (
    HEAD
    + """
won_by = 0

@triton.jit
def race(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i) + won_by)

won_by = int.from_bytes(os.urandom(3), "big")
race[(1,)](torch.ones(8), torch.zeros(8), 8)
"""
)
"""The interpreter runs a kernel's body as Python, which reads the global at each launch. It stands in for a race: what
comes out depends on chance, inside the kernel, and all that goes in is the same."""


def test_outputs_that_differ_among_equal_runs(play: Play) -> None:
    assert found(play(RACE, turned={})) == [(0, "race", "out_ptr", "wrong", 8, 8)]


def test_a_knob_may_be_a_parameter_of_the_kernel(play: Play) -> None:
    """`num_stages: tl.constexpr` takes its value from the option of that name."""
    source = SCALE.replace("EXTRA", "num_stages")
    launch = f"scale[(1,)](torch.ones(9), torch.zeros(9), 9, {DRAWN}, 16)\n"
    assert "num_stages of launch 0" in play(source + launch, turned={})["incomparable"]
    assert found(play(source + launch, turned={}, knobs={"num_stages": "1"}))[0][2:4] == ("out_ptr", "wrong")


VIEWS = {
    "out, reach = torch.zeros(20)[4:13], 9": "nine elements of a longer one",
    "out, reach = torch.zeros(3, 9).t()[:, 0], 9": "a row",
    "out, reach = torch.zeros(9, 3)[:, 1], 25": "a column, with what lies between",
    "out, reach = torch.zeros(9, 1).expand(9, 1000), 9": "no more than what was expanded",
    "out, reach = torch.zeros(9, requires_grad=True), 9": "a parameter",
    "out, reach = torch.inference_mode()(torch.zeros)(9), 9": "made in inference mode",
}


@pytest.mark.parametrize("view", VIEWS, ids=VIEWS.values())
def test_views(play: Play, view: str) -> None:
    report = play(SCALE + view + "\nscale[(1,)](torch.ones(9), out, 9, 1.0 * turned, 16)\nassert reach\n")
    namespace: dict[str, Any] = {}
    exec("import torch\n" + view, namespace)
    assert found(report) == [(0, "scale", "out_ptr", "wrong", 3, namespace["reach"])]


def test_in_place(play: Play) -> None:
    report = play(SCALE + "x = torch.ones(9)\nscale[(1,)](x, x, 9, 1.0 * turned, 16)\n")
    assert found(report) == [(0, "scale", "x_ptr", "wrong", 3, 9)]


def test_what_found_no_room(play: Play) -> None:
    """A launch copies 4 KB: 5 KB hold the last one alone. That still tells what it does by itself."""
    launches = (
        "ones = torch.ones(250)\n"
        "scale[(1,)](ones, torch.zeros(250), 250, {}, 256)\n"
        "scale[(1,)](ones, torch.zeros(250), 250, {}, 256)\n"
    )
    last = play(SCALE + launches.format("0.0", "1.0 * turned"), room=5000)
    assert found(last) == [(1, "scale", "out_ptr", "wrong", 3, 250)]
    first = play(SCALE + launches.format("1.0 * turned", "0.0"), room=5000)
    assert first["incomparable"] == "the outputs of 1 of 2 launches found no room; the others agree"
    none = play(SCALE + launches.format("0.0", "1.0 * turned"), room=1500)
    assert "of 2 of 2 launches found no room" in none["incomparable"]


BEYOND = {
    "scale[(1,)](torch.ones(4), torch.zeros(16), 16, 0.0, 16)": "reads",
    "scale[(1,)](torch.ones(16), torch.zeros(4), 16, 0.0, 16)": "writes",
    "scale[(1,)](torch.ones(16)[:4], torch.zeros(16), 16, 0.0, 16)": "",
    "scale[(1,)](torch.ones(4), torch.zeros(4), 4, 0.0, 16)": "",
}


@pytest.mark.parametrize("launch", BEYOND)
def test_a_launch_that_leaves_its_tensors_is_not_compared(play: Play, launch: str) -> None:
    """The lure: a mask was dropped, and what lies behind a tensor differs between two processes."""
    report = play(SCALE + launch + "\n")
    outside = "launch 0 (scale) cannot be compared: it reads or writes outside of its tensors"
    assert (report["incomparable"], report["failure"]) == (outside if BEYOND[launch] else "", None)


TUNED = (
    HEAD
    + """
def bench(call, quantiles):
    for _ in range(1 + turned):
        call()
    return [1.0, 1.0, 1.0]

@triton.autotune([triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})], key=["n"], do_bench=bench)
@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)

copy[(1,)](torch.ones(9), torch.empty(9), 9)
"""
)


def test_launches_that_only_measure_time_do_not_count(play: Play) -> None:
    assert found(play(TUNED)) == []


def test_torch_and_triton_are_left_as_they_were(libraries: None, tmp_path: Path) -> None:
    import torch
    from triton.runtime.jit import JITFunction

    before = (torch.empty, torch.Tensor.new_empty, JITFunction.run, "new_empty" in vars(torch.Tensor))
    observer = launch_outputs.Observer(str(tmp_path / "outputs"), "", {})
    assert torch.empty is not before[0] and JITFunction.run is not before[2]
    observer.end()
    assert (torch.empty, torch.Tensor.new_empty, JITFunction.run, "new_empty" in vars(torch.Tensor)) == before


def test_a_default_device_still_counts(play: Play) -> None:
    """torch knows its own constructors by identity."""
    report = play(
        SCALE
        + "torch.set_default_device('meta')\nassert torch.empty(3).is_meta\ntorch.set_default_device('cpu')\n"
        + "scale[(1,)](torch.ones(9), torch.empty(9), 9, 0.0, 16)\n"
    )
    assert (found(report), report["failure"]) == ([], None)


MEASURED: list[tuple[str, list[Any], list[Any], tuple[Any, ...] | None]] = [
    ("float32", [1.0, 2.0], [1.0, 2.0], None),
    ("float32", [0.0, float("nan")], [-0.0, float("nan")], None),
    ("float32", [1.0, 1000.0], [1.5, 1000.0], ("tolerance", 1, 0.5)),  # within a thousandth of the largest
    ("float32", [1.0, 1000.0], [2.5, 1000.0], ("wrong", 1, 1.5)),
    ("float32", [1.0, 1.0], [2.0, 1e30], ("wrong", 2, 1e30)),  # garbage does not excuse its neighbours
    ("float32", [float("inf"), 1.0], [float("inf"), 1.0], None),
    ("float32", [float("inf"), 1.0], [float("-inf"), 1.0], ("wrong", 1, 0.0)),
    ("float32", [float("inf"), 1.0], [float("nan"), 3.0], ("nan", 1, 2.0)),
    ("float16", [1.0, 1.0], [1.0, 1.005], ("tolerance", 1, None)),
    ("bfloat16", [1.0, 1.0], [1.0, 1.02], ("tolerance", 1, None)),
    ("float64", [1.0, 1.0], [1.0, 1.00001], ("wrong", 1, None)),
    ("float8_e4m3fn", [1.0, 1.0], [1.0, 1.125], ("tolerance", 1, 0.125)),
    ("complex64", [1 + 1j], [1 + 3j], ("wrong", 1, 2.0)),
    ("int32", [1, 2, 3], [1, 2, 4], ("wrong", 1, 1.0)),
    ("uint8", [200], [10], ("wrong", 1, 190.0)),
    ("bool", [True, False], [True, True], ("wrong", 1, 1.0)),
]


@pytest.mark.parametrize("dtype, one, other, told", MEASURED)
def test_how_two_tensors_disagree(
    libraries: None, dtype: str, one: list[Any], other: list[Any], told: tuple[Any, ...] | None
) -> None:
    import torch

    first, second = (torch.tensor(values, dtype=getattr(torch, dtype)).view(torch.uint8) for values in (one, other))
    how = disagreement.measure(torch, first, second, dtype)
    if told is None:
        assert how is None
        return
    assert how is not None and (how["kind"], how["elements"]) == told[:2]
    assert told[2] is None or how["largest"] == pytest.approx(told[2])


def test_a_ring_drops_the_oldest(libraries: None) -> None:
    import torch

    ring = Ring(torch.empty(1000, dtype=torch.uint8))
    launches = [{"dropped": False} for _ in range(7)]
    copies = [ring.copy(torch.full((200,), n, dtype=torch.uint8), launch) for n, launch in enumerate(launches)]
    kept = [n for n, launch in enumerate(launches) if not launch["dropped"]]
    assert kept == [3, 4, 5, 6]
    data = ring.read()
    for n in kept:
        copy = copies[n]
        assert copy is not None and (data[copy.start : copy.start + copy.size] == n).all()

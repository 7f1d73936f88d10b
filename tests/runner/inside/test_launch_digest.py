"""A launch as a digest: what it hangs on makes another, and a host that comes to it by another way does not."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

import torch

from shrinkray_gpu.runner.inside.compare.comparison import AGAINST, KINDS, SAVE
from shrinkray_gpu.runner.inside.compare.launch_digest import digest
from shrinkray_gpu.runner.inside.compare.sides import PART, PROBE
from shrinkray_gpu.runner.inside.compare.watched_launch import WatchedLaunch
from tests.runner.inside.forked import forked
from tests.runner.inside.test_comparison import SCRIPT
from tests.runner.inside.test_watchers import candidate, run

KERNEL = """\
SCALE = 2
def helper(x):
    return x * SCALE
def kernel(x, out, n):
    return helper(x) + 1 + n
"""


def of(text: str = KERNEL, *, grid: Any = (1,), size: int = 4, n: Any = 3, came: str = "randn") -> str:
    module: dict[str, Any] = {}
    exec(text, module)
    x, out = torch.arange(size), torch.zeros(size)
    return digest(torch, module["kernel"], grid, [("x", x), ("out", out), ("n", n)], lambda _: came)


def test_it_is_the_same_for_the_same() -> None:
    assert of() == of() == of("\n\n" + KERNEL) == of(KERNEL.replace("helper(x) + 1", "helper(x)  +  1"))
    out = torch.zeros(4)
    first, second = (digest(torch, of, (1,), [("x", each)], lambda _: "") for each in (out, torch.zeros(4) + 7))
    assert first == second  # numbers are replaced by ours


def test_a_helper_in_a_module_of_the_program_counts() -> None:
    """A folder's modules are reduced with it, and kernels call `ops.scaled(x)`."""

    def with_module(helper: str) -> str:
        ops, module = ModuleType("ops"), {}
        exec(helper, vars(ops))
        exec("def kernel(x, out, n):\n    return ops.scaled(x)\n", module)
        module["ops"] = vars(ops)["ops"] = ops
        return digest(torch, module["kernel"], (1,), [("x", torch.zeros(4))], lambda _: "")

    scaled = "SCALE = 2\ndef scaled(x):\n    return x * SCALE\ndef other(x):\n    return x\n"
    assert with_module(scaled) == with_module(scaled.replace("return x\n", "return -x\n"))
    changed = (scaled, scaled.replace("x *", "x +"), scaled.replace("= 2", "= 3"))
    assert len({with_module(each) for each in changed}) == 3


@pytest.mark.parametrize(
    "other",
    [
        {"text": KERNEL.replace("+ 1", "+ 2")},
        {"text": KERNEL.replace("x * SCALE", "x - SCALE")},
        {"text": KERNEL.replace("SCALE = 2", "SCALE = 3")},
        {"grid": (2,)},
        {"grid": lambda meta: (2,)},
        {"size": 5},
        {"n": 4},
        {"n": 3.0},
        {"came": "randn, and then something else"},
    ],
)
def test_what_the_kernel_hangs_on_makes_another(other: dict[str, Any]) -> None:
    assert of(**other) != of()


def test_whole_numbers_are_what_they_are() -> None:
    numbers = (torch.arange(4), torch.ones(4, dtype=torch.int64))
    one, other = (digest(torch, of, (1,), [("x", each)], lambda _: "") for each in numbers)
    assert one != other


@pytest.mark.parametrize(
    ("old", "new", "asked"),
    [
        ("x = torch.randn(12)", "y = 3\nx = torch.randn(12)", 0),
        ("mask=at < n) * 2", "mask=at < n) + tl.load(x + at, mask=at < n)", 3),
    ],
    ids=["the host", "the kernel"],
)
def test_a_kernel_that_is_known_is_not_asked_again(tmp_path: Path, old: str, new: str, asked: int) -> None:
    check, path = "torch.testing.assert_close(actual, expected)\n", str(tmp_path / "kept")
    assert SCRIPT.count(old) == 1

    def work(source: str, *wants: str) -> dict[str, Any]:
        os.environ["TRITON_INTERPRET"] = "1"
        calls, original = [], WatchedLaunch.asked_again
        WatchedLaunch.asked_again = lambda *given: (calls.append(1), original(*given))[1]  # type: ignore[method-assign]
        report = run(candidate(tmp_path, source=source + check, wants=wants))
        return {"asked": len(calls), "moved": report["comparison"]["moved"]}

    first = forked(tmp_path, lambda: work(SCRIPT, SAVE + path, KINDS + f"{PART} {PROBE}"))
    assert first["asked"] == 3
    again = forked(tmp_path, lambda: work(SCRIPT.replace(old, new), AGAINST + path))
    assert again == {"asked": asked, "moved": {}}

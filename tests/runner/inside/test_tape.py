"""Who is to blame for a check that fails: what torch did, done again in float64 or without a step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from shrinkray_gpu.runner.inside.compare.comparison import BLAME
from shrinkray_gpu.runner.inside.compare.provenance import Provenance
from shrinkray_gpu.runner.inside.compare.tape import Tape
from shrinkray_gpu.runner.inside.compare.watched_launch import quiet
from tests.runner.inside.test_comparison import SCRIPT, checked

CLOSE = "torch.testing.assert_close(actual, expected, rtol=1e-9, atol=0)"
HALF = SCRIPT.replace("torch.randn(12)", "torch.randn(12).half()")
OVERFLOWS = "expected = (x * 100).exp().log() / 50"
CASES = {
    "a reference that overflows": ("reference", f"x = x * 2 + 1\nactual = twice(x)\n{OVERFLOWS}\n{CLOSE}"),
    "an input changed in place": ("input", f"actual = twice(x)\nx[3:].mul_(3)\nexpected = x * 2\n{CLOSE}"),
    "a tolerance below the type": (
        "tolerance",
        f"expected = (x / 3).float() * 6\n{CLOSE.replace('actual', 'actual.float()')}",
    ),
    "another function": ("", CLOSE),
    "a kernel that is wrong": ("", f"expected = x + x + 1e-3 * x.abs()\n{CLOSE}"),
    "memory written past torch": ("", f"actual = twice(x)\nx.numpy()[3:] *= 3\nexpected = x * 2\n{CLOSE}"),
}


def judged(wrote: Callable[[Any], Any], reference: Callable[[Any], Any], x: Any, kind: str = "float32") -> str:
    """The side that does not stand where a kernel wrote that, of this type, and is held against a reference."""
    import torch

    provenance = Provenance(torch)
    tape = provenance.tape = Tape(torch)
    with provenance.mode():
        x, out = x.clone(), torch.empty(x.shape, dtype=getattr(torch, kind))
        with quiet(torch):
            out.copy_(wrote(x))
        provenance.launched("k", [x], [out])
        tape.launched("k", [x], [out])
        expected = reference(x)
        torch.allclose(out, expected)
    provenance.tape = None
    return tape.blame(provenance.checks[-1], [out]).side


def test_one_large_element_excuses_no_small_one() -> None:
    import torch

    counted = torch.arange(1 << 20, dtype=torch.float32)
    assert judged(lambda x: x + 1, lambda x: x * 1, counted) == ""


def test_a_kernel_that_truncates_is_not_excused() -> None:
    import torch

    drawn = torch.linspace(-3, 3, 999)
    rounded = drawn.bfloat16()

    def reference(x: Any) -> Any:
        return x / 3 * 9  # rounds twice

    def truncated(x: Any) -> Any:
        return (x.float() * 3).view(torch.int32).bitwise_and(-65536).view(torch.float32)

    assert judged(lambda x: x.float() * 3, reference, rounded, "bfloat16") == "tolerance"
    assert judged(truncated, reference, rounded, "bfloat16") == ""


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_a_kernel_that_leaves_out_what_the_reference_rounds_is_not_excused(kind: str) -> None:
    import torch

    narrow = getattr(torch, kind)
    drawn = torch.linspace(-3, 3, 999)
    assert judged(lambda x: x, lambda x: x.to(narrow).float(), drawn) == ""
    assert judged(lambda x: x, lambda x: torch.empty(999, dtype=narrow).copy_(x) * torch.ones(999), drawn) == ""


def test_a_change_before_the_launch_excuses_no_kernel_that_did_not_see_it() -> None:
    import torch

    provenance = Provenance(torch)
    tape = provenance.tape = Tape(torch)
    with provenance.mode():
        x, first, second = torch.ones(9) / 3, torch.empty(9), torch.empty(9)
        for kernel, out in (("first", first), ("second", second)):
            with quiet(torch):
                out.copy_((torch.ones(9) / 3) * 2)  # the second one has what was there before
            provenance.launched(kernel, [x], [out])
            tape.launched(kernel, [x], [out])
            expected = x * 2
            torch.allclose(out, expected)
            x.add_(1)
    provenance.tape = None
    assert not tape.blame(provenance.checks[-1], [second]).side


@pytest.mark.parametrize(("side", "check"), CASES.values(), ids=CASES)
def test_what_does_not_stand(tmp_path: Path, side: str, check: str) -> None:
    script = HALF if side == "tolerance" else SCRIPT
    seen = checked(tmp_path, check, BLAME, script=script)["comparison"]
    assert seen["kernels"] == ["rows"] and seen["side"] == side, seen
    assert bool(seen["blame"]) == ("numpy" not in check), seen  # else it comes out otherwise when it is done again


def test_nothing_is_said_where_nobody_asked(tmp_path: Path) -> None:
    seen = checked(tmp_path, CLOSE)["comparison"]
    assert (seen["side"], seen["blame"]) == ("", "")

"""Who is to blame for a check that fails: what torch did, done again in float64 or without a step."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from shrinkray_gpu.runner.inside.compare.comparison import BLAME
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


@pytest.mark.parametrize(("side", "check"), CASES.values(), ids=CASES)
def test_what_does_not_stand(tmp_path: Path, side: str, check: str) -> None:
    script = HALF if side == "tolerance" else SCRIPT
    seen = checked(tmp_path, check, BLAME, script=script)["comparison"]
    assert seen["kernels"] == ["rows"] and seen["side"] == side, seen
    assert bool(seen["blame"]) == ("numpy" not in check), seen  # else it comes out otherwise when it is done again


def test_nothing_is_said_where_nobody_asked(tmp_path: Path) -> None:
    seen = checked(tmp_path, CLOSE)["comparison"]
    assert (seen["side"], seen["blame"]) == ("", "")

"""The operation of a kernel that makes the first NaN or infinity, by Triton's interpreter."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from shrinkray_gpu.runner.inside.compare.comparison import BLAME
from tests.runner.inside.test_comparison import SCRIPT, checked

LEFT_OUT = "which a later operation may leave out"
ONE = "tl.load(x + at, mask=at < n) * 2"
LINE = 1 + next(number for number, line in enumerate(SCRIPT.splitlines()) if ONE in line)
VALUES = {
    "0 / 0": ("(tl.load(x + at, mask=at < n) * 0) / 0.0", "NaN", f"of divide at script.py:{LINE}"),
    "inf - inf": (
        "tl.exp(tl.load(x + at, mask=at < n) * 0 + 99) * 0.0",
        "NaN",
        f", of the infinity of exp at script.py:{LINE}",
    ),
    "overflow": ("tl.exp(tl.load(x + at, mask=at < n) * 0 + 99)", "infinity", f"of exp at script.py:{LINE}"),
    "root": ("tl.sqrt(tl.load(x + at, mask=at < n) * 0 - 1)", "NaN", "of sqrt at"),
    "memory": ("tl.load(x + at, mask=at < n) + 2", "NaN", f"that is loaded from memory at script.py:{LINE}"),
}


@pytest.mark.parametrize(("value", "kind", "made"), VALUES.values(), ids=VALUES)
def test_where_it_begins(tmp_path: Path, value: str, kind: str, made: str) -> None:
    script = SCRIPT.replace(ONE, value)
    if "memory" in made:
        script = script.replace("torch.randn(12)", "torch.randn(12).log()")
    seen = checked(tmp_path, "assert actual.isfinite().all()", BLAME, script=script)["comparison"]
    assert seen["kind"] == "nan" and seen["alone"], seen
    assert f"the first {kind} in the kernel, {LEFT_OUT}, is the one " in seen["blame"] and made in seen["blame"], seen


def test_a_value_that_is_dropped_later_is_not_said_to_be_the_one_that_is_written(tmp_path: Path) -> None:
    script = SCRIPT.replace(ONE, f"tl.where(at < 16, {ONE}, at * 0.0 / 0.0) + tl.sqrt(at * 0.0 - 1)")
    seen = checked(tmp_path, "assert actual.isfinite().all()", BLAME, script=script)["comparison"]
    assert "where it begins" not in seen["blame"] and LEFT_OUT in seen["blame"], seen


def test_what_a_mask_leaves_out_is_no_origin(tmp_path: Path) -> None:
    fill = "tl.where(at < n, tl.load(x + at, mask=at < n, other=-float('inf')) * 1.5, (at * 0.0) / 0.0)"
    seen = checked(tmp_path, "torch.testing.assert_close(actual, expected)", BLAME, script=SCRIPT.replace(ONE, fill))
    assert seen["comparison"]["kind"] == "wrong" and "NaN" not in seen["comparison"]["blame"], seen

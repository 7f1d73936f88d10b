"""The study of TMA emission in many releases of Triton: what is counted in each, and a pattern of another release."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.questions.ir.patterns import parse
from shrinkray_gpu.questions.ir.plan import tests as planned
from shrinkray_gpu.questions.ir.study import Presence, study
from shrinkray_gpu.questions.varying import RunPlace
from tests.versions import environments
from tests.versions.conftest import each

pytestmark = [pytest.mark.versions, pytest.mark.timeout(900)]  # the first to ask for a release fetches it

STUDY = Path(__file__).parents[2] / "studies" / "tma_emission"
FALSE_ZEROS = {
    "3.0.0": r"ttgir:\bttng\.async_tma",
    "3.2.0": r"ttir:\btt\.descriptor_load",
    "3.6.0": r"ttir:experimental_",
    "3.9.0": r"ttgir:triton_nvidia_gpu",
}
"""For each release a pattern that is right in another one. It would answer every question with no."""


@pytest.mark.parametrize("version", each(FALSE_ZEROS))
def test_tma_comes_of_descriptors_and_a_false_zero_is_caught(version: str) -> None:
    asked = planned(STUDY / "block_pointer.py", known=[str(STUDY / "descriptor.py")], bad=["INNER_STRIDE=2"])
    counts = parse(["tma", FALSE_ZEROS[version]])
    found = study(asked, counts, RunPlace(environments.python(version), 90))
    known, good, _ = found.answers
    assert found.triton == version
    assert (known.result, known.totals) == (Presence.MIXED, (2, 2, 2, 2, 2, 0))
    assert f"none by {counts[-1]}: does that pattern fit this Triton?" in known.why
    assert found.conclusion.startswith(f"triton {version}: no answer: the patterns are not shown to fit")
    if version == "3.9.0":
        assert "Block pointers have been removed" in good.why
    else:
        assert good.totals == (0, 0, 0, 0, 0, 0)

"""The study of TMA emission in many releases of Triton: its zero, and that the zero is a true one, in each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.ir.patterns import parse
from shrinkray_gpu.ir.plan import tests as planned
from shrinkray_gpu.ir.study import Result, study
from tests.versions import environments

pytestmark = [pytest.mark.versions, pytest.mark.timeout(900)]  # the first to ask for a release fetches it

STUDY = Path(__file__).parents[2] / "studies" / "tma_emission"
ALL = ("3.0.0", "3.2.0", "3.4.0", "3.6.0", "3.7.1", "3.9.0")


@pytest.mark.parametrize("version", ALL)
def test_tma_comes_of_descriptors_and_not_of_block_pointers(version: str) -> None:
    asked = planned(STUDY / "block_pointer.py", known=[str(STUDY / "descriptor.py")], bad=["INNER_STRIDE=2"])
    found = study(asked, parse(["tma"]), python=environments.python(version), arch=90)
    known, good, bad = found.answers
    assert found.triton == version
    assert (known.result, known.totals) == (Result.PRESENT, (2, 2, 2, 2, 2))
    if version == "3.9.0":
        assert "Block pointers have been removed" in good.why
        assert found.conclusion.startswith("triton 3.9.0: no answer: of the positive control, did not compile")
    else:
        assert (good.result, good.totals) == (Result.ABSENT, (0, 0, 0, 0, 0))
        assert found.conclusion.endswith("no: none in good 0/0/0/0/0, and the patterns fit: known 2/2/2/2/2")
    assert bad.result is Result.INCONCLUSIVE


@pytest.mark.parametrize(
    ("version", "pattern"),
    [("3.0.0", r"ttgir:\bttng\.async_tma"), ("3.2.0", r"ttir:\btt\.descriptor_load"), ("3.9.0", "ttir:experimental_")],
)
def test_a_pattern_of_another_release_is_caught(version: str, pattern: str) -> None:
    """It finds nothing, and would answer the question with a false no."""
    asked = planned(STUDY / "descriptor.py", bad=[str(STUDY / "pointer.py")])
    found = study(asked, parse([pattern, "sass:tma"]), python=environments.python(version), arch=90)
    good, bad = found.answers
    assert (good.result, good.totals) == (Result.MIXED, (0, 2))
    assert "does that pattern fit this Triton?" in good.why
    assert bad.result is Result.INCONCLUSIVE

"""What a corpus knows already of a fault: cases with the same fingerprint, and the releases that mend them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.corpus.known import OURS, known
from shrinkray_gpu.oracle import Fault

TMA = Fault("device", "misaligned address", code=716, instruction="UTMALDG", space="shared", kernel="jsd")


def test_a_case_with_the_same_fingerprint_and_where_it_is_fixed() -> None:
    found = known(TMA, "3.7.1", [OURS])
    (told,) = [each for each in found if " tma_misaligned of the corpus" in each]
    assert "by that case fixed in Triton >=3.9" in told and "triton/issues/10474" in told


def test_what_is_fixed_in_this_release_is_another_bug() -> None:
    assert not any(" tma_misaligned " in each for each in known(TMA, "3.9.0", [OURS]))
    assert any(" tma_misaligned " in each for each in known(TMA, "", [OURS]))


@pytest.mark.parametrize(
    "other",
    [
        replace(TMA, instruction="LDG"),
        replace(TMA, space="global"),
        replace(TMA, code=700, klass="an illegal memory access was encountered"),
        replace(TMA, instruction=""),
        Fault("python", "KeyError", text="N"),
    ],
)
def test_nothing_is_claimed_of_another_fingerprint_or_of_one_that_says_little(other: Fault) -> None:
    assert known(other, "3.7.1", [OURS]) == ()


def test_a_corpus_that_is_not_there_and_a_broken_case(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "case.toml").write_text("title =")
    assert known(TMA, "3.7.1", [tmp_path, tmp_path / "nowhere"]) == ()

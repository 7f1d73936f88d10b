"""Large numbers move together, before anything else looks at single ones."""

from __future__ import annotations

from shrinkray_gpu.passes.kernel.tiles import find
from tests.passes.offers import offered, results


def test_a_tile_keeps_its_ratio_to_the_shape() -> None:
    assert offered(find, "M = 4096\nBLOCK = 128", "M = 128\nBLOCK = 4")


def test_all_large_numbers_at_once() -> None:
    assert offered(find, "M, N, K = 512, 300, 7", "M, N, K = 16, 16, 7")


def test_small_and_single_numbers_wait() -> None:
    assert results(find, "M = 16\nN = 16") == []
    assert results(find, "M = 512") == []

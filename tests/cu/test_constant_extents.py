"""Arrays that are too small by the numbers of the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.cu.constant_extents import beyond
from shrinkray_gpu.reduction.native.native_tree import parse

TILE = """\
#define COLUMNS 16
constexpr int kTile = 16, kPadded = kTile + 8;
__global__ void k() {
  __shared__ half tile[kTile][kPadded];
  float staged[kTile * COLUMNS];
  wmma::fragment<wmma::matrix_a, kTile, kTile, 16, half, wmma::row_major> a;
  nvcuda::wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::load_matrix_sync(a, tile, kPadded);
  wmma::store_matrix_sync(staged, sum, 16, wmma::mem_row_major);
  for (int i = 0; i < kTile * 16; ++i) staged[i] = 0;
}
"""
PROGRAMS = Path(__file__).parents[2] / "benchmarks" / "cu_files"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("staged[kTile * COLUMNS]", "staged[16]", {"store_matrix_sync leaves staged", "a loop leaves staged"}),
        ("staged[kTile * COLUMNS]", "staged[255]", {"store_matrix_sync leaves staged", "a loop leaves staged"}),
        ("kTile + 8;", "8;", {"load_matrix_sync leaves tile", "load_matrix_sync has a stride of less than a row"}),
        ("sum, 16,", "sum, 0,", {"store_matrix_sync has a stride of 0"}),
        ("sum, 16,", "sum, 8,", {"store_matrix_sync has a stride of less than a row"}),
        ("tile[kTile]", "tile[15]", {"load_matrix_sync leaves tile"}),
        ("i < kTile * 16", "i <= 256", {"a loop leaves staged"}),
        ("float staged", "int n = 3; float staged", set()),
        ("staged[kTile * COLUMNS]", "staged[size()]", set()),
    ],
)
def test_what_the_numbers_of_the_source_show(old: str, new: str, said: set[str]) -> None:
    assert not beyond(parse(TILE)) and TILE.count(old) == 1
    assert beyond(parse(TILE.replace(old, new))) == said


@pytest.mark.parametrize("path", sorted(PROGRAMS.rglob("*.cu")), ids=lambda path: str(path.relative_to(PROGRAMS)))
def test_no_program_of_ours_has_such_a_defect(path: Path) -> None:
    assert not beyond(parse(path.read_text()))

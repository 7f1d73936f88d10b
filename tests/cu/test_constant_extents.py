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
LOOP = "staged[i] = 0; for (int i = 0; i < 999; ++i) "
LEFT = "a loop leaves staged"
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
        ("#define COLUMNS 16", "#define COLUMNS 8  // columns", {"store_matrix_sync leaves staged", LEFT}),
        ("#define COLUMNS 16", "#define COLUMNS 8 /* two */", {"store_matrix_sync leaves staged", LEFT}),
        ("#define COLUMNS 16", "#define COLUMNS 32 - 17", set()),  # 16 * 32 - 17
        ("#define COLUMNS 16", "#define COLUMNS (8 + 7)", {"store_matrix_sync leaves staged", LEFT}),
        ("#define COLUMNS 16", "#if A\n#define COLUMNS 16\n#else\n#define COLUMNS 8\n#endif", set()),
        ("kPadded = kTile + 8;", "kPadded = (2 - 3) / 2 + 15;", set()),
        ("kPadded = kTile + 8;", "k8 = 8, k8u = 24, kPadded = k8u;", set()),
        ("staged[i] = 0;", "staged[i] = 0; for (int i = 0; i < 17; ++i) tile[i][0] = 0;", {"a loop leaves tile"}),
        ("i < kTile * 16; ++i)", "i < 999; ++i) if (i < 256)", set()),
        ("staged[i] = 0;", LOOP + "if (i < n && staged[i]) n = i;", set()),
        ("staged[i] = 0;", LOOP + "{ if (i > n) break; staged[i] = n; }", set()),
        ("staged[i] = 0;", LOOP + "for (int i = 0; i < 2; ++i) staged[i] = 0;", set()),
        ("staged[i] = 0;", LOOP + "{ staged[i] = 0; i += 500; }", set()),
        ("staged[kTile * COLUMNS]", "staged[8]; extern float staged[]", set()),
        ("void k() {", "void k() { extern __shared__ float staged[]; " + LOOP[15:] + "staged[i] = 0;", set()),
        ("kTile, kTile, 16, half,", "8, 8, 128, precision::b1,", set()),
    ],
)
def test_what_the_numbers_of_the_source_show(old: str, new: str, said: set[str]) -> None:
    assert not beyond(parse(TILE)) and TILE.count(old) == 1
    assert beyond(parse(TILE.replace(old, new))) == said


def test_what_a_template_is_given_is_no_number_of_the_source() -> None:
    text = "template <int N> __global__ void k() { float a[N]; for (int i = 0; i < 8; ++i) a[i] = 0; }\n"
    assert beyond(parse("constexpr int N = 4;\n" + text.replace("template <int N> ", ""))) == {"a loop leaves a"}
    assert not beyond(parse("constexpr int N = 4;\n" + text))


@pytest.mark.parametrize("path", sorted(PROGRAMS.rglob("*.cu")), ids=lambda path: str(path.relative_to(PROGRAMS)))
def test_no_program_of_ours_has_such_a_defect(path: Path) -> None:
    assert not beyond(parse(path.read_text()))

"""Names that a candidate still says and declares no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.cu.undeclared import declared, undeclared
from shrinkray_gpu.reduction.native.native_tree import parse

PROGRAMS = sorted((Path(__file__).parents[2] / "benchmarks" / "cu_files").rglob("*.cu"))
TEXT = """
#define SIZE 3
template <typename T, int N>
__global__ void kernel(T* out) { for (int i = 0; i < N; ++i) out[i] = SIZE; }
enum Kind { FIRST, SECOND };
int main() {
  int *data, count = FIRST;
  auto [a, b] = pair();
  for (const auto& each : list) count += each + a + b;
  auto f = [count](int more) { return more + count; };
  kernel<int, 3><<<1, 1>>>(data);
}
"""


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_program_that_compiles_declares_what_it_says(path: Path) -> None:
    tree = parse(path.read_text())
    assert undeclared(tree, declared(tree)) == "" and "main" in declared(tree)


def test_a_name_without_its_declaration_is_told() -> None:
    known = declared(parse(TEXT))
    assert {"SIZE", "N", "out", "i", "SECOND", "data", "a", "b", "each", "more", "f"} <= known
    assert undeclared(parse(TEXT), known) == ""
    for gone, name in (("int i = 0", "i"), ("*data, ", "data"), ("#define SIZE 3", "SIZE"), ("int more", "more")):
        assert undeclared(parse(TEXT.replace(gone, "")), known) == name
    assert (
        undeclared(parse(TEXT.replace("int main", "int x = std::data(v);\nint main").replace("*data, ", "")), known)
        == "data"
    )


def test_what_no_text_ever_declared_is_a_header_s() -> None:
    assert undeclared(parse("int main() { return EXIT_SUCCESS; }"), declared(parse(TEXT))) == ""

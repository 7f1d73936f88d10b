"""CUDA C++ and its driver reduced together, by predicates on the syntax tree, without nvcc and torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.passes import PASSES
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source import cuda as shared
from tests.passes.cuda.needle import loads_a_local_array
from tests.passes.cuda.samples import PRODUCT
from tests.reduction.course import Bench

LEAST = '''
r"""
__global__ void product() {
  half local[0];
  wmma::fragment<wmma::matrix_a, 0, 0, 0, half, wmma::row_major> a;
  wmma::load_matrix_sync(a, local, 0);
}
torch::Tensor run() {
  product<<<0, 0>>>();
}
""".run()
'''


def test_a_needle_is_all_that_is_left(tmp_path: Path) -> None:
    assert loads_a_local_array(PRODUCT)
    result = Bench(loads_a_local_array).reduce(PRODUCT, tmp_path / "folder", passes=PASSES, width=6)
    assert loads_a_local_array(result.program.text)
    assert result.program.size.tokens <= Program.from_text(LEAST).size.tokens + 4, result.program.text


def test_without_a_grammar_the_python_around_it_is_reduced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "can_parse", lambda: False)
    kept = PRODUCT[PRODUCT.index("__device__") : PRODUCT.index("#ifdef")]
    result = Bench(lambda text: kept in text).reduce(PRODUCT, tmp_path / "folder", passes=PASSES, width=6)
    assert "main" not in result.program.text and "__global__" in result.program.text

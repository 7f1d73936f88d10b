"""`shrink kernel.cu` and `shrink replay repro_kernel.cu` as their users call them, with the machine's nvcc."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shrinkray_gpu.events import printed_result
from shrinkray_gpu.reduction.native.code import amount
from shrinkray_gpu.reduction.size import lines
from tests.e2e.command import only, refused, shrink

HEADER = "#pragma once\ntemplate <typename T> struct Row { T* data; int width; };\n"
PROGRAM = """\
// nvcc -arch=sm_80 -std=c++17 table.cu -o table
#include "row.cuh"

__global__ void clear(float* out, int count) {
  if (threadIdx.x < count) out[threadIdx.x] = 0;
}

template <typename T>
__global__ void scale(Row<T> row, float factor) {
  for (int i = threadIdx.x; i < row.width; i += blockDim.x) row.data[i] = row.data[i].scaled(factor);
}

int main() {
  float* out;
  cudaMalloc(&out, 256);
  clear<<<1, 64>>>(out, 64);
  scale<<<1, 64>>>(Row<float>{out, 64}, 2.0f);
  return cudaDeviceSynchronize();
}
"""
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")


def lay_out_table(folder: Path) -> Path:
    (folder / "row.cuh").write_text(HEADER)
    (folder / "table.cu").write_text(PROGRAM)
    (folder / "other.txt").write_text("")
    return folder


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return lay_out_table(tmp_path)


@needs_nvcc
def test_an_error_in_an_instance_of_a_template(table: Path) -> None:
    words = ("table.cu", "--arch", "sm_90", "--oracle", "expression must have class type", "--json", "--jobs", "1")
    said = shrink(*words, *only("cuda_unread"), cwd=table, report=True)
    told = printed_result(said.out)
    repro = (table / "repro_table.cu").read_text()
    assert said.code == 0, said.err
    assert told["text"] == repro and told["lines"][0] == lines(PROGRAM) + lines(HEADER) and told["ended"] == "done"
    assert repro.startswith("// nvcc -arch=sm_90 -std=c++17 repro_table.cu -o repro_table\n// Fault: front end error: ")
    assert ".scaled(" in repro and "scale<" in repro and "<<<" in repro and "clear" not in repro
    assert told["tokens"][1] < told["tokens"][0] and told["lines"][1] < told["lines"][0]
    assert sorted(path.name for path in (table / "table.shrink").iterdir()) == ["ISSUE.md", "best.cu", "journal"]
    assert amount((table / "table.shrink" / "best.cu").read_text()).tokens < told["tokens"][0]
    assert repro.splitlines()[-1] in (table / "table.shrink" / "ISSUE.md").read_text()
    resumed = printed_result(shrink(*words, *only("cuda_unread"), "--resume", cwd=table, report=True).out)
    assert resumed["text"] == repro and resumed["tries"] < told["tries"]
    other = refused(*words, "--keep", "clear", "--resume", cwd=table)
    assert other.code == 2 and 'keep ([] then, ["clear"] now) changed since' in other.message
    added = refused("corpus", "add", "table.shrink", cwd=table)
    assert added.code == 2 and "is of a CUDA program" in added.message
    again = shrink("replay", "repro_table.cu", "--arch", "sm_90", cwd=table)
    assert again.code == 0 and "still faults" in again.out
    (table / "repro_table.cu").write_text(repro.replace(".scaled(", " * scaled("))
    other = shrink("replay", "repro_table.cu", "--arch", "sm_90", cwd=table)
    assert other.code == 1 and "changed fault" in other.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("table.cu", "--arch", "sm_90", "--control", "num_stages=1"), "--control is for programs in Python"),
        (("table.cu", "--arch", "sm_90", "--oracle", "timeout"), "only words can be asked"),
        (("table.cu", "--arch", "sm_90", "--keep", "gone"), "--keep gone: table.cu defines no such name"),
        (("table.cu", "--arch", "sm_90", "--nvcc", "'"), "Write the flags as in a shell"),
        (("gone.cu", "--arch", "sm_90"), "cannot read gone.cu"),
        (("explain", "table.cu"), "shrink FILE.cu --check"),
        (("replay", "table.cu", "--triton", "3.6.0"), "--triton"),
    ],
)
@needs_nvcc
def test_bad_input_is_one_line(table: Path, words: tuple[str, ...], message: str) -> None:
    said = refused(*words, cwd=table)
    assert said.code == 2 and message in said.message and "\n" not in said.message, said.err


LOOKUP = r"""// nvcc -std=c++17 lookup.cu -o lookup
#include <cstdio>
#include <cstdlib>
__global__ void gather(const int* table, int* out, const int* at, int count) {
  const int i = threadIdx.x;
  if (i < count) out[i] = table[at[i]];
}
int main() {
  const int count = 4, spare = 7;
  int *table, *out, *at, host[] = {0, 1, 1 << 28, 2};
  cudaMalloc(&table, count * sizeof(int));
  cudaMalloc(&out, count * sizeof(int));
  cudaMalloc(&at, count * sizeof(int));
  cudaMemcpy(at, host, sizeof host, cudaMemcpyHostToDevice);
  gather<<<1, 32>>>(table, out, at, count);
  if (cudaError_t error = cudaDeviceSynchronize()) {
    std::fprintf(stderr, "lookup: %s\n", cudaGetErrorString(error));
    return 1;
  }
  return 0;
}
"""


@needs_nvcc
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_without_a_gpu_the_cpu_runs_the_kernels(tmp_path: Path) -> None:
    (tmp_path / "lookup.cu").write_text(LOOKUP)
    words = ("lookup.cu", "--arch", "sm_90", "--oracle", "illegal memory access", "--jobs", "1")
    said = shrink(*words, *only("cuda_unread"), cwd=tmp_path)
    repro = tmp_path / "repro_lookup.cu"
    assert said.code == 0 and "no GPU has run it" in said.out, said.err
    assert "spare" not in repro.read_text() and "// Seen: Invalid __global__ read of 4 bytes" in repro.read_text()
    assert shrink("replay", "repro_lookup.cu", "--arch", "sm_90", cwd=tmp_path).code == 0
    repro.write_text(repro.read_text().replace("1 << 28", "3"))
    assert shrink("replay", "repro_lookup.cu", "--arch", "sm_90", cwd=tmp_path).code == 1
    unjudged = shrink(*words, "--skip-pass", "on_cpu", cwd=tmp_path)
    assert unjudged.code == 3 and "only a machine with a GPU can show" in unjudged.err

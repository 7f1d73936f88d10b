"""Of a kernel and what it calls, that which one statement needs, in one edit."""

from __future__ import annotations

from shrinkray_gpu.passes.cuda import cuda_slices
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import effective, render

SOURCE = r"""
__device__ void load(float* to, const float* from, int n) {
  const int lane = threadIdx.x;
  const int twice = 2 * lane;
  for (int i = lane; i < n; i += 32) {
    to[i] = from[i];
    to[twice] += 1;
  }
  __syncwarp();
}
__device__ int least(int n) {
  const int m = n - 1;
  return m;
}
__global__ void kernel(float* out, const float* in, int n) {
  __shared__ float tile[64];
  float local[4];
  fill(local);
  const int m = least(n);
  if (m > 2) {
    load(tile, in, m);
    out[0] = tile[0];
  } else {
    out[1] = local[1];
  }
}
void run(float* out, float* in, int n) {
  int m = n;
  kernel<<<1, 32>>>(out, in, m);
}
"""
SCRIPT = f"use(r'''{SOURCE}''')\n"


def slices(program: Program, line: str) -> list[str]:
    number = next(number for number, text in enumerate(SOURCE.split("\n"), start=1) if text.strip() == line)
    found = [edit for edit in cuda_slices.find(program) if edit.what == f"slice for line {number}"]
    return [render(program, [edit]).text for edit in found]


def test_a_statement_of_a_called_function_and_the_call_that_leads_there() -> None:
    (text,) = slices(Program.from_text(SCRIPT), "to[twice] += 1;")
    assert text == SCRIPT.replace("    to[i] = from[i];\n", "").replace("  __syncwarp();\n", "").replace(
        "  float local[4];\n  fill(local);\n", ""
    ).replace("    out[0] = tile[0];\n", "").replace("else {\n    out[1] = local[1];\n  }", "")


def test_what_writes_to_a_variable_without_initialiser_may_stay() -> None:
    bare, written = sorted(slices(Program.from_text(SCRIPT), "out[1] = local[1];"), key=len)
    assert "fill(local);" not in bare and "fill(local);" in written
    for text in (bare, written):
        assert "load(tile" not in text and "float local[4];" in text and "if (m > 2) {" in text
        assert "int m = n;" in text, "the host's functions are left alone"


def test_one_of_them_at_most() -> None:
    program = Program.from_text(SCRIPT)
    edits = list(cuda_slices.find(program))
    assert len(edits) > 3 and effective(program, edits) == edits[:1]
    assert [edit.weight for edit in edits] == sorted((edit.weight for edit in edits), reverse=True)

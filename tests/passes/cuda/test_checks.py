"""What only checks and tells."""

from __future__ import annotations

from shrinkray_gpu.passes.cuda import cuda_checks
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render

SOURCE = """
struct S { static_assert(sizeof(int) == 4); int n; };
void run(torch::Tensor x) {
  TORCH_CHECK(x.dim() == 2, "two");
  CHECK_CUDA(x);
  assert(x.numel() > 0);
  C10_CUDA_CHECK(cudaMalloc(&p, 4));
  gpuErrchk(cudaFree(p));
  kernel<<<1, 1>>>();
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  AT_CUDA_CHECK(cudaGetLastError());
  printf("done");
  std::cout << "done";
  cudaEventRecord(begin);
  CHECK_CUDA(cudaEventSynchronize(end));
  GPU(cudaEventElapsedTime(&time, begin, end));
  const auto begun = std::chrono::steady_clock::now();
}
"""


def test_checks_go_at_once_and_one_by_one_and_work_stays() -> None:
    program = Program.from_text(f"use('''{SOURCE}''')\n")
    every, *single = cuda_checks.find(program)
    assert [edit.what for edit in single] == [
        f"remove check at line {line}" for line in (2, 4, 5, 6, 10, 11, 12, 13, 14, 15, 16, 17)
    ]
    text = render(program, [every]).text
    assert [line.strip() for line in text.split("\n")[2:-2]] == [
        "void run(torch::Tensor x) {",
        "C10_CUDA_CHECK(cudaMalloc(&p, 4));",
        "gpuErrchk(cudaFree(p));",
        "kernel<<<1, 1>>>();",
        "}",
    ]

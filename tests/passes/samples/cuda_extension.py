"""A kernel in CUDA C++ and the script that builds and calls it: a WMMA load reads an array of the thread's own."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
#include <mma.h>

#define TILE 16

// One product of two tiles a warp.
__device__ void multiply(const half* row, const half* tile, float* out) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
#ifdef USE_WMMA
  wmma::load_matrix_sync(a, row, TILE);
#endif
  out[0] = __half2float(a.x[0]);
}

__global__ void product(const half* x, const half* y, float* out, int n) {
  half local[TILE * TILE];
  for (int i = 0; i < TILE * TILE; ++i) {
    local[i] = x[i];
  }
  if (n > 0) {
    using namespace nvcuda;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::load_matrix_sync(a, local, TILE);
    multiply(local, y, out);
  }
}

torch::Tensor run(torch::Tensor x, torch::Tensor y) {
  auto out = torch::zeros({TILE, TILE}, x.options().dtype(torch::kFloat32));
  product<<<1, 32>>>((const half*)x.data_ptr(), (const half*)y.data_ptr(), out.data_ptr<float>(), 1);
  return out;
}
"""


flags = ["-O3", "-DUSE_WMMA"]
extension = load_inline(
    "product", "torch::Tensor run(torch::Tensor x, torch::Tensor y);", SOURCE,
    functions=["run"], extra_cuda_cflags=flags,
)
x = torch.ones(16, 16, device="cuda", dtype=torch.float16)
print(extension.run(x, x).shape)

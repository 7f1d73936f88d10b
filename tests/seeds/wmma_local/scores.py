"""Scores of attention, Q K^T for one head, on the tensor cores: each warp keeps its 16 rows of Q close at hand.

python scores.py                    compared with torch
python scores.py --scalar           without the tensor cores
"""

import argparse

import torch
from torch.utils.cpp_extension import load_inline

CPP_SOURCE = "torch::Tensor scores(torch::Tensor q, torch::Tensor k, double scale);"

CUDA_SOURCE = r"""
#include <torch/extension.h>
#include <cuda_fp16.h>
#include <mma.h>

constexpr int HEAD_DIM = 64;
constexpr int WARPS = 4;
constexpr int ROWS = 16;

struct Params {
  const half* q;
  const half* k;
  float* out;
  int length;
  float scale;
};

__device__ void load_rows(half (*rows)[HEAD_DIM], const half* source, int first, int length) {
  for (int row = 0; row < ROWS; ++row) {
    for (int d = 0; d < HEAD_DIM; ++d) {
      rows[row][d] = first + row < length ? source[(first + row) * HEAD_DIM + d] : __float2half(0.0f);
    }
  }
}

#ifdef USE_WMMA
__device__ void tile_wmma(const half* q_rows, const half* k_tile, float* out, int stride, float scale) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> a;
  fragment<matrix_b, 16, 16, 16, half, col_major> b;
  fragment<accumulator, 16, 16, 16, float> acc;
  fill_fragment(acc, 0.0f);
  for (int d = 0; d < HEAD_DIM; d += 16) {
    load_matrix_sync(a, q_rows + d, HEAD_DIM);
    load_matrix_sync(b, k_tile + d, HEAD_DIM);
    mma_sync(acc, a, b, acc);
  }
  for (int i = 0; i < acc.num_elements; ++i) {
    acc.x[i] *= scale;
  }
  store_matrix_sync(out, acc, stride, mem_row_major);
}
#endif

__device__ void tile_scalar(half (*q_rows)[HEAD_DIM], const half* k_tile, float* out, int stride, float scale) {
  for (int index = threadIdx.x % 32; index < ROWS * 16; index += 32) {
    float dot = 0.0f;
    for (int d = 0; d < HEAD_DIM; ++d) {
      dot += __half2float(q_rows[index / 16][d]) * __half2float(k_tile[index % 16 * HEAD_DIM + d]);
    }
    out[index / 16 * stride + index % 16] = dot * scale;
  }
}

__global__ void __launch_bounds__(WARPS * 32) scores_kernel(Params params) {
  const int first = (blockIdx.x * WARPS + threadIdx.x / 32) * ROWS;
  if (first >= params.length) {
    return;
  }
  half q_rows[ROWS][HEAD_DIM];
  load_rows(q_rows, params.q, first, params.length);
  for (int col = 0; col < params.length; col += 16) {
    float* tile = params.out + first * params.length + col;
#ifdef USE_WMMA
    tile_wmma(&q_rows[0][0], params.k + col * HEAD_DIM, tile, params.length, params.scale);
#else
    tile_scalar(q_rows, params.k + col * HEAD_DIM, tile, params.length, params.scale);
#endif
  }
}

torch::Tensor scores(torch::Tensor q, torch::Tensor k, double scale) {
  TORCH_CHECK(q.size(1) == HEAD_DIM, "head_dim must be 64");
  TORCH_CHECK(q.size(0) % 16 == 0, "the length must be a multiple of 16");
  const int length = q.size(0);
  torch::Tensor out = torch::empty({length, length}, q.options().dtype(torch::kFloat));
  Params params;
  params.q = reinterpret_cast<const half*>(q.data_ptr());
  params.k = reinterpret_cast<const half*>(k.data_ptr());
  params.out = reinterpret_cast<float*>(out.data_ptr());
  params.length = length;
  params.scale = static_cast<float>(scale);
  scores_kernel<<<(length + WARPS * ROWS - 1) / (WARPS * ROWS), WARPS * 32>>>(params);
  return out;
}
"""


def build(scalar):
    return load_inline(
        name="scores_scalar" if scalar else "scores_wmma",
        cpp_sources=[CPP_SOURCE],
        cuda_sources=[CUDA_SOURCE],
        functions=["scores"],
        extra_cuda_cflags=["-O3"] if scalar else ["-O3", "-DUSE_WMMA"],
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--scalar", action="store_true")
    args = parser.parse_args()
    extension = build(args.scalar)
    q, k = (torch.randn(args.length, 64, device="cuda", dtype=torch.float16) for _ in range(2))
    found = extension.scores(q, k, 0.125)
    torch.cuda.synchronize()
    torch.testing.assert_close(found, q.float() @ k.float().T * 0.125, rtol=1e-2, atol=1e-2)
    print(f"{args.length} x {args.length} scores agree with torch")


if __name__ == "__main__":
    main()

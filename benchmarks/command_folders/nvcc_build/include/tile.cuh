#pragma once
#include "common.cuh"

// Configuration of one tile of the product.
template <int M, int N, int K, int Stages>
struct Tile {
  static constexpr int m = M;
  static constexpr int n = N;
  static constexpr int k = K;
  static constexpr int stages = Stages;
  static constexpr int threads = 256;
  static constexpr int loads = ceil_div(M * K, threads);
  static constexpr int values = ceil_div(M * N, threads);
};

template <typename Config>
struct Buffers {
  float a[Config::stages][Config::m * Config::k];
  float b[Config::stages][Config::k * Config::n];
};

template <typename Config>
__device__ void load_tile(float* to, const float* from, int stride, int rows, int columns) {
  for (int i = threadIdx.x; i < rows * columns; i += Config::threads) {
    int row = i / columns;
    int column = i % columns;
    to[i] = from[row * stride + column];
  }
}

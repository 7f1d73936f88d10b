#include "common.cuh"
#include "launch.cuh"
#include "tile.cuh"

namespace {

template <typename Config>
__global__ void gemm_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ Buffers<Config> buffers;
  float sums[Config::values] = {};
  int row0 = blockIdx.y * Config::m;
  int column0 = blockIdx.x * Config::n;
  for (int step = 0; step < k / Config::k; ++step) {
    int stage = step % Config::stages;
    load_tile<Config>(buffers.a[stage], a + row0 * k + step * Config::k, k, Config::m, Config::k);
    load_tile<Config>(buffers.b[stage], b + step * Config::k * n + column0, n, Config::k, Config::n);
    __syncthreads();
    for (int v = 0; v < Config::values; ++v) {
      int index = threadIdx.x + v * Config::threads;
      int row = index / Config::n;
      int column = index % Config::n;
      for (int i = 0; i < Config::k; ++i)
        sums[v] += buffers.a[stage][row * Config::k + i] * buffers.b[stage][i * Config::n + column];
    }
    __syncthreads();
  }
  for (int v = 0; v < Config::values; ++v) {
    int index = threadIdx.x + v * Config::threads;
    c[(row0 + index / Config::n) * n + column0 + index % Config::n] = sums[v];
  }
}

template <typename Config>
void launch(const float* a, const float* b, float* c, const Problem& problem) {
  dim3 grid(ceil_div(problem.n, Config::n), ceil_div(problem.m, Config::m));
  gemm_kernel<Config><<<grid, Config::threads>>>(a, b, c, problem.m, problem.n, problem.k);
  CHECK(cudaGetLastError());
}

}  // namespace

void gemm(const float* a, const float* b, float* c, Problem problem) {
  if (problem.m <= 512)
    launch<Tile<32, 32, 16, 2>>(a, b, c, problem);
  else if (problem.m <= 2048)
    launch<Tile<64, 64, 16, 2>>(a, b, c, problem);
  else
    launch<Tile<128, 128, 32, 4>>(a, b, c, problem);
}

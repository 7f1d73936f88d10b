// nvcc -arch=sm_90 -std=c++17 ell_multiply.cu -o ell_multiply
//
// Power iteration with a sparse matrix in ELLPACK form: rows padded to the longest one, stored column by column.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#define CUDA_CHECK(call)                                                                            \
  do {                                                                                              \
    cudaError_t code_ = (call);                                                                     \
    if (code_ != cudaSuccess) {                                                                     \
      std::fprintf(stderr, "%s:%d: %s failed: %s\n", "ell", __LINE__, #call, cudaGetErrorString(code_)); \
      std::exit(2);                                                                                 \
    }                                                                                               \
  } while (0)

namespace sparse {

struct DeviceDelete {
  void operator()(void* p) const { cudaFree(p); }
};
template <typename T>
using DevicePtr = std::unique_ptr<T[], DeviceDelete>;

template <typename T>
DevicePtr<T> allocate(size_t count) {
  void* p = nullptr;
  CUDA_CHECK(cudaMalloc(&p, count * sizeof(T)));
  return DevicePtr<T>(static_cast<T*>(p));
}

template <typename T>
DevicePtr<T> upload(const std::vector<T>& host) {
  auto device = allocate<T>(host.size());
  CUDA_CHECK(cudaMemcpy(device.get(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

struct Csr {
  int rows = 0;
  std::vector<int> begin{0};
  std::vector<int> columns;
  std::vector<float> values;
  void row(const std::vector<std::pair<int, float>>& entries) {
    for (const auto& entry : entries) {
      columns.push_back(entry.first);
      values.push_back(entry.second);
    }
    begin.push_back((int)columns.size());
    ++rows;
  }
  int longest() const {
    int most = 0;
    for (int i = 0; i < rows; ++i) most = std::max(most, begin[i + 1] - begin[i]);
    return most;
  }
};

struct Ell {
  int rows, width;
  DevicePtr<int> columns;
  DevicePtr<float> values;
};

Csr band_matrix(int rows, int reach) {
  Csr matrix;
  for (int i = 0; i < rows; ++i) {
    std::vector<std::pair<int, float>> entries;
    for (int j = std::max(0, i - reach); j <= std::min(rows - 1, i + reach); ++j) {
      if ((i + j) % 3 != 1) entries.emplace_back(j, 1.0f / (1 + std::abs(i - j)));
    }
    matrix.row(entries);
  }
  return matrix;
}

Ell to_ell(const Csr& csr) {
  const int width = csr.longest();
  std::vector<int> columns((size_t)csr.rows * width, -1);
  std::vector<float> values((size_t)csr.rows * width, 0.0f);
  for (int i = 0; i < csr.rows; ++i) {
    for (int k = csr.begin[i]; k < csr.begin[i + 1]; ++k) {
      const size_t slot = (size_t)(k - csr.begin[i]) * csr.rows + i;
      columns[slot] = csr.columns[k];
      values[slot] = csr.values[k];
    }
  }
  return {csr.rows, width, upload(columns), upload(values)};
}

__global__ void multiply(const int* __restrict__ columns, const float* __restrict__ values, const float* x, float* y,
                         int rows, int width) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = 0; k < width; ++k) {
    const int column = columns[(size_t)k * rows + row];
    sum += values[(size_t)k * rows + row] * __ldg(x + column);
  }
  y[row] = sum;
}

__global__ void squared_norm(const float* y, float* norm, int rows) {
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += gridDim.x * blockDim.x) sum += y[i] * y[i];
  for (int lane = 16; lane > 0; lane >>= 1) sum += __shfl_down_sync(~0u, sum, lane);
  if (threadIdx.x % 32 == 0) atomicAdd(norm, sum);
}

__global__ void rescale(float* y, const float* norm, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) y[row] *= rsqrtf(*norm + 1e-20f);
}

}  // namespace sparse

int main(int argc, char** argv) {
  const int rows = argc > 1 ? std::atoi(argv[1]) : 700;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 3;
  const auto started = std::chrono::steady_clock::now();
  const sparse::Csr csr = sparse::band_matrix(rows, 4);
  const sparse::Ell ell = sparse::to_ell(csr);
  std::vector<float> start(rows);
  std::iota(start.begin(), start.end(), 1.0f);
  auto x = sparse::upload(start);
  auto y = sparse::allocate<float>(rows);
  auto norm = sparse::allocate<float>(1);
  const int block = 128, grid = (rows + block - 1) / block;
  for (int step = 0; step < steps; ++step) {
    CUDA_CHECK(cudaMemset(norm.get(), 0, sizeof(float)));
    sparse::multiply<<<grid, block>>>(ell.columns.get(), ell.values.get(), x.get(), y.get(), ell.rows, ell.width);
    CUDA_CHECK(cudaGetLastError());
    sparse::squared_norm<<<4, block>>>(y.get(), norm.get(), rows);
    sparse::rescale<<<grid, block>>>(y.get(), norm.get(), rows);
    CUDA_CHECK(cudaDeviceSynchronize());
    std::swap(x, y);
  }
  float norm_host = 0.0f;
  CUDA_CHECK(cudaMemcpy(&norm_host, norm.get(), sizeof(float), cudaMemcpyDeviceToHost));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  std::printf("eigenvalue %g after %d steps, %.3f s\n", std::sqrt(norm_host), steps, took.count());
  return 0;
}

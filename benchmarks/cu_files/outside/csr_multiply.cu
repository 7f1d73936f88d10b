// nvcc -O2 -arch=sm_90 -std=c++17 csr_multiply.cu -o csr_multiply
//
// Y = A X for a sparse A in CSR and a block of dense vectors. Usage: csr_multiply [--rows N] [--vectors V] [--repeat R]
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <numeric>
#include <random>
#include <vector>

#define CUDA_CHECK(call)                                                                        \
  do {                                                                                          \
    cudaError_t status_ = (call);                                                               \
    if (status_ != cudaSuccess) {                                                               \
      std::cerr << __FILE__ << ": " << #call << ": " << cudaGetErrorString(status_) << std::endl; \
      std::exit(EXIT_FAILURE);                                                                  \
    }                                                                                           \
  } while (0)

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) : count_(count) { CUDA_CHECK(cudaMalloc(&data_, count * sizeof(T))); }
  explicit DeviceArray(const std::vector<T>& host) : DeviceArray(host.size()) {
    CUDA_CHECK(cudaMemcpy(data_, host.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }
  T* get() { return data_; }
  const T* get() const { return data_; }
  std::vector<T> to_host() const {
    std::vector<T> host(count_);
    CUDA_CHECK(cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

template <typename T>
struct CsrMatrix {
  int rows = 0;
  int columns = 0;
  std::vector<int> row_begin;
  std::vector<int> column;
  std::vector<T> value;
};

struct Options {
  int rows = 20000;
  int vectors = 8;
  int repeat = 3;
  unsigned seed = 42;
};

static Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const int number = std::atoi(argv[i + 1]);
    if (!std::strcmp(argv[i], "--rows")) {
      options.rows = number;
    } else if (!std::strcmp(argv[i], "--vectors")) {
      options.vectors = number;
    } else if (!std::strcmp(argv[i], "--repeat")) {
      options.repeat = number;
    } else {
      std::cerr << "unknown option " << argv[i] << std::endl;
      std::exit(2);
    }
  }
  return options;
}

template <typename T>
CsrMatrix<T> random_matrix(int rows, int columns, unsigned seed) {
  CsrMatrix<T> matrix;
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.row_begin.push_back(0);
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> length(0, 12), where(0, columns - 1);
  std::uniform_real_distribution<float> number(-1.0f, 1.0f);
  for (int row = 0; row < rows; ++row) {
    const int count = length(random);
    std::vector<int> chosen(count);
    for (int& each : chosen) each = where(random);
    std::sort(chosen.begin(), chosen.end());
    for (int each : chosen) {
      matrix.column.push_back(each);
      matrix.value.push_back(static_cast<T>(number(random)));
    }
    matrix.row_begin.push_back(static_cast<int>(matrix.column.size()));
  }
  return matrix;
}

// One warp for a row: its lanes take the nonzeros, and each vector is summed over the warp.
template <typename T>
__global__ void csr_spmm_warp(const int* __restrict__ row_begin, const int* __restrict__ column,
                              const T* __restrict__ value, const T* __restrict__ x, T* __restrict__ y, int rows,
                              int columns, int vectors) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
  const int lane = threadIdx.x % warpSize;
  if (warp >= rows) return;
  const int begin = row_begin[warp], end = row_begin[warp + 1];
  for (int v = 0; v < vectors; ++v) {
    T sum = T(0);
    for (int k = begin + lane; k < end; k += warpSize) {
      sum += value[k] * __ldg(&x[static_cast<size_t>(column[k]) * columns + v]);
    }
    for (int offset = warpSize / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane == 0) y[static_cast<size_t>(warp) * vectors + v] = sum;
  }
}

template <typename T>
__global__ void scale_rows(T* y, const T* scale, int rows, int vectors) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * vectors) y[i] *= scale[i / vectors];
}

template <typename T>
std::vector<T> reference(const CsrMatrix<T>& a, const std::vector<T>& x, const std::vector<T>& scale, int vectors) {
  std::vector<T> y(static_cast<size_t>(a.rows) * vectors, T(0));
  for (int row = 0; row < a.rows; ++row) {
    for (int k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k) {
      for (int v = 0; v < vectors; ++v) y[row * vectors + v] += a.value[k] * x[a.column[k] * vectors + v];
    }
    for (int v = 0; v < vectors; ++v) y[row * vectors + v] *= scale[row];
  }
  return y;
}

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const CsrMatrix<float> matrix = random_matrix<float>(options.rows, options.rows, options.seed);
  std::vector<float> x(static_cast<size_t>(matrix.columns) * options.vectors), scale(matrix.rows);
  std::iota(scale.begin(), scale.end(), 1.0f);
  for (float& each : scale) each = 1.0f / each;
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.01f * static_cast<float>(i));

  DeviceArray<int> row_begin(matrix.row_begin), column(matrix.column);
  DeviceArray<float> value(matrix.value), dense(x), factors(scale);
  DeviceArray<float> result(static_cast<size_t>(matrix.rows) * options.vectors);

  const int threads = 128;
  const int blocks = (matrix.rows * 32 + threads - 1) / threads;
  cudaEvent_t begin, end;
  float best = 1e30f;
  CUDA_CHECK(cudaEventCreate(&begin));
  CUDA_CHECK(cudaEventCreate(&end));
  for (int i = 0; i < options.repeat; ++i) {
    CUDA_CHECK(cudaEventRecord(begin));
    csr_spmm_warp<float><<<blocks, threads>>>(row_begin.get(), column.get(), value.get(), dense.get(), result.get(),
                                              matrix.rows, matrix.columns, options.vectors);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(end));
    CUDA_CHECK(cudaEventSynchronize(end));
    float milliseconds = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    best = std::min(best, milliseconds);
  }
  const int count = matrix.rows * options.vectors;
  scale_rows<<<(count + 255) / 256, 256>>>(result.get(), factors.get(), matrix.rows, options.vectors);
  CUDA_CHECK(cudaDeviceSynchronize());

  const std::vector<float> got = result.to_host(), want = reference(matrix, x, scale, options.vectors);
  double worst = 0.0;
  for (size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::fabs(double(got[i]) - want[i]));
  std::cout << matrix.value.size() << " nonzeros, " << best << " ms, largest error " << worst << std::endl;
  CUDA_CHECK(cudaEventDestroy(begin));
  CUDA_CHECK(cudaEventDestroy(end));
  return worst < 1e-3 ? EXIT_SUCCESS : EXIT_FAILURE;
}

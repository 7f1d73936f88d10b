// A half-precision matrix product on tensor cores, with bias and activation in the epilogue.
//
// nvcc -arch=sm_90 -O2 -std=c++17 wmma_epilogue.cu -o wmma_epilogue
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CHECK(call)                                                                       \
  do {                                                                                    \
    cudaError_t status_ = (call);                                                         \
    if (status_ != cudaSuccess) {                                                         \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

using namespace nvcuda;

constexpr int kTile = 16;
constexpr int kWarps = 4;
constexpr int kWarpSize = 32;

struct Problem {
  int m;
  int n;
  int k;
  float alpha;
};

enum class Activation { kNone, kRelu, kGelu };

template <Activation kKind>
__device__ __forceinline__ float activate(float x) {
  if constexpr (kKind == Activation::kRelu) {
    return fmaxf(x, 0.0f);
  } else if constexpr (kKind == Activation::kGelu) {
    float inner = 0.7978845608f * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1.0f + tanhf(inner));
  } else {
    return x;
  }
}

__device__ __forceinline__ int ceil_div(int a, int b) { return (a + b - 1) / b; }

// Each warp computes one tile of 16 x 16; the bias is added before the store.
template <Activation kKind, bool kHasBias>
__global__ void __launch_bounds__(kWarps* kWarpSize)
    product_kernel(const half* __restrict__ a, const half* __restrict__ b, const float* __restrict__ bias,
                   float* __restrict__ c, Problem problem) {
  const int warp = threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  const int tiles_n = ceil_div(problem.n, kTile);
  const int tile = blockIdx.x * kWarps + warp;
  const int row = (tile / tiles_n) * kTile;
  const int column = (tile % tiles_n) * kTile;
  if (row >= problem.m) {
    return;
  }

  wmma::fragment<wmma::matrix_a, kTile, kTile, kTile, half, wmma::row_major> a_fragment;
  wmma::fragment<wmma::matrix_b, kTile, kTile, kTile, half, wmma::row_major> b_fragment;
  wmma::fragment<wmma::accumulator, kTile, kTile, kTile, float> accumulator;
  wmma::fill_fragment(accumulator, 0.0f);

  for (int k = 0; k < problem.k; k += kTile) {
    wmma::load_matrix_sync(a_fragment, a + row * problem.k + k, problem.k);
    wmma::load_matrix_sync(b_fragment, b + k * problem.n + column, problem.n);
    wmma::mma_sync(accumulator, a_fragment, b_fragment, accumulator);
  }

  float staged[kTile * kTile];
  wmma::store_matrix_sync(staged, accumulator, kTile, wmma::mem_row_major);
  for (int i = lane; i < kTile * kTile; i += kWarpSize) {
    const int r = i / kTile;
    const int s = i % kTile;
    float value = problem.alpha * staged[i];
    if (kHasBias) {
      value += bias[column + s];
    }
    if (row + r < problem.m && column + s < problem.n) {
      c[(row + r) * problem.n + column + s] = activate<kKind>(value);
    }
  }
}

__global__ void convert_kernel(const float* in, half* out, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    out[i] = __float2half(in[i]);
  }
}

template <typename T>
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t count) : count_(count) { CHECK(cudaMalloc(&data_, count * sizeof(T))); }
  ~DeviceBuffer() { cudaFree(data_); }
  T* data() { return data_; }
  void upload(const std::vector<T>& host) {
    CHECK(cudaMemcpy(data_, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  std::vector<T> download() {
    std::vector<T> host(count_);
    CHECK(cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

static void reference(const std::vector<float>& a, const std::vector<float>& b, std::vector<float>& c,
                      const Problem& problem) {
  for (int i = 0; i < problem.m; ++i) {
    for (int j = 0; j < problem.n; ++j) {
      float sum = 0.0f;
      for (int k = 0; k < problem.k; ++k) {
        sum += a[i * problem.k + k] * b[k * problem.n + j];
      }
      c[i * problem.n + j] = std::max(0.0f, problem.alpha * sum);
    }
  }
}

int main(int argc, char** argv) {
  Problem problem{128, 64, 96, 0.5f};
  if (argc > 3) {
    problem.m = std::atoi(argv[1]);
    problem.n = std::atoi(argv[2]);
    problem.k = std::atoi(argv[3]);
  }
  std::mt19937 engine(7);
  std::normal_distribution<float> normal;
  std::vector<float> a(problem.m * problem.k), b(problem.k * problem.n), bias(problem.n, 0.0f);
  for (float& x : a) x = normal(engine);
  for (float& x : b) x = normal(engine);

  DeviceBuffer<float> a_full(a.size()), b_full(b.size()), bias_device(bias.size());
  DeviceBuffer<half> a_half(a.size()), b_half(b.size());
  DeviceBuffer<float> c_device(problem.m * problem.n);
  a_full.upload(a);
  b_full.upload(b);
  bias_device.upload(bias);
  convert_kernel<<<64, 256>>>(a_full.data(), a_half.data(), (int)a.size());
  convert_kernel<<<64, 256>>>(b_full.data(), b_half.data(), (int)b.size());
  CHECK(cudaGetLastError());

  const int tiles = ((problem.m + kTile - 1) / kTile) * ((problem.n + kTile - 1) / kTile);
  product_kernel<Activation::kRelu, true><<<(tiles + kWarps - 1) / kWarps, kWarps * kWarpSize>>>(
      a_half.data(), b_half.data(), bias_device.data(), c_device.data(), problem);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());

  std::vector<float> wanted(problem.m * problem.n), got = c_device.download();
  reference(a, b, wanted, problem);
  double worst = 0.0;
  for (size_t i = 0; i < got.size(); ++i) worst = std::max(worst, (double)std::fabs(got[i] - wanted[i]));
  std::printf("largest difference %g\n", worst);
  return worst < 0.1 ? 0 : 1;
}

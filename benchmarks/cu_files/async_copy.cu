// nvcc -arch=sm_90 -std=c++17 -O3 -lineinfo async_copy.cu -o async_copy
//
// Row-wise softmax of a matrix, with rows brought to shared memory by cp.async in two stages.
#include <cuda_runtime.h>

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace memory {

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

enum class Cache { kAlways, kGlobal };

template <int kBytes, Cache kCache>
__device__ __forceinline__ void copy_async(void* to, const void* from, bool valid) {
  const int bytes = valid ? kBytes : 0;
  if constexpr (kCache == Cache::kAlways) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(to)), "l"(from), "n"(kBytes),
                 "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.cg.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(to)), "l"(from), "n"(kBytes),
                 "r"(bytes)
                 : "memory");
  }
}

__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int kPending>
__device__ __forceinline__ void wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace memory

struct Extent {
  int rows;
  int columns;
};

template <typename T>
__device__ T warp_max(T value) {
  for (int offset = 16; offset > 0; offset /= 2) value = max(value, __shfl_xor_sync(0xffffffffu, value, offset));
  return value;
}

template <typename T>
__device__ T warp_sum(T value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

template <int kWarps, int kColumns, int kStages>
__global__ void softmax(const float* __restrict__ in, float* __restrict__ out, Extent extent) {
  constexpr int kVector = 2;
  __shared__ __align__(16) float stage[kWarps][kStages][kColumns];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int step = gridDim.x * kWarps;
  int row = blockIdx.x * kWarps + warp;

  auto fetch = [&](int which, int slot) {
    for (int c = lane * kVector; c < kColumns; c += 32 * kVector) {
      const bool valid = which < extent.rows && c < extent.columns;
      memory::copy_async<kVector * sizeof(float), memory::Cache::kGlobal>(
          &stage[warp][slot][c], valid ? in + (int64_t)which * extent.columns + c : in, valid);
    }
    memory::commit();
  };

  fetch(row, 0);
  for (int slot = 0; row < extent.rows; row += step, slot = (slot + 1) % kStages) {
    fetch(row + step, (slot + 1) % kStages);
    memory::wait<kStages - 1>();
    __syncwarp();
    float most = -FLT_MAX, sum = 0.0f;
    for (int c = lane; c < extent.columns; c += 32) most = fmaxf(most, stage[warp][slot][c]);
    most = warp_max(most);
    for (int c = lane; c < extent.columns; c += 32) sum += __expf(stage[warp][slot][c] - most);
    sum = warp_sum(sum);
    for (int c = lane; c < extent.columns; c += 32) {
      out[(int64_t)row * extent.columns + c] = __expf(stage[warp][slot][c] - most) / sum;
    }
    __syncwarp();
  }
}

static float reference(const float* row, int columns, int at) {
  float most = row[0], sum = 0.0f;
  for (int c = 1; c < columns; ++c) most = std::fmax(most, row[c]);
  for (int c = 0; c < columns; ++c) sum += std::exp(row[c] - most);
  return std::exp(row[at] - most) / sum;
}

int main() {
  const Extent extent{1000, 512};
  const size_t count = (size_t)extent.rows * extent.columns;
  std::vector<float> host(count), result(count);
  for (size_t i = 0; i < count; ++i) host[i] = std::sin(0.01f * i);
  float *in, *out;
  cudaMalloc(&in, count * sizeof(float));
  cudaMalloc(&out, count * sizeof(float));
  cudaMemcpy(in, host.data(), count * sizeof(float), cudaMemcpyHostToDevice);
  softmax<4, 512, 2><<<66, 128>>>(in, out, extent);
  if (cudaError_t error = cudaDeviceSynchronize()) {
    std::fprintf(stderr, "softmax: %s\n", cudaGetErrorString(error));
    return 1;
  }
  cudaMemcpy(result.data(), out, count * sizeof(float), cudaMemcpyDeviceToHost);
  for (int r = 0; r < extent.rows; r += 97) {
    const float wanted = reference(&host[(size_t)r * extent.columns], extent.columns, 5);
    if (std::fabs(result[(size_t)r * extent.columns + 5] - wanted) > 1e-5f) return 2;
  }
  std::puts("right");
  return 0;
}

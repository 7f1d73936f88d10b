// nvcc -arch=sm_90 -std=c++17 histogram_cub.cu -o histogram_cub
//
// Histogram with moments: each block sorts a tile by bin (CUB), sums runs in shared memory, and adds to global bins.
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "histogram_types.cuh"

#define CHECK(call)                                                                   \
  if (cudaError_t status_ = (call); status_ != cudaSuccess) {                         \
    std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(status_));     \
    std::exit(1);                                                                     \
  }

__global__ void clear_bins(Bin* bins, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    bins[i] = Bin{0u, 0.0f, 0.0f};
  }
}

template <typename Policy>
__global__ void __launch_bounds__(Policy::kThreads) histogram(const float* values, Bin* bins, int count, Range range) {
  using Load = cub::BlockLoad<float, Policy::kThreads, Policy::kItems, cub::BLOCK_LOAD_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<int, Policy::kThreads, Policy::kItems, float>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Sort::TempStorage sort;
  } temporary;
  __shared__ Bin partial[Policy::kBins];

  for (int i = threadIdx.x; i < Policy::kBins; i += Policy::kThreads) {
    partial[i] = Bin{0u, 0.0f, 0.0f};
  }
  __syncthreads();

  for (int base = blockIdx.x * Policy::kTile; base < count; base += gridDim.x * Policy::kTile) {
    float items[Policy::kItems];
    int keys[Policy::kItems];
    Load(temporary.load).Load(values + base, items, count - base, range.low);
    __syncthreads();
    for (int i = 0; i < Policy::kItems; ++i) {
      keys[i] = range.bin(items[i], Policy::kBins);
    }
    Sort(temporary.sort).Sort(keys, items);
    __syncthreads();
    for (int i = 0; i < Policy::kItems; ++i) {
      Bin& bin = partial[keys[i]];
      atomicAdd(&bin.count, 1u);
      atomicAdd(&bin.sum, items[i]);
      atomicAdd(&bin.squares, items[i] * items[i]);
    }
    __syncthreads();
  }

  for (int i = threadIdx.x; i < Policy::kBins; i += Policy::kThreads) {
    if (partial[i].count) {
      atomicAdd(&bins[i].count, partial[i].count);
      atomicAdd(&bins[i].sum, partial[i].sum);
      atomicAdd(&bins[i].squares, partial[i].squares);
    }
  }
}

__global__ void total(const Bin* bins, int count, unsigned* out) {
  using Reduce = cub::BlockReduce<unsigned, 256>;
  __shared__ typename Reduce::TempStorage storage;
  unsigned mine = 0;
  for (int i = threadIdx.x; i < count; i += 256) {
    mine += bins[i].count;
  }
  unsigned sum = Reduce(storage).Sum(mine);
  if (threadIdx.x == 0) {
    *out = sum;
  }
}

template <typename Policy>
static unsigned run(const std::vector<float>& host, Range range) {
  float* values;
  Bin* bins;
  unsigned *sum, result = 0;
  const int count = (int)host.size();
  CHECK(cudaMalloc(&values, count * sizeof(float)));
  CHECK(cudaMalloc(&bins, Policy::kBins * sizeof(Bin)));
  CHECK(cudaMalloc(&sum, sizeof(unsigned)));
  CHECK(cudaMemcpy(values, host.data(), count * sizeof(float), cudaMemcpyHostToDevice));
  clear_bins<<<(Policy::kBins + 255) / 256, 256>>>(bins, Policy::kBins);
  histogram<Policy><<<132, Policy::kThreads>>>(values, bins, count, range);
  CHECK(cudaGetLastError());
  total<<<1, 256>>>(bins, Policy::kBins, sum);
  CHECK(cudaMemcpy(&result, sum, sizeof result, cudaMemcpyDeviceToHost));
  cudaFree(values);
  cudaFree(bins);
  cudaFree(sum);
  return result;
}

int main(int argc, char** argv) {
  const bool large = argc < 2 || std::atoi(argv[1]) > 256;
  std::vector<float> host(1 << 20);
  unsigned state = 12345;
  for (float& value : host) {
    state = state * 1664525u + 1013904223u;
    value = (float)(state >> 8) / (1 << 24);
  }
  Range range{0.0f, 1.0f};
  unsigned sum = large ? run<LargePolicy>(host, range) : run<SmallPolicy>(host, range);
  std::printf("%u of %zu values\n", sum, host.size());
  return sum == host.size() ? 0 : 1;
}

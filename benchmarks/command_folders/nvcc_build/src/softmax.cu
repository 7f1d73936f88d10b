#include <cfloat>

#include "common.cuh"
#include "launch.cuh"

__global__ void softmax_kernel(const float* in, float* out, int columns) {
  const float* row = in + blockIdx.x * columns;
  float highest = -FLT_MAX;
  for (int i = threadIdx.x; i < columns; i += kWarp) highest = fmaxf(highest, row[i]);
  highest = __shfl_sync(0xffffffff, warp_max(highest), 0);
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += kWarp) sum += expf(row[i] - highest);
  sum = __shfl_sync(0xffffffff, warp_sum(sum), 0);
  for (int i = threadIdx.x; i < columns; i += kWarp) out[blockIdx.x * columns + i] = expf(row[i] - highest) / sum;
}

void softmax(const float* in, float* out, int rows, int columns) {
  softmax_kernel<<<rows, kWarp>>>(in, out, columns);
  CHECK(cudaGetLastError());
}

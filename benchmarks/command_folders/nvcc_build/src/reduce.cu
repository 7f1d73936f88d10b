#include "common.cuh"
#include "launch.cuh"

__global__ void sum_kernel(const float* in, float* out, int count) {
  __shared__ float parts[kWarp];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x) sum += in[i];
  sum = warp_sum(sum);
  if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = sum;
  __syncthreads();
  if (threadIdx.x < kWarp) {
    sum = threadIdx.x < blockDim.x / kWarp ? parts[threadIdx.x] : 0;
    sum = warp_sum(sum);
    if (threadIdx.x == 0) atomicAdd(out, sum);
  }
}

float total(const float* in, int count) {
  float* sum;
  float result;
  CHECK(cudaMalloc(&sum, sizeof(float)));
  CHECK(cudaMemset(sum, 0, sizeof(float)));
  sum_kernel<<<64, 256>>>(in, sum, count);
  CHECK(cudaMemcpy(&result, sum, sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(sum));
  return result;
}

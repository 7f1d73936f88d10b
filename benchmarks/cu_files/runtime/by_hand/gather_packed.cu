// nvcc -arch=sm_90 -std=c++17 gather_packed.cu -o gather_packed && ./gather_packed
#include <cstdio>
__global__ void gather_rows(float* values, int* offsets) {
  *(float4*)values = *(float4*)(values + *offsets);
}
int main() {
  int total = 5, *offsets;
  float* values;
  cudaMalloc(&values, 64);
  cudaMalloc(&offsets, 4);
  cudaMemcpy(offsets, &total, 4, cudaMemcpyHostToDevice);
  gather_rows<<<1, 1>>>(values, offsets);
  if (cudaError_t error = cudaDeviceSynchronize()) {
    fprintf(stderr, "failed: gather_rows: %s\n", cudaGetErrorString(error));
    return 1;
  }
}

// nvcc -arch=sm_90 -std=c++17 jacobi_residual.cu -o jacobi_residual && ./jacobi_residual
#include <cstdio>
__global__ void sweep(double* partial) { partial[blockIdx.x] = 0; }
int main() {
  int width = 63;
  double* partial;
  cudaMalloc(&partial, width / 32 * sizeof(double));
  sweep<<<(width + 31) / 32, 1>>>(partial);
  if (cudaError_t error = cudaDeviceSynchronize()) {
    fprintf(stderr, "%s\n", cudaGetErrorString(error));
    return 3;
  }
}

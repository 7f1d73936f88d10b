// nvcc -arch=sm_90 -std=c++17 ell_multiply.cu -o ell_multiply && ./ell_multiply
#include <cstdio>
__global__ void multiply(int* columns, float* x, float* y) { *y = x[*columns]; }
int main() {
  int column = -1, *columns;
  float *x, *y;
  cudaMalloc(&columns, 4);
  cudaMalloc(&x, 4);
  cudaMalloc(&y, 4);
  cudaMemcpy(columns, &column, 4, cudaMemcpyHostToDevice);
  multiply<<<1, 1>>>(columns, x, y);
  if (cudaError_t error = cudaDeviceSynchronize()) {
    fprintf(stderr, "%s\n", cudaGetErrorString(error));
    return 2;
  }
}

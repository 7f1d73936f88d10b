// nvcc -O2 -arch=sm_90 -std=c++17 csr_multiply.cu -o csr_multiply && ./csr_multiply
#include <iostream>
__global__ void csr_spmm_warp(int* column, float* x, int columns, int vectors) {
  x[0] = x[(size_t)column[0] * columns];
}
int main() {
  int rows = 20000, vectors = 8, host = rows - 1, *column;
  float* x;
  cudaMalloc(&column, 4);
  cudaMalloc(&x, rows * vectors * sizeof(float));
  cudaMemcpy(column, &host, 4, cudaMemcpyHostToDevice);
  csr_spmm_warp<<<1, 1>>>(column, x, rows, vectors);
  if (cudaError_t status_ = cudaDeviceSynchronize()) {
    std::cerr << cudaGetErrorString(status_);
    exit(1);
  }
}

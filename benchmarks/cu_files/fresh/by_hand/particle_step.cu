// nvcc -O2 -arch=sm_90 -std=c++17 particle_step.cu -o particle_step && ./particle_step
#include <iostream>
__global__ void inject(float* x) { *x = 0; }
int main() {
  int capacity = 1;
  float *data, *larger;
  cudaMalloc(&data, capacity * sizeof(float));
  float* view = data;
  cudaMalloc(&larger, 2 * capacity * sizeof(float));
  cudaFree(data);
  data = larger;
  inject<<<1, 1>>>(view);
  if (cudaError_t code = cudaDeviceSynchronize()) {
    std::cerr << cudaGetErrorString(code) << "\n";
    return 1;
  }
}

// nvcc -O3 -arch=sm_90 heat_tiles.cu -o heat_tiles && ./heat_tiles
#include <cstdio>
#include <cstdlib>
__global__ void step_quads(float* in, int halo) {
  *(float4*)in = *(float4*)(in + halo);
}
int main() {
  int halo = 1;
  float* front_;
  cudaMalloc(&front_, 64);
  step_quads<<<1, 1>>>(front_, halo);
  if (cudaError_t code = cudaDeviceSynchronize()) {
    fprintf(stderr, "GPU error in line %d, %s: %s\n", 1, "", cudaGetErrorString(code));
    exit(1);
  }
}

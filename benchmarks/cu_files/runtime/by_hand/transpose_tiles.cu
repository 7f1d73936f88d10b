// nvcc -arch=sm_90 -std=c++17 transpose_tiles.cu -o transpose_tiles && ./transpose_tiles
#include <cstdio>
__global__ void transpose(int tile) {
  extern __shared__ double cells[];
  for (int y = 0; y < tile; ++y) cells[y] = 1;
}
int main() {
  int tile = 1024;
  transpose<<<1, 1, tile * sizeof(float)>>>(tile);
  if (cudaError_t error = cudaDeviceSynchronize()) {
    fprintf(stderr, "failed: transpose: %s\n", cudaGetErrorString(error));
    return 1;
  }
}

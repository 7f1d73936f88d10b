// nvcc -O3 -arch=sm_90 ring_window.cu -o ring_window && ./ring_window
#include <stdio.h>
__global__ void window_mean(float *frames, int oldest, int slots) {
  for (int k = 0; k < 5; k++) {
    int slot = oldest + k;
    frames[0] = frames[slot * 64000];
  }
}
int main() {
  int slots = 48, newest = 3;
  float *frames;
  cudaMalloc((void **)&frames, slots * 256000);
  cudaMemset(frames, 0, slots * 256000);
  int oldest = (newest + slots - 4) % slots;
  window_mean<<<1, 1>>>(frames, oldest, slots);
  if (cudaError_t rc = cudaDeviceSynchronize()) {
    fprintf(stderr, "%s\n", cudaGetErrorString(rc));
    return 1;
  }
}

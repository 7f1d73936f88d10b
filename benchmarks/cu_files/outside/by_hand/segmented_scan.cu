// nvcc -O3 -arch=sm_90 -std=c++14 segmented_scan.cu -o segmented_scan && ./segmented_scan
#include <cstdio>
#include <cstdlib>
#include <vector>
__global__ void add_carries(int* segment, int* first, int at) {
  *segment = first[segment[at]];
}
int main() {
  int segments = 1, length = 5000000, *segment, *first;
  std::vector<int> owner;
  for (int s = 0; s < segments; ++s)
    for (int i = 0; i < length; ++i) owner.push_back(owner.size());
  cudaMalloc(&segment, 4 * length);
  cudaMalloc(&first, 4 * segments);
  cudaMemcpy(segment, &owner[0], 4 * length, cudaMemcpyHostToDevice);
  add_carries<<<1, 1>>>(segment, first, length - 1);
  if (cudaError_t code = cudaDeviceSynchronize()) {
    fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), "", 1);
    exit(code);
  }
}

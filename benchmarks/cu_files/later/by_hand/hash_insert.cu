// nvcc -O2 -arch=sm_90 -std=c++17 hash_insert.cu -o hash_insert && ./hash_insert
#include <cstdio>
struct Slot { unsigned long long key, value; };
__global__ void insert(Slot* slots, unsigned mask) {
  atomicCAS(&slots[mask - threadIdx.x].key, 0, 1);
}
unsigned next_power(unsigned value) {
  unsigned power = 1;
  while (power < value) power <<= 1;
  return power;
}
int main() {
  unsigned capacity = 270000, mask = next_power(capacity) - 1;
  Slot* slots;
  cudaMalloc(&slots, capacity * sizeof(Slot));
  cudaMemset(slots, 0, capacity * sizeof(Slot));
  insert<<<1, 1>>>(slots, mask);
  if (cudaError_t status = cudaDeviceSynchronize()) {
    fprintf(stderr, "cudaDeviceSynchronize() failed: %s\n", cudaGetErrorString(status));
    return 2;
  }
}

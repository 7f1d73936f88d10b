// nvcc -O2 -arch=sm_90 -std=c++17 batched_topk.cu -o batched_topk && ./batched_topk
#include <cstdio>
const unsigned kNone = 0xffffffffu;
__global__ void select_top(unsigned* winners) { *winners = kNone; }
__global__ void gather_payload(double* payload, unsigned* winners) {
  const unsigned winner = *winners;
  *payload = payload[winner];
}
int main() {
  double* payload;
  unsigned* winners;
  cudaMalloc(&payload, 8);
  cudaMalloc(&winners, 4);
  select_top<<<1, 1>>>(winners);
  gather_payload<<<1, 1>>>(payload, winners);
  if (cudaError_t e = cudaDeviceSynchronize()) {
    fprintf(stderr, "batched_topk: %s\n", cudaGetErrorString(e));
    return 1;
  }
}

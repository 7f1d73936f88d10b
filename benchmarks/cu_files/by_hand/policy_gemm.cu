// nvcc -arch=sm_90 policy_gemm.cu
#include <cuda_fp16.h>
template <typename Output>
__global__ void kernel() {
  Output out;
  out.clamp();
}
int main() { kernel<half><<<1, 1>>>(); }

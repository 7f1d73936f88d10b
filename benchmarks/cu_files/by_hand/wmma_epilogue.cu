// nvcc -arch=sm_90 wmma_epilogue.cu
#include <mma.h>
using namespace nvcuda;
__global__ void product_kernel() {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> accumulator;
  float staged[256];
  wmma::store_matrix_sync(staged, accumulator, 16, wmma::mem_row_major);
}
int main() { product_kernel<<<1, 32>>>(); }

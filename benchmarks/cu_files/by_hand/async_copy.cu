// nvcc -arch=sm_90 async_copy.cu
__global__ void softmax() { asm("cp.async.cg.shared.global [%0], [%1], %2;" ::"r"(0), "l"(0l), "n"(8)); }
int main() { softmax<<<1, 1>>>(); }

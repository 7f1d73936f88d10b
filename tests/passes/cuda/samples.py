"""CUDA C++ with what kernels and their hosts are made of, in literals of each sort; a whole script with a driver."""

from pathlib import Path

KERNEL = r"""
#include <cuda_fp16.h>
#define TILE 16
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
namespace fa {
template <int M_, int N_ = 4>
struct Traits {
  static constexpr int M = M_;
  static constexpr int N = N_;
  static_assert(M_ > 0, "tiles");
  __align__(16) half q[M_][TILE];
};
struct Params { const half* q; float* o; int n; };
__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_xor_sync(0xffffffffu, v, offset);
  return v;
}
__device__ int above(float v) {
  if (v < 0.0f) return 0;
  return 1;
}
__device__ int nobody() { return 3; }
template <typename T>
__device__ void fill(half* tile, const half* __restrict__ source, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    if (i < T::M * TILE) tile[i] = source[i]; else { tile[i] = __float2half(0.0f); }
  }
}
#if defined(FAST)
__device__ int mode() { return 1; }
#else
__device__ int mode() { return 2; }
#endif
template <typename T>
__global__ void __launch_bounds__(128, 2) kernel(Params params, float scale) {
  extern __shared__ __align__(16) unsigned char raw[];
  half* tile = reinterpret_cast<half*>(raw);
  float sum = 0.0f, other = 1.0f, *p = nullptr;
  fill<T>(tile, params.q, params.n);
  above(sum);
  __syncthreads();
  switch (mode()) {
    case 1: sum += 1.0f; break;
    default: sum -= other;
  }
  do { sum = sum > 3.0f ? sum - 1.0f : -sum; } while (sum > 4.0f && scale * (sum + 2.0f) < 0.0f);
  asm volatile("bar.sync 0;" ::: "memory");
  if constexpr (T::M % 2 == 0) { sum = warp_sum(sum); }
  params.o[CEIL_DIV(params.n, 2)] = sum * scale;
}
}  // namespace fa
using Small = fa::Traits<16>;
extern "C" void launch(const half* q, float* o, int n, cudaStream_t stream) {
  assert(n > 0);
  dim3 grid(1), block(128);
  fa::Params params{q, o, n};
  fa::kernel<Small><<<grid, block, 1024, stream>>>(params, 0.5f);
}
"""

HOST = r"""
static void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}
template <typename T>
class Buffer {
 public:
  explicit Buffer(size_t count) : count_(count) { check(cudaMalloc(&data_, bytes()), "allocate"); }
  ~Buffer() { cudaFree(data_); }
  T* get() const { return data_; }
  void clear(int with) { check(cudaMemset(data_, with, bytes()), "clear"); }

 private:
  size_t bytes() const { return count_ * sizeof(T); }
  size_t count_;
  T* data_ = nullptr;
};
int main(int argc, char** argv) {
  try {
    std::vector<int> sizes;
    sizes.push_back(argc);
    Buffer<half> q(sizes[0]);
    q.clear(0);
    for (int n : {1, 2}) launch(q.get(), nullptr, n, 0);
    check(cudaDeviceSynchronize(), "launch");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "failed: %s\n", error.what());
    return 1;
  }
}
"""

SOURCE = KERNEL + HOST
ESCAPED = SOURCE.replace("\\", "\\\\")
DOUBLED = SOURCE.replace("{", "{{").replace("}", "}}").replace("#define TILE 16", "#define TILE {tile}")

SCRIPTS = {
    "raw": f"source = r'''{SOURCE}'''\nuse(source, launch=1)\n",
    "plain": f'source = """{ESCAPED}"""\nuse(source)\n',
    "one line": f"source = {SOURCE!r}\nuse(source)\n",
    "f-string": f'tile = 16\nsource = rf"""{DOUBLED}"""\nuse(source)\n',
}

PRODUCT = (Path(__file__).parents[1] / "samples" / "cuda_extension.py").read_text()
"""A driver and its kernel, with a WMMA load from a local array in it."""

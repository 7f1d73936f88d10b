// What stands for CUDA when a host compiler reads a program's kernels. machine.cpp has the machine behind it.
#ifndef SHRINK_CPU
#define SHRINK_CPU
#include <cuda_runtime.h>

#include <bits/stl_algobase.h>  // max, min: and none of the headers that a program has to name itself
#include <cmath>
#include <type_traits>

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __managed__
#undef __launch_bounds__
#undef __forceinline__
#undef __noinline__
#define __global__ __attribute__((noinline))
#define __device__
#define __host__
// Named for the survey, which looks for the tag; and used, else what nobody writes is zero to g++.
#define __shared__ static __attribute__((used, abi_tag("shrink_shared")))
#define __constant__
#define __managed__
#define __launch_bounds__(...)
#define __forceinline__ inline
#define __noinline__
#define __ldg(p) (*(p))

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
constexpr int warpSize = 32;
using std::max;
using std::min;

namespace shrink_cpu {
extern char shared_memory[];
extern long long moves[];  // of what comparisons compare with; see bounds.py
template <class T>
typename std::enable_if<std::is_integral<T>::value, long long>::type moved(int bound, T right) {
  return right + moves[bound];
}
template <class T>
typename std::enable_if<!std::is_integral<T>::value, T>::type moved(int, T right) {
  return right;  // a threshold is of the data
}
unsigned long long exchange(unsigned long long value, int lane, int from);
int vote(int value, int which);
unsigned active();
void atomic(const void* at, size_t size);
int lane();
cudaError_t copied_to_symbol(void* to, const void* from, size_t size);

template <class T>
struct Same {
  using type = T;
};

class Launch {
 public:
  Launch(const char* kernel, dim3 grid, dim3 block = 1, size_t shared = 0, cudaStream_t stream = nullptr)
      : kernel_(kernel), grid_(grid), block_(block), shared_(shared), stream_(stream) {}
  template <class... P>
  void run(void (*kernel)(P...), typename Same<P>::type... given) {
    const int looked[] = {0, (look(given), 0)...};
    auto body = [&]() __attribute__((no_sanitize_address)) { kernel(given...); };
    start_body(body);
  }
  template <class F, class... A>
  void deduced(F kernel, A... given) {
    const int looked[] = {0, (look(given), 0)...};
    auto body = [&]() __attribute__((no_sanitize_address)) { kernel(given...); };
    start_body(body);
  }

 private:
  template <class B>
  void start_body(B& body) {
    start([](void* it) { (*(B*)it)(); }, &body);
  }
  template <class T>
  void look(const T&) {}
  template <class T>
  void look(T* given) {
    point((const void*)given);
  }
  void point(const void* at);
  void start(void (*run)(void*), void* body);
  const char* kernel_;
  dim3 grid_, block_;
  size_t shared_;
  cudaStream_t stream_;
};

template <class T>
T exchanged(T value, int from) {
  unsigned long long bits = 0;
  static_assert(sizeof value <= sizeof bits, "a word at most");
  __builtin_memcpy(&bits, &value, sizeof value);
  bits = exchange(bits, lane(), from);
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
}  // namespace shrink_cpu

void __syncthreads();
void __syncwarp(unsigned mask = ~0u);
inline void __threadfence() {}
inline void __threadfence_block() {}
inline int __all_sync(unsigned, int value) { return shrink_cpu::vote(value, 0); }
inline int __any_sync(unsigned, int value) { return shrink_cpu::vote(value, 1); }
inline unsigned __ballot_sync(unsigned, int value) { return shrink_cpu::vote(value, 2); }
inline unsigned __activemask() { return shrink_cpu::active(); }
template <class T>
T __shfl_sync(unsigned, T value, int from, int width = 32) {
  const int lane = shrink_cpu::lane();
  return shrink_cpu::exchanged(value, lane / width * width + (from & (width - 1)));
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned by, int width = 32) {
  const int lane = shrink_cpu::lane();
  return shrink_cpu::exchanged(value, lane % width + (int)by < width ? lane + (int)by : lane);
}
template <class T>
T __shfl_up_sync(unsigned, T value, unsigned by, int width = 32) {
  const int lane = shrink_cpu::lane();
  return shrink_cpu::exchanged(value, lane % width - (int)by >= 0 ? lane - (int)by : lane);
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int by, int width = 32) {
  const int lane = shrink_cpu::lane();
  return shrink_cpu::exchanged(value, (lane ^ by) / width == lane / width ? lane ^ by : lane);
}
#define SHRINK_UNCHECKED __attribute__((no_sanitize_address))
#define SHRINK_ATOMIC(name, after)              \
  template <class T, class V>                   \
  SHRINK_UNCHECKED T name(T* at, V value) {     \
    shrink_cpu::atomic(at, sizeof *at);         \
    const T before = *at;                       \
    *at = after;                                \
    return before;                              \
  }
SHRINK_ATOMIC(atomicAdd, before + (T)value)
SHRINK_ATOMIC(atomicSub, before - (T)value)
SHRINK_ATOMIC(atomicMax, before < (T)value ? (T)value : before)
SHRINK_ATOMIC(atomicMin, (T)value < before ? (T)value : before)
SHRINK_ATOMIC(atomicExch, (T)value)
SHRINK_ATOMIC(atomicOr, before | (T)value)
SHRINK_ATOMIC(atomicAnd, before & (T)value)
template <class T, class V>
SHRINK_UNCHECKED T atomicCAS(T* at, V compare, V value) {
  shrink_cpu::atomic(at, sizeof *at);
  const T before = *at;
  if (before == (T)compare) *at = value;
  return before;
}
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
#define SHRINK_BITS(name, to, from) \
  inline to name(from x) {          \
    to made;                        \
    __builtin_memcpy(&made, &x, sizeof made); \
    return made;                    \
  }
SHRINK_BITS(__float_as_int, int, float)
SHRINK_BITS(__float_as_uint, unsigned, float)
SHRINK_BITS(__int_as_float, float, int)
SHRINK_BITS(__uint_as_float, float, unsigned)
SHRINK_BITS(__double_as_longlong, long long, double)
SHRINK_BITS(__longlong_as_double, double, long long)
// A variable of the device has its address on the host here. That of a table is cleared where a copy to memory is.
template <class T>
cudaError_t cudaMemcpyToSymbol(T& symbol, const void* from, size_t size, size_t offset = 0,
                               cudaMemcpyKind = cudaMemcpyHostToDevice) {
  if (offset > sizeof symbol || size > sizeof symbol - offset) return cudaErrorInvalidValue;
  return shrink_cpu::copied_to_symbol((char*)&symbol + offset, from, size);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, T& symbol, size_t size, size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  if (offset > sizeof symbol || size > sizeof symbol - offset) return cudaErrorInvalidValue;
  return cudaMemcpy(to, (const char*)&symbol + offset, size, kind);
}
template <class T>
cudaError_t cudaGetSymbolAddress(void** out, T& symbol) {
  *out = (void*)&symbol;
  return cudaSuccess;
}
#endif

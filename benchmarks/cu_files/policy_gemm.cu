// nvcc -arch=sm_90 -std=c++17 policy_gemm.cu -o policy_gemm
//
// A product in the style of CUTLASS: tiles, iterators, a main loop and an epilogue, put together by templates.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <type_traits>
#include <vector>

namespace gemm {

template <int M_, int N_, int K_>
struct Shape {
  static constexpr int M = M_;
  static constexpr int N = N_;
  static constexpr int K = K_;
  static constexpr int kMN = M_ * N_;
};

struct RowMajor {
  __host__ __device__ static int offset(int row, int column, int stride) { return row * stride + column; }
};
struct ColumnMajor {
  __host__ __device__ static int offset(int row, int column, int stride) { return column * stride + row; }
};

template <typename T, int N>
struct Array {
  T storage[N];
  __device__ T& operator[](int at) { return storage[at]; }
  __device__ const T& operator[](int at) const { return storage[at]; }
  __device__ void clear() {
    for (int i = 0; i < N; ++i) storage[i] = T(0);
  }
};

template <typename To, typename From, int N>
struct Convert {
  __device__ Array<To, N> operator()(const Array<From, N>& from) const {
    Array<To, N> to;
    for (int i = 0; i < N; ++i) to[i] = static_cast<To>(from[i]);
    return to;
  }
};

template <typename Element, typename Layout, int Rows, int Columns, int Threads>
class TileIterator {
 public:
  static constexpr int kAccesses = Rows * Columns / Threads;
  using Fragment = Array<Element, kAccesses>;
  __device__ TileIterator(const Element* pointer, int stride, int rows, int columns, int thread)
      : pointer_(pointer), stride_(stride), rows_(rows), columns_(columns), thread_(thread) {}
  __device__ void load(Fragment& fragment, int row, int column) const {
    for (int i = 0; i < kAccesses; ++i) {
      const int at = thread_ + i * Threads;
      const int r = row + at / Columns, c = column + at % Columns;
      fragment[i] = r < rows_ && c < columns_ ? pointer_[Layout::offset(r, c, stride_)] : Element(0);
    }
  }
  __device__ void store(Element* shared, const Fragment& fragment) const {
    for (int i = 0; i < kAccesses; ++i) shared[thread_ + i * Threads] = fragment[i];
  }

 private:
  const Element* pointer_;
  int stride_, rows_, columns_, thread_;
};

template <typename Output, typename Accumulator, int Count>
struct LinearCombination {
  using Fragment = Array<Accumulator, Count>;
  struct Params {
    Accumulator alpha, beta;
  };
  Params params;
  __device__ explicit LinearCombination(const Params& p) : params(p) {}
  __device__ Array<Output, Count> operator()(const Fragment& sums, const Array<Output, Count>& source) const {
    Fragment scaled;
    for (int i = 0; i < Count; ++i) scaled[i] = params.alpha * sums[i] + params.beta * static_cast<Accumulator>(source[i]);
    return Convert<Output, Accumulator, Count>()(scaled);
  }
};

template <typename Output, typename Accumulator, int Count>
struct LinearCombinationClamp : LinearCombination<Output, Accumulator, Count> {
  using Base = LinearCombination<Output, Accumulator, Count>;
  using Base::Base;
  __device__ Array<Output, Count> operator()(const typename Base::Fragment& sums, const Array<Output, Count>& source) const {
    Array<Output, Count> out = Base::operator()(sums, source);
    for (int i = 0; i < Count; ++i) out[i] = out[i].clamp(Output(this->params.low), Output(6));
    return out;
  }
};

template <typename Element_, typename Accumulator_, typename Tile_, int Threads_, template <typename, typename, int> class Epilogue_>
struct Policy {
  using Element = Element_;
  using Accumulator = Accumulator_;
  using Tile = Tile_;
  static constexpr int kThreads = Threads_;
  static constexpr int kPerThread = Tile::kMN / kThreads;
  using IteratorA = TileIterator<Element, RowMajor, Tile::M, Tile::K, kThreads>;
  using IteratorB = TileIterator<Element, RowMajor, Tile::K, Tile::N, kThreads>;
  using Epilogue = Epilogue_<Element, Accumulator, kPerThread>;
};

template <typename P>
struct Arguments {
  const typename P::Element *a, *b;
  typename P::Element* c;
  int m, n, k;
  typename P::Epilogue::Params epilogue;
};

template <typename P>
__global__ void __launch_bounds__(P::kThreads) kernel(Arguments<P> args) {
  using Tile = typename P::Tile;
  using Element = typename P::Element;
  __shared__ Element a_tile[Tile::M * Tile::K];
  __shared__ Element b_tile[Tile::K * Tile::N];
  const int row = blockIdx.y * Tile::M, column = blockIdx.x * Tile::N;
  typename P::IteratorA a(args.a, args.k, args.m, args.k, threadIdx.x);
  typename P::IteratorB b(args.b, args.n, args.k, args.n, threadIdx.x);
  Array<typename P::Accumulator, P::kPerThread> sums;
  sums.clear();
  for (int k = 0; k < args.k; k += Tile::K) {
    typename P::IteratorA::Fragment a_fragment;
    typename P::IteratorB::Fragment b_fragment;
    a.load(a_fragment, row, k);
    b.load(b_fragment, k, column);
    a.store(a_tile, a_fragment);
    b.store(b_tile, b_fragment);
    __syncthreads();
    for (int i = 0; i < P::kPerThread; ++i) {
      const int at = threadIdx.x + i * P::kThreads;
      for (int j = 0; j < Tile::K; ++j) {
        sums[i] += static_cast<typename P::Accumulator>(a_tile[at / Tile::N * Tile::K + j]) *
                   static_cast<typename P::Accumulator>(b_tile[j * Tile::N + at % Tile::N]);
      }
    }
    __syncthreads();
  }
  typename P::Epilogue epilogue(args.epilogue);
  Array<Element, P::kPerThread> source;
  source.clear();
  Array<Element, P::kPerThread> out = epilogue(sums, source);
  for (int i = 0; i < P::kPerThread; ++i) {
    const int at = threadIdx.x + i * P::kThreads;
    const int r = row + at / Tile::N, c = column + at % Tile::N;
    if (r < args.m && c < args.n) args.c[RowMajor::offset(r, c, args.n)] = out[i];
  }
}

template <typename P>
cudaError_t launch(const Arguments<P>& args) {
  dim3 grid((args.n + P::Tile::N - 1) / P::Tile::N, (args.m + P::Tile::M - 1) / P::Tile::M);
  kernel<P><<<grid, P::kThreads>>>(args);
  return cudaGetLastError();
}

}  // namespace gemm

using Plain = gemm::Policy<float, float, gemm::Shape<32, 32, 8>, 128, gemm::LinearCombination>;
using Clamped = gemm::Policy<half, float, gemm::Shape<64, 32, 16>, 256, gemm::LinearCombinationClamp>;

template <typename P>
static int run(int m, int n, int k) {
  using Element = typename P::Element;
  std::vector<Element> a(m * k, Element(1)), b(k * n, Element(0.5f)), c(m * n);
  gemm::Arguments<P> args{};
  cudaMalloc((void**)&args.a, a.size() * sizeof(Element));
  cudaMalloc((void**)&args.b, b.size() * sizeof(Element));
  cudaMalloc((void**)&args.c, c.size() * sizeof(Element));
  cudaMemcpy((void*)args.a, a.data(), a.size() * sizeof(Element), cudaMemcpyHostToDevice);
  cudaMemcpy((void*)args.b, b.data(), b.size() * sizeof(Element), cudaMemcpyHostToDevice);
  args.m = m, args.n = n, args.k = k;
  args.epilogue = {1.0f, 0.0f};
  if (gemm::launch<P>(args) != cudaSuccess) return 1;
  cudaMemcpy(c.data(), args.c, c.size() * sizeof(Element), cudaMemcpyDeviceToHost);
  std::printf("c[0] = %f\n", (float)c[0]);
  return 0;
}

int main() { return run<Plain>(256, 256, 64) + run<Clamped>(256, 256, 64); }

// nvcc -O3 -arch=sm_90 -std=c++14 segmented_scan.cu -o segmented_scan
//
// Inclusive scan of values in segments of uneven length. Three launches: tiles, carries between tiles, carries added.
#include <cuda_runtime.h>

#include <cassert>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#define gpuErrchk(ans) \
  { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char* file, int line, bool abort = true) {
  if (code != cudaSuccess) {
    fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
    if (abort) exit(code);
  }
}

template <class T>
struct Pair {
  T sum;
  int head;
};

template <class T>
struct Plus {
  __host__ __device__ T operator()(const T& a, const T& b) const { return a + b; }
};

template <class T, class Op>
__device__ Pair<T> combine(const Pair<T>& left, const Pair<T>& right, Op op) {
  Pair<T> both;
  both.sum = right.head ? right.sum : op(left.sum, right.sum);
  both.head = left.head | right.head;
  return both;
}

template <int TILE, class T, class Op>
__global__ void scan_tiles(const T* values, const int* segment, T* out, Pair<T>* tails, int count, Op op) {
  __shared__ Pair<T> tile[TILE];
  const int at = blockIdx.x * TILE + threadIdx.x;
  Pair<T> mine;
  mine.sum = at < count ? values[at] : T();
  mine.head = at < count && at > 0 && segment[at] != segment[at - 1];
  tile[threadIdx.x] = mine;
  __syncthreads();
  for (int step = 1; step < TILE; step *= 2) {
    Pair<T> other = mine;
    const bool takes = threadIdx.x >= step;
    if (takes) other = tile[threadIdx.x - step];
    __syncthreads();
    if (takes) mine = combine(other, mine, op);
    tile[threadIdx.x] = mine;
    __syncthreads();
  }
  if (at < count) out[at] = mine.sum;
  if (threadIdx.x == TILE - 1) tails[blockIdx.x] = mine;
}

template <class T, class Op>
__global__ void scan_carries(Pair<T>* tails, int tiles, Op op) {
  if (blockIdx.x || threadIdx.x) return;
  for (int i = 1; i < tiles; ++i) tails[i] = combine(tails[i - 1], tails[i], op);
}

template <int TILE, class T, class Op>
__global__ void add_carries(T* out, const Pair<T>* tails, const int* segment, const int* first, int count, Op op) {
  const int at = blockIdx.x * TILE + threadIdx.x;
  if (at >= count || blockIdx.x == 0) return;
  const int begin = blockIdx.x * TILE;
  if (first[segment[at]] < begin) out[at] = op(tails[blockIdx.x - 1].sum, out[at]);
}

template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) : data(other.data), size(other.size) { other.data = nullptr; }
  ~Buffer() {
    if (data) gpuErrchk(cudaFree(data));
  }
  void resize(size_t wanted) {
    if (data) gpuErrchk(cudaFree(data));
    size = wanted;
    gpuErrchk(cudaMalloc((void**)&data, size * sizeof(T)));
  }
  void assign(const std::vector<T>& host) {
    resize(host.size());
    gpuErrchk(cudaMemcpy(data, &host[0], size * sizeof(T), cudaMemcpyHostToDevice));
  }
  T* data = nullptr;
  size_t size = 0;
};

template <class T, int TILE = 256>
class SegmentedScan {
 public:
  void setup(const std::vector<T>& values, const std::vector<int>& lengths) {
    std::vector<int> owner, starts;
    for (size_t s = 0; s < lengths.size(); ++s) {
      starts.push_back((int)owner.size());
      for (int i = 0; i < lengths[s]; ++i) owner.push_back((int)owner.size());
    }
    assert(owner.size() == values.size());
    values_.assign(values);
    segment_.assign(owner);
    first_.assign(starts);
    out_.resize(values.size());
    tails_.resize(tiles());
  }
  int tiles() const { return (int)((values_.size + TILE - 1) / TILE); }
  template <class Op>
  void run(Op op) {
    const int count = (int)values_.size;
    scan_tiles<TILE><<<tiles(), TILE>>>(values_.data, segment_.data, out_.data, tails_.data, count, op);
    gpuErrchk(cudaPeekAtLastError());
    scan_carries<<<1, 32>>>(tails_.data, tiles(), op);
    gpuErrchk(cudaPeekAtLastError());
    add_carries<TILE><<<tiles(), TILE>>>(out_.data, tails_.data, segment_.data, first_.data, count, op);
    gpuErrchk(cudaPeekAtLastError());
    gpuErrchk(cudaDeviceSynchronize());
  }
  std::vector<T> result() const {
    std::vector<T> host(out_.size);
    gpuErrchk(cudaMemcpy(&host[0], out_.data, out_.size * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  Buffer<T> values_, out_;
  Buffer<int> segment_, first_;
  Buffer<Pair<T>> tails_;
};

int main(int argc, char* argv[]) {
  int segments = 3000, longest = 4000, loops = 1;
  bool verbose = false;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "-n" && i + 1 < argc) segments = atoi(argv[++i]);
    else if (arg == "-m" && i + 1 < argc) longest = atoi(argv[++i]);
    else if (arg == "-l" && i + 1 < argc) loops = atoi(argv[++i]);
    else if (arg == "-v") verbose = true;
    else {
      std::cerr << "usage: " << argv[0] << " [-n segments] [-m longest] [-l loops] [-v]\n";
      return 2;
    }
  }
  std::default_random_engine engine(99);
  std::uniform_int_distribution<int> length(1, longest);
  std::vector<int> lengths(segments);
  size_t total = 0;
  for (auto& each : lengths) total += each = length(engine);
  std::vector<double> values(total);
  for (size_t i = 0; i < total; ++i) values[i] = (double)(i % 17) - 8;

  SegmentedScan<double> scan;
  scan.setup(values, lengths);
  const auto begin = std::chrono::high_resolution_clock::now();
  for (int i = 0; i < loops; ++i) scan.run(Plus<double>());
  const auto end = std::chrono::high_resolution_clock::now();
  const std::vector<double> got = scan.result();
  size_t at = 0, wrong = 0;
  for (int each : lengths) {
    double sum = 0;
    for (int i = 0; i < each; ++i, ++at) {
      sum += values[at];
      if (std::abs(got[at] - sum) > 1e-6) ++wrong;
    }
  }
  if (verbose) std::cout << total << " values, " << std::chrono::duration<double, std::milli>(end - begin).count() << " ms\n";
  if (wrong) {
    std::cerr << wrong << " of " << total << " values are wrong\n";
    return 3;
  }
  std::cout << "ok\n";
  return 0;
}

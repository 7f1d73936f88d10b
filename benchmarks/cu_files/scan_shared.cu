// nvcc -arch=sm_90 -std=c++17 scan_shared.cu -o scan_shared
//
// Inclusive scan of rows in dynamic shared memory; the widest rows need more of it than a block gets unasked.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

struct Options {
  int rows = 64;
  std::vector<int> widths{256, 1024, 4096, 16384};
  bool verbose = false;
};

static void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
  }
}

template <typename T, int kThreads>
__global__ void scan_rows(const T* in, T* out, int width) {
  extern __shared__ unsigned char raw[];
  T* row = reinterpret_cast<T*>(raw);
  const T* from = in + (size_t)blockIdx.x * width;
  for (int i = threadIdx.x; i < width; i += kThreads) row[i] = from[i];
  __syncthreads();
  for (int step = 1; step < width; step *= 2) {
    T carried[64];
    int at = 0;
    for (int i = threadIdx.x; i < width && at < 64; i += kThreads) carried[at++] = i >= step ? row[i - step] : T(0);
    __syncthreads();
    at = 0;
    for (int i = threadIdx.x; i < width && at < 64; i += kThreads) row[i] += carried[at++];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < width; i += kThreads) out[(size_t)blockIdx.x * width + i] = row[i];
}

__global__ void fill(int* data, int count, int value) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) data[i] = value;
}

class Scanner {
 public:
  Scanner(int rows, int width) : rows_(rows), width_(width) {
    check(cudaMalloc(&in_, bytes()), "allocate");
    check(cudaMalloc(&out_, bytes()), "allocate");
  }
  Scanner(const Scanner&) = delete;
  ~Scanner() {
    cudaFree(in_);
    cudaFree(out_);
  }
  void prepare(int value) {
    fill<<<128, 256>>>(in_, rows_ * width_, value);
    check(cudaGetLastError(), "fill");
  }
  void run() {
    const size_t shared = width_ * sizeof(int);
    scan_rows<int, 256><<<rows_, 256, shared>>>(in_, out_, width_);
    check(cudaGetLastError(), "scan_rows");
    check(cudaDeviceSynchronize(), "scan_rows");
  }
  std::vector<int> result() const {
    std::vector<int> host((size_t)rows_ * width_);
    check(cudaMemcpy(host.data(), out_, bytes(), cudaMemcpyDeviceToHost), "copy");
    return host;
  }

 private:
  size_t bytes() const { return (size_t)rows_ * width_ * sizeof(int); }
  int rows_, width_;
  int *in_ = nullptr, *out_ = nullptr;
};

static Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "-v")) options.verbose = true;
    else options.rows = std::max(1, std::stoi(argv[i]));
  }
  return options;
}

int main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    for (int width : options.widths) {
      Scanner scanner(options.rows, width);
      scanner.prepare(1);
      scanner.run();
      const std::vector<int> result = scanner.result();
      if (options.verbose) std::printf("width %d: last %d\n", width, result.empty() ? 0 : result.back());
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "failed: %s\n", error.what());
    return 1;
  }
  return 0;
}

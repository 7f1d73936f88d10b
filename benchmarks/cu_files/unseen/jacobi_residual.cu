// nvcc -arch=sm_90 -std=c++17 jacobi_residual.cu -o jacobi_residual
//
// Jacobi sweeps over a grid with two buffers that change places; each block leaves its part of the residual.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

constexpr int kTileX = 32;
constexpr int kTileY = 8;

class CudaError : public std::runtime_error {
 public:
  CudaError(const char* what, cudaError_t code) : std::runtime_error(text(what, code)), code_(code) {}
  cudaError_t code() const { return code_; }

 private:
  static std::string text(const char* what, cudaError_t code) {
    std::ostringstream out;
    out << what << ": " << cudaGetErrorString(code);
    return out.str();
  }
  cudaError_t code_;
};

inline void ensure(cudaError_t code, const char* what) {
  if (code != cudaSuccess) throw CudaError(what, code);
}

struct Grid {
  int width = 0;
  int height = 0;
  __host__ __device__ size_t cells() const { return (size_t)width * height; }
  __host__ __device__ size_t at(int x, int y) const { return (size_t)y * width + x; }
  dim3 blocks() const { return dim3((width + kTileX - 1) / kTileX, (height + kTileY - 1) / kTileY); }
  int tiles() const { return (width / kTileX) * (height / kTileY); }
};

template <typename T>
struct Span {
  T* data;
  size_t size;
};

template <typename T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t size) : size_(size) { ensure(cudaMalloc((void**)&data_, size * sizeof(T)), "cudaMalloc"); }
  Buffer(Buffer&& other) noexcept : data_(other.data_), size_(other.size_) { other.data_ = nullptr; }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) cudaFree(data_);
  }
  Span<T> span() const { return {data_, size_}; }
  void copy_from(const std::vector<T>& host, cudaStream_t stream) {
    ensure(cudaMemcpyAsync(data_, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice, stream), "upload");
  }
  std::vector<T> copy_to_host(cudaStream_t stream) const {
    std::vector<T> host(size_);
    ensure(cudaMemcpyAsync(host.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost, stream), "download");
    ensure(cudaStreamSynchronize(stream), "download");
    return host;
  }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

__global__ void sweep(Span<const double> from, Span<double> to, Span<double> partial, Grid grid) {
  __shared__ double changes[kTileX * kTileY];
  const int x = blockIdx.x * kTileX + threadIdx.x, y = blockIdx.y * kTileY + threadIdx.y;
  const int own = threadIdx.y * kTileX + threadIdx.x;
  double change = 0.0;
  if (x > 0 && y > 0 && x < grid.width - 1 && y < grid.height - 1) {
    const double next = 0.25 * (from.data[grid.at(x - 1, y)] + from.data[grid.at(x + 1, y)] +
                                from.data[grid.at(x, y - 1)] + from.data[grid.at(x, y + 1)]);
    change = fabs(next - from.data[grid.at(x, y)]);
    to.data[grid.at(x, y)] = next;
  }
  changes[own] = change;
  __syncthreads();
  for (int half = kTileX * kTileY / 2; half > 0; half /= 2) {
    if (own < half) changes[own] = fmax(changes[own], changes[own + half]);
    __syncthreads();
  }
  if (own == 0) partial.data[blockIdx.y * gridDim.x + blockIdx.x] = changes[0];
}

class Solver {
 public:
  Solver(Grid grid, const std::map<std::string, int>& options)
      : grid_(grid), now_(grid.cells()), next_(grid.cells()), partial_(grid.tiles()), steps_(options.at("steps")) {
    ensure(cudaStreamCreate(&stream_), "stream");
  }
  ~Solver() { cudaStreamDestroy(stream_); }
  void fill(const std::function<double(int, int)>& value) {
    std::vector<double> host(grid_.cells());
    for (int y = 0; y < grid_.height; ++y)
      for (int x = 0; x < grid_.width; ++x) host[grid_.at(x, y)] = value(x, y);
    now_.copy_from(host, stream_);
    next_.copy_from(host, stream_);
    ensure(cudaStreamSynchronize(stream_), "fill");
  }
  double solve() {
    double residual = 0.0;
    for (int step = 0; step < steps_; ++step) {
      const Span<double> from = now_.span();
      sweep<<<grid_.blocks(), dim3(kTileX, kTileY), 0, stream_>>>({from.data, from.size}, next_.span(),
                                                                   partial_.span(), grid_);
      ensure(cudaPeekAtLastError(), "launch of sweep");
      residual = 0.0;
      for (double each : partial_.copy_to_host(stream_)) residual = std::max(residual, each);
      std::swap(now_, next_);
    }
    return residual;
  }

 private:
  Grid grid_;
  Buffer<double> now_, next_, partial_;
  int steps_;
  cudaStream_t stream_ = nullptr;
};

int main(int argc, char** argv) {
  std::map<std::string, int> options{{"steps", 4}, {"width", 120}, {"height", 75}};
  for (int i = 1; i + 1 < argc; i += 2) options[argv[i]] = std::atoi(argv[i + 1]);
  try {
    Solver solver(Grid{options["width"], options["height"]}, options);
    solver.fill([](int x, int y) { return x == 0 ? 1.0 : 0.01 * y; });
    std::cout << "residual " << solver.solve() << std::endl;
  } catch (const CudaError& error) {
    std::cerr << "error " << (int)error.code() << " in " << error.what() << std::endl;
    return 3;
  }
  return 0;
}

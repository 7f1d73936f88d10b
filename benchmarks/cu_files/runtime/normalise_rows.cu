// nvcc -arch=sm_90 -std=c++17 normalise_rows.cu -o normalise_rows
//
// Normalises the rows of a batch of spectra in place: moments of each row, then a shift and a scale in one flat sweep.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

struct Shape {
  int rows = 4096;
  int columns = 1000;
  int pitch() const { return (columns + 31) / 32 * 32; }
  size_t bytes() const { return (size_t)rows * pitch() * sizeof(float); }
};

struct Moments {
  float mean;
  float scale;
};

static void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
  }
}

__device__ float block_sum(float value, float* partial) {
  for (int lane = 16; lane > 0; lane /= 2) value += __shfl_down_sync(0xffffffffu, value, lane);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0.0f;
  for (int warp = 0; warp < blockDim.x / 32; ++warp) sum += partial[warp];
  __syncthreads();
  return sum;
}

__global__ void row_moments(const float* data, Moments* moments, int columns, int pitch) {
  __shared__ float partial[32];
  const float* row = data + (size_t)blockIdx.x * pitch;
  float sum = 0.0f, squares = 0.0f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    sum += row[i];
    squares += row[i] * row[i];
  }
  sum = block_sum(sum, partial);
  squares = block_sum(squares, partial);
  if (threadIdx.x == 0) {
    const float mean = sum / columns;
    const float variance = fmaxf(squares / columns - mean * mean, 0.0f);
    moments[blockIdx.x] = {mean, rsqrtf(variance + 1e-6f)};
  }
}

__global__ void shift_and_scale(float* data, const Moments* moments, size_t count, int rows, int pitch) {
  const size_t step = (size_t)gridDim.x * blockDim.x;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    const Moments row = moments[i / pitch % rows];
    data[i] = (data[i] - row.mean) * row.scale;
  }
}

__global__ void clamp_values(float* data, size_t count, float limit) {
  const size_t step = (size_t)gridDim.x * blockDim.x;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    data[i] = fminf(fmaxf(data[i], -limit), limit);
  }
}

class Batch {
 public:
  explicit Batch(const Shape& shape) : shape_(shape) {
    check(cudaMalloc(&data_, shape.bytes()), "allocate");
    check(cudaMalloc(&moments_, shape.rows * sizeof(Moments)), "allocate");
  }
  Batch(const Batch&) = delete;
  ~Batch() {
    cudaFree(data_);
    cudaFree(moments_);
  }
  void load(unsigned seed) {
    std::mt19937 random(seed);
    std::vector<float> host(shape_.bytes() / sizeof(float));
    for (float& each : host) each = (float)(random() % 1000) / 100.0f;
    check(cudaMemcpy(data_, host.data(), shape_.bytes(), cudaMemcpyHostToDevice), "copy in");
  }
  void normalise(float limit) {
    row_moments<<<shape_.rows, 256>>>(data_, moments_, shape_.columns, shape_.pitch());
    check(cudaGetLastError(), "row_moments");
    const size_t count = shape_.bytes();
    shift_and_scale<<<1024, 256>>>(data_, moments_, count, shape_.rows, shape_.pitch());
    check(cudaGetLastError(), "shift_and_scale");
    check(cudaDeviceSynchronize(), "shift_and_scale");
    clamp_values<<<256, 256>>>(data_, shape_.bytes() / sizeof(float), limit);
    check(cudaDeviceSynchronize(), "clamp_values");
  }
  std::vector<float> result() const {
    std::vector<float> host(shape_.bytes() / sizeof(float));
    check(cudaMemcpy(host.data(), data_, shape_.bytes(), cudaMemcpyDeviceToHost), "copy out");
    return host;
  }

 private:
  Shape shape_;
  float* data_ = nullptr;
  Moments* moments_ = nullptr;
};

int main(int argc, char** argv) {
  Shape shape;
  bool verbose = false;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "-v")) verbose = true;
    else shape.rows = std::atoi(argv[i]);
  }
  try {
    Batch batch(shape);
    batch.load(7);
    batch.normalise(4.0f);
    const std::vector<float> result = batch.result();
    double sum = 0.0;
    for (float each : result) sum += each;
    if (verbose) std::printf("mean %g\n", sum / result.size());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "failed: %s\n", error.what());
    return 1;
  }
  return 0;
}

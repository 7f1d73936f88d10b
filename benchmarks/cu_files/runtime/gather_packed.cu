// nvcc -arch=sm_90 -std=c++17 gather_packed.cu -o gather_packed
//
// Ragged rows packed one behind the other, and gathered four floats at a time by a table of offsets.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

constexpr int kWidth = 4;

static void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
  }
}

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) : count_(count) { check(cudaMalloc(&data_, bytes()), "allocate"); }
  explicit DeviceArray(const std::vector<T>& host) : DeviceArray(host.size()) {
    check(cudaMemcpy(data_, host.data(), bytes(), cudaMemcpyHostToDevice), "copy in");
  }
  DeviceArray(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }
  T* get() const { return data_; }
  size_t size() const { return count_; }
  std::vector<T> host() const {
    std::vector<T> out(count_);
    check(cudaMemcpy(out.data(), data_, bytes(), cudaMemcpyDeviceToHost), "copy out");
    return out;
  }

 private:
  size_t bytes() const { return std::max<size_t>(count_, 1) * sizeof(T); }
  size_t count_;
  T* data_ = nullptr;
};

struct Ragged {
  std::vector<int> lengths;
  std::vector<int> offsets;
  int total = 0;
};

static int padded(int length) { return (length + kWidth - 1) / kWidth * kWidth; }

static Ragged pack(const std::vector<int>& lengths) {
  Ragged ragged;
  ragged.lengths = lengths;
  for (int length : lengths) {
    ragged.offsets.push_back(ragged.total);
    ragged.total += length;
  }
  ragged.total = padded(ragged.total) + kWidth;
  return ragged;
}

__global__ void fill_ramp(float* values, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) values[i] = i % 17;
}

__global__ void gather_rows(const float* values, const int* offsets, const int* lengths, const int* order, float* out,
                            int stride) {
  const int row = order[blockIdx.x];
  const float* from = values + offsets[row];
  const int length = lengths[row];
  float* to = out + (size_t)blockIdx.x * stride;
  for (int i = threadIdx.x * kWidth; i < length; i += blockDim.x * kWidth) {
    const float4 four = *reinterpret_cast<const float4*>(from + i);
    *reinterpret_cast<float4*>(to + i) = make_float4(four.x * 2, four.y * 2, four.z * 2, four.w * 2);
  }
}

__global__ void row_sums(const float* rows, float* sums, int stride, int count) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= count) return;
  float sum = 0;
  for (int i = 0; i < stride; ++i) sum += rows[(size_t)row * stride + i];
  sums[row] = sum;
}

int main(int argc, char** argv) {
  const bool verbose = argc > 1 && !std::strcmp(argv[1], "-v");
  try {
    std::vector<int> lengths;
    for (int i = 0; i < 64; ++i) lengths.push_back(32 + i * 5 % 23);
    const Ragged ragged = pack(lengths);
    std::vector<int> order(lengths.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = (int)(order.size() - 1 - i);
    const int stride = padded(*std::max_element(lengths.begin(), lengths.end()));

    DeviceArray<float> values(ragged.total);
    DeviceArray<int> offsets(ragged.offsets), sizes(ragged.lengths), device_order(order);
    DeviceArray<float> gathered(order.size() * stride), sums(order.size());
    check(cudaMemset(gathered.get(), 0, gathered.size() * sizeof(float)), "clear");
    fill_ramp<<<8, 128>>>(values.get(), ragged.total);
    check(cudaGetLastError(), "fill_ramp");
    gather_rows<<<(int)order.size(), 32>>>(values.get(), offsets.get(), sizes.get(), device_order.get(),
                                           gathered.get(), stride);
    check(cudaGetLastError(), "gather_rows");
    check(cudaDeviceSynchronize(), "gather_rows");
    row_sums<<<1, 64>>>(gathered.get(), sums.get(), stride, (int)order.size());
    check(cudaDeviceSynchronize(), "row_sums");
    if (verbose) std::printf("first sum %g\n", sums.host().front());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "failed: %s\n", error.what());
    return 1;
  }
  return 0;
}

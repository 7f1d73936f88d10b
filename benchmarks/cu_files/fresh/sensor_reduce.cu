// Sum, extremes and mean square of the samples of many sensors: one block a sensor, warp shuffles, two passes.
//
// nvcc -O3 -arch=sm_90 -std=c++17 sensor_reduce.cu -o sensor_reduce && ./sensor_reduce --sensors 96 --samples 5000
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <cuda_runtime.h>

#define CUDA_CHECK(call)                                                                       \
  do {                                                                                         \
    const cudaError_t status = (call);                                                         \
    if (status != cudaSuccess) {                                                               \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status)); \
      std::exit(EXIT_FAILURE);                                                                 \
    }                                                                                          \
  } while (0)

struct Plus {
  static constexpr float identity = 0.f;
  __host__ __device__ float operator()(float a, float b) const { return a + b; }
};

struct Largest {
  static constexpr float identity = -3.4e38f;
  __host__ __device__ float operator()(float a, float b) const { return a > b ? a : b; }
};

struct Square {
  __device__ float operator()(float value) const { return value * value; }
};

struct Keep {
  __device__ float operator()(float value) const { return value; }
};

template <typename Op>
__device__ __forceinline__ float warp_reduce(float value, Op op) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value = op(value, __shfl_down_sync(0xffffffffu, value, offset));
  return value;
}

template <int kThreads, typename Op>
__device__ float block_reduce(float value, Op op) {
  __shared__ float partial[kThreads / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = warp_reduce(value, op);
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  value = threadIdx.x < kThreads / 32 ? partial[lane] : Op::identity;
  if (warp == 0) value = warp_reduce(value, op);
  return value;
}

// One block reduces one span of samples. The spans of all sensors lie one behind the other.
template <int kThreads, typename Op, typename Map>
__global__ void reduce_spans(const float* __restrict__ samples, const long* __restrict__ begins, int sensors, float* out,
                             Op op, Map map) {
  const int sensor = blockIdx.x;
  if (sensor > sensors) return;
  const long first = begins[sensor], last = begins[sensor + 1];
  float value = Op::identity;
  for (long i = first + threadIdx.x; i < last; i += kThreads) value = op(value, map(samples[i]));
  value = block_reduce<kThreads>(value, op);
  if (threadIdx.x == 0) out[sensor] = value;
}

__global__ void to_mean(float* __restrict__ sums, const long* __restrict__ begins, int sensors) {
  const int sensor = blockIdx.x * blockDim.x + threadIdx.x;
  if (sensor < sensors) sums[sensor] /= float(begins[sensor + 1] - begins[sensor]);
}

struct Options {
  int sensors = 96;
  int samples = 5000;
  int rounds = 2;
  unsigned seed = 7;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const int value = std::atoi(argv[i + 1]);
    if (name == "--sensors") options.sensors = value;
    else if (name == "--samples") options.samples = value;
    else if (name == "--rounds") options.rounds = value;
    else if (name == "--seed") options.seed = (unsigned)value;
    else {
      std::fprintf(stderr, "unknown option %s\n", argv[i]);
      std::exit(2);
    }
  }
  return options;
}

struct Recording {
  std::vector<float> samples;
  std::vector<long> begins;
};

Recording record(const Options& options) {
  Recording recording;
  unsigned state = options.seed;
  for (int sensor = 0; sensor < options.sensors; ++sensor) {
    recording.begins.push_back((long)recording.samples.size());
    const int count = options.samples / 2 + sensor * 31 % options.samples;
    for (int i = 0; i < count; ++i) {
      state = state * 1664525u + 1013904223u;
      recording.samples.push_back((state >> 8) * (1.f / 16777216.f) - .5f);
    }
  }
  recording.begins.push_back((long)recording.samples.size());
  return recording;
}

template <typename T>
T* to_device(const std::vector<T>& host) {
  T* device = nullptr;
  CUDA_CHECK(cudaMalloc(&device, host.size() * sizeof(T)));
  CUDA_CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const Recording recording = record(options);
  float* samples = to_device(recording.samples);
  long* begins = to_device(recording.begins);
  float *peaks, *squares;
  CUDA_CHECK(cudaMalloc(&peaks, options.sensors * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&squares, options.sensors * sizeof(float)));

  constexpr int kThreads = 128;
  // Room for whole groups of 8 sensors, as the host's tables are made.
  const int blocks = (options.sensors + 8) / 8 * 8;
  const auto began = std::chrono::steady_clock::now();
  for (int round = 0; round < options.rounds; ++round) {
    reduce_spans<kThreads><<<blocks, kThreads>>>(samples, begins, options.sensors, peaks, Largest{}, Keep{});
    CUDA_CHECK(cudaGetLastError());
    reduce_spans<kThreads><<<blocks, kThreads>>>(samples, begins, options.sensors, squares, Plus{}, Square{});
    to_mean<<<(options.sensors + 127) / 128, 128>>>(squares, begins, options.sensors);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;

  std::vector<float> means(options.sensors), tops(options.sensors);
  CUDA_CHECK(cudaMemcpy(means.data(), squares, means.size() * sizeof(float), cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(tops.data(), peaks, tops.size() * sizeof(float), cudaMemcpyDeviceToHost));
  std::printf("%d sensors, %.3f ms, loudest %.4f, root mean square of the first %.4f\n", options.sensors, took.count(),
              *std::max_element(tops.begin(), tops.end()), std::sqrt(means[0]));
  CUDA_CHECK(cudaFree(samples));
  CUDA_CHECK(cudaFree(begins));
  CUDA_CHECK(cudaFree(peaks));
  CUDA_CHECK(cudaFree(squares));
  return 0;
}

// nvcc -O2 -arch=sm_90 -std=c++17 batched_topk.cu -o batched_topk
//
// The k best scored items of each query, and their payloads gathered. Scores below a threshold are no candidates.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace topk {

constexpr unsigned kNone = 0xffffffffu;

class CudaError : public std::runtime_error {
 public:
  CudaError(cudaError_t code, const char* file, int line) : std::runtime_error(describe(code, file, line)) {}

 private:
  static std::string describe(cudaError_t code, const char* file, int line) {
    std::ostringstream out;
    out << file << "(" << line << "): " << cudaGetErrorName(code) << ", " << cudaGetErrorString(code);
    return out.str();
  }
};

#define CHECK_CUDA(x)                                                   \
  do {                                                                  \
    const cudaError_t e = (x);                                          \
    if (e != cudaSuccess) throw ::topk::CudaError(e, __FILE__, __LINE__); \
  } while (false)

struct Deleter {
  void operator()(void* memory) const { cudaFree(memory); }
};

template <typename T>
using DevicePtr = std::unique_ptr<T[], Deleter>;

template <typename T>
DevicePtr<T> allocate(size_t count) {
  void* memory = nullptr;
  CHECK_CUDA(cudaMalloc(&memory, count * sizeof(T)));
  return DevicePtr<T>(static_cast<T*>(memory));
}

template <typename T>
DevicePtr<T> upload(const std::vector<T>& host) {
  DevicePtr<T> device = allocate<T>(host.size());
  CHECK_CUDA(cudaMemcpy(device.get(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

struct Item {
  float score;
  unsigned index;
};

__device__ __host__ inline bool better(const Item& a, const Item& b) {
  return a.score > b.score || (a.score == b.score && a.index < b.index);
}

// A block for a query: each thread keeps the best K of its share in registers, then the lists are merged in shared memory.
template <int K, int kThreads>
__global__ void select_top(const float* scores, unsigned* winners, int items, float threshold) {
  __shared__ Item lists[kThreads * K];
  const float* row = scores + static_cast<size_t>(blockIdx.x) * items;
  Item best[K];
#pragma unroll
  for (int i = 0; i < K; ++i) best[i] = {-1e30f, kNone};
  for (int at = threadIdx.x; at < items; at += kThreads) {
    Item item{row[at], static_cast<unsigned>(at)};
    if (item.score < threshold) continue;
#pragma unroll
    for (int i = 0; i < K; ++i) {
      if (better(item, best[i])) {
        const Item other = best[i];
        best[i] = item;
        item = other;
      }
    }
  }
  for (int i = 0; i < K; ++i) lists[threadIdx.x * K + i] = best[i];
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      Item merged[K];
      int left = threadIdx.x * K, right = (threadIdx.x + half) * K;
      for (int i = 0; i < K; ++i) merged[i] = better(lists[left], lists[right]) ? lists[left++] : lists[right++];
      for (int i = 0; i < K; ++i) lists[threadIdx.x * K + i] = merged[i];
    }
    __syncthreads();
  }
  if (threadIdx.x < K) winners[blockIdx.x * K + threadIdx.x] = lists[threadIdx.x].index;
}

__global__ void gather_payload(const double* payload, const unsigned* winners, double* gathered, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const unsigned winner = winners[i];
  gathered[i] = payload[winner];
}

template <int K>
class Selector {
 public:
  Selector(int queries, int items, float threshold) : queries_(queries), items_(items), threshold_(threshold) {}

  std::vector<double> run(const std::vector<float>& scores, const std::vector<double>& payload, float* milliseconds) {
    auto d_scores = upload(scores);
    auto d_payload = upload(payload);
    auto d_winners = allocate<unsigned>(queries_ * K);
    auto d_gathered = allocate<double>(queries_ * K);
    cudaEvent_t start, stop;
    CHECK_CUDA(cudaEventCreate(&start));
    CHECK_CUDA(cudaEventCreate(&stop));
    CHECK_CUDA(cudaEventRecord(start, 0));
    select_top<K, 128><<<queries_, 128>>>(d_scores.get(), d_winners.get(), items_, threshold_);
    CHECK_CUDA(cudaGetLastError());
    const int count = queries_ * K;
    gather_payload<<<(count + 127) / 128, 128>>>(d_payload.get(), d_winners.get(), d_gathered.get(), count);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaEventRecord(stop, 0));
    CHECK_CUDA(cudaEventSynchronize(stop));
    CHECK_CUDA(cudaEventElapsedTime(milliseconds, start, stop));
    std::vector<double> host(count);
    CHECK_CUDA(cudaMemcpy(host.data(), d_gathered.get(), count * sizeof(double), cudaMemcpyDeviceToHost));
    return host;
  }

  std::vector<double> expected(const std::vector<float>& scores, const std::vector<double>& payload) const {
    std::vector<double> all;
    for (int query = 0; query < queries_; ++query) {
      std::vector<Item> found;
      for (int at = 0; at < items_; ++at) {
        const float score = scores[static_cast<size_t>(query) * items_ + at];
        if (score >= threshold_) found.push_back({score, static_cast<unsigned>(at)});
      }
      std::sort(found.begin(), found.end(), better);
      for (int i = 0; i < K; ++i) {
        all.push_back(i < static_cast<int>(found.size()) ? payload[found[i].index] : 0.0);
      }
    }
    return all;
  }

 private:
  int queries_, items_;
  float threshold_;
};

}  // namespace topk

int main(int argc, char** argv) {
  const int queries = argc > 1 ? std::stoi(argv[1]) : 64;
  const int items = argc > 2 ? std::stoi(argv[2]) : 2000;
  const float threshold = argc > 3 ? std::stof(argv[3]) : 0.998f;
  try {
    std::mt19937_64 engine(2024);
    std::uniform_real_distribution<float> uniform(0.0f, 1.0f);
    std::vector<float> scores(static_cast<size_t>(queries) * items);
    std::generate(scores.begin(), scores.end(), [&] { return uniform(engine); });
    std::vector<double> payload(items);
    for (int i = 0; i < items; ++i) payload[i] = 1.0 / (1 + i);

    topk::Selector<4> selector(queries, items, threshold);
    float milliseconds = 0.0f;
    const std::vector<double> got = selector.run(scores, payload, &milliseconds);
    const std::vector<double> want = selector.expected(scores, payload);
    const auto differs = std::mismatch(got.begin(), got.end(), want.begin());
    if (differs.first != got.end()) {
      std::fprintf(stderr, "place %td: %g, not %g\n", differs.first - got.begin(), *differs.first, *differs.second);
      return 2;
    }
    std::printf("%d queries in %.3f ms\n", queries, milliseconds);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "batched_topk: %s\n", problem.what());
    return 1;
  }
}

// Counts how often each word id occurs in a stream of events: open addressing in the memory of the device.
//
// nvcc -O2 -arch=sm_90 -std=c++17 hash_insert.cu -o hash_insert && ./hash_insert
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <system_error>
#include <vector>

#include <cuda_runtime.h>

namespace counting {

using Key = unsigned long long;
enum class Probe { linear, quadratic };

struct Slot {
  Key key;
  unsigned count;
  unsigned first_seen;
};

constexpr Key kEmpty = 0;
constexpr int kThreads = 256;

#define GPU(call)                                                                         \
  do {                                                                                    \
    const cudaError_t status_ = (call);                                                   \
    if (status_ != cudaSuccess) throw counting::Failure(#call, cudaGetErrorString(status_)); \
  } while (false)

class Failure : public std::exception {
 public:
  Failure(std::string call, std::string why) : said_(std::move(call) + " failed: " + std::move(why)) {}
  const char* what() const noexcept override { return said_.c_str(); }

 private:
  std::string said_;
};

struct Freed {
  template <class T>
  void operator()(T* data) const {
    cudaFree(data);
  }
};

template <class T>
using OnDevice = std::unique_ptr<T[], Freed>;

template <class T>
OnDevice<T> allocate(std::size_t count) {
  T* data = nullptr;
  GPU(cudaMalloc(&data, count * sizeof(T)));
  return OnDevice<T>(data);
}

constexpr unsigned next_power(unsigned value) {
  unsigned power = 1;
  while (power < value) power <<= 1;
  return power;
}

__host__ __device__ inline unsigned mixed(Key key) {
  key ^= key >> 33;
  key *= 0xff51afd7ed558ccdull;
  key ^= key >> 29;
  return static_cast<unsigned>(key);
}

__global__ void clear(Slot* slots, unsigned capacity) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < capacity) slots[i] = Slot{kEmpty, 0u, 0xffffffffu};
}

template <Probe probe>
__global__ void insert(Slot* slots, unsigned mask, const Key* keys, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Key key = keys[i];
  unsigned at = mixed(key) & mask;
  for (unsigned tries = 1; tries <= mask; ++tries) {
    const Key old = atomicCAS(&slots[at].key, kEmpty, key);
    if (old == kEmpty || old == key) {
      atomicAdd(&slots[at].count, 1u);
      atomicMin(&slots[at].first_seen, i);
      return;
    }
    at = (at + (probe == Probe::linear ? 1u : tries)) & mask;
  }
}

__global__ void most_frequent(const Slot* slots, unsigned capacity, unsigned* best) {
  for (unsigned i = threadIdx.x; i < capacity; i += blockDim.x) atomicMax(best, slots[i].count);
}

// A table for so many different keys, a fifth of it free.
class Table {
 public:
  explicit Table(unsigned expected)
      : capacity_(expected + expected / 4), mask_(next_power(capacity_) - 1), slots_(allocate<Slot>(capacity_)) {
    clear<<<(capacity_ + kThreads - 1) / kThreads, kThreads>>>(slots_.get(), capacity_);
    GPU(cudaGetLastError());
  }

  template <Probe probe = Probe::linear>
  void add(const std::vector<Key>& keys) {
    const auto count = static_cast<unsigned>(keys.size());
    auto on_device = allocate<Key>(count);
    GPU(cudaMemcpy(on_device.get(), keys.data(), count * sizeof(Key), cudaMemcpyHostToDevice));
    insert<probe><<<(count + kThreads - 1) / kThreads, kThreads>>>(slots_.get(), mask_, on_device.get(), count);
    GPU(cudaGetLastError());
    GPU(cudaDeviceSynchronize());
  }

  unsigned highest() const {
    auto best = allocate<unsigned>(1);
    GPU(cudaMemset(best.get(), 0, sizeof(unsigned)));
    most_frequent<<<1, kThreads>>>(slots_.get(), capacity_, best.get());
    unsigned result = 0;
    GPU(cudaMemcpy(&result, best.get(), sizeof result, cudaMemcpyDeviceToHost));
    return result;
  }

 private:
  unsigned capacity_;
  unsigned mask_;
  OnDevice<Slot> slots_;
};

std::vector<Key> events(unsigned count, unsigned distinct) {
  std::vector<Key> keys(count);
  std::iota(keys.begin(), keys.end(), Key{1});
  for (auto& key : keys) key = 1 + key * 2654435761ull % distinct;
  return keys;
}

}  // namespace counting

int main() {
  const unsigned distinct = 216000;
  const std::array<std::pair<const char*, std::function<void(counting::Table&, const std::vector<counting::Key>&)>>, 2>
      stages = {{{"linear", [](auto& table, const auto& keys) { table.add(keys); }},
                 {"quadratic", [](auto& table, const auto& keys) { table.template add<counting::Probe::quadratic>(keys); }}}};
  try {
    counting::Table table(distinct);
    for (const auto& [name, stage] : stages) {
      stage(table, counting::events(40000, distinct));
      std::printf("%s: the highest count is %u\n", name, table.highest());
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}

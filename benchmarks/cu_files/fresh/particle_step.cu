// Particles in arrays of their own (structure of arrays), pushed by a field; more are injected as time goes on.
//
// nvcc -O2 -arch=sm_90 -std=c++17 particle_step.cu -o particle_step && ./particle_step 3000 6
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <vector>

#include <cuda_runtime.h>

namespace sim {

class GpuError : public std::runtime_error {
 public:
  GpuError(cudaError_t code, const char* where) : std::runtime_error(describe(code, where)) {}

 private:
  static std::string describe(cudaError_t code, const char* where) {
    std::ostringstream out;
    out << where << ": " << cudaGetErrorString(code);
    return out.str();
  }
};

inline void require(cudaError_t code, const char* where) {
  if (code != cudaSuccess) throw GpuError(code, where);
}

// What kernels get: plain pointers, by value.
struct View {
  float* x;
  float* y;
  float* vx;
  float* vy;
  std::uint32_t* cell;
  int count;
};

struct Box {
  float width, height;
  int cells_x, cells_y;
};

__device__ inline std::uint32_t cell_of(const Box& box, float x, float y) {
  const int cx = min(max(int(x / box.width * box.cells_x), 0), box.cells_x - 1);
  const int cy = min(max(int(y / box.height * box.cells_y), 0), box.cells_y - 1);
  return cy * box.cells_x + cx;
}

__global__ void inject(View view, Box box, int first, int more, std::uint32_t seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= more) return;
  std::uint32_t state = seed ^ (i * 2654435761u);
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  view.x[first + i] = (state & 0xffff) / 65536.f * box.width;
  view.y[first + i] = (state >> 16) / 65536.f * box.height;
  view.vx[first + i] = .01f * (i % 7 - 3);
  view.vy[first + i] = .01f * (i % 5 - 2);
}

__global__ void push(View view, Box box, const float2* field, float dt) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < view.count; i += gridDim.x * blockDim.x) {
    const std::uint32_t cell = cell_of(box, view.x[i], view.y[i]);
    const float2 force = field[cell];
    view.vx[i] += force.x * dt;
    view.vy[i] += force.y * dt;
    view.x[i] += view.vx[i] * dt;
    view.y[i] += view.vy[i] * dt;
    view.cell[i] = cell;
  }
}

template <class T>
class Column {
 public:
  Column() = default;
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;
  ~Column() { cudaFree(data_); }

  void reserve(int capacity, int used) {
    T* larger = nullptr;
    require(cudaMalloc(&larger, capacity * sizeof(T)), "reserve");
    if (used) require(cudaMemcpy(larger, data_, used * sizeof(T), cudaMemcpyDeviceToDevice), "move");
    require(cudaFree(data_), "release");
    data_ = larger;
  }

  T* data() { return data_; }

 private:
  T* data_ = nullptr;
};

class Particles {
 public:
  explicit Particles(int capacity) { reserve(capacity); }

  int count() const { return count_; }
  int capacity() const { return capacity_; }

  void reserve(int capacity) {
    x_.reserve(capacity, count_);
    y_.reserve(capacity, count_);
    vx_.reserve(capacity, count_);
    vy_.reserve(capacity, count_);
    cell_.reserve(capacity, count_);
    capacity_ = capacity;
  }

  // Makes room for more at the end, and says where they begin.
  int grow(int more) {
    const int first = count_;
    if (count_ + more > capacity_) reserve(2 * (count_ + more));
    count_ += more;
    return first;
  }

  View view() { return {x_.data(), y_.data(), vx_.data(), vy_.data(), cell_.data(), count_}; }

 private:
  Column<float> x_, y_, vx_, vy_;
  Column<std::uint32_t> cell_;
  int count_ = 0, capacity_ = 0;
};

class Simulation {
 public:
  Simulation(Box box, int first) : box_(box), particles_(first + first / 2) {
    std::vector<float2> field(box.cells_x * box.cells_y);
    for (std::size_t i = 0; i < field.size(); ++i) field[i] = {.1f * (i % 3), -.1f * (i % 4)};
    require(cudaMalloc(&field_, field.size() * sizeof(float2)), "field");
    require(cudaMemcpy(field_, field.data(), field.size() * sizeof(float2), cudaMemcpyHostToDevice), "field");
    add(first);
  }
  ~Simulation() { cudaFree(field_); }

  void add(int more) {
    View view = particles_.view();
    const int first = particles_.grow(more);
    view.count = particles_.count();
    inject<<<(more + 255) / 256, 256>>>(view, box_, first, more, 12345u + first);
    require(cudaGetLastError(), "inject");
    require(cudaDeviceSynchronize(), "inject");
  }

  void step(float dt) {
    push<<<64, 128>>>(particles_.view(), box_, field_, dt);
    require(cudaGetLastError(), "push");
  }

  int count() const { return particles_.count(); }

 private:
  Box box_;
  Particles particles_;
  float2* field_ = nullptr;
};

}  // namespace sim

int main(int argc, char** argv) try {
  const int first = argc > 1 ? std::atoi(argv[1]) : 3000;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 6;
  sim::Simulation simulation({16.f, 8.f, 32, 16}, first);
  for (int step = 0; step < steps; ++step) {
    simulation.step(.05f);
    if (step % 2) simulation.add(first / 3);
  }
  sim::require(cudaDeviceSynchronize(), "run");
  std::cout << simulation.count() << " particles after " << steps << " steps\n";
  return 0;
} catch (const std::exception& error) {
  std::cerr << "particle_step: " << error.what() << "\n";
  return 1;
}

// nvcc -arch=sm_90 -std=c++17 transpose_tiles.cu -o transpose_tiles
//
// Transposes complex matrices by tiles in dynamic shared memory, with a column of padding against bank conflicts.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

struct Complex {
  float re, im;
};

struct Plan {
  int rows, columns, tile;
  bool scaled;
};

static void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
  }
}

__host__ __device__ constexpr int pitch_of(int tile) { return tile + 1; }

template <typename T>
__global__ void transpose(const T* in, T* out, int rows, int columns, int tile) {
  extern __shared__ unsigned char raw[];
  T* cells = reinterpret_cast<T*>(raw);
  const int pitch = pitch_of(tile);
  const int column = blockIdx.x * tile + threadIdx.x;
  const int row = blockIdx.y * tile + threadIdx.y;
  for (int y = 0; y < tile; y += blockDim.y) {
    if (column < columns && row + y < rows) {
      cells[(threadIdx.y + y) * pitch + threadIdx.x] = in[(size_t)(row + y) * columns + column];
    }
  }
  __syncthreads();
  const int to_column = blockIdx.y * tile + threadIdx.x;
  const int to_row = blockIdx.x * tile + threadIdx.y;
  for (int y = 0; y < tile; y += blockDim.y) {
    if (to_column < rows && to_row + y < columns) {
      out[(size_t)(to_row + y) * rows + to_column] = cells[threadIdx.x * pitch + threadIdx.y + y];
    }
  }
}

__global__ void make_values(Complex* data, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    data[i] = {(float)(i % 97), (float)(i % 89)};
  }
}

__global__ void scale_values(Complex* data, int count, float by) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    data[i].re *= by;
    data[i].im *= by;
  }
}

class Transposer {
 public:
  explicit Transposer(const Plan& plan) : plan_(plan) {
    check(cudaMalloc(&in_, bytes()), "allocate");
    check(cudaMalloc(&out_, bytes()), "allocate");
    make_values<<<64, 256>>>(in_, count());
    check(cudaGetLastError(), "make_values");
  }
  Transposer(const Transposer&) = delete;
  ~Transposer() {
    cudaFree(in_);
    cudaFree(out_);
  }
  size_t shared_bytes() const { return (size_t)plan_.tile * pitch_of(plan_.tile) * sizeof(float); }
  void run() {
    const dim3 block(plan_.tile, 8);
    const dim3 grid((plan_.columns + plan_.tile - 1) / plan_.tile, (plan_.rows + plan_.tile - 1) / plan_.tile);
    transpose<Complex><<<grid, block, shared_bytes()>>>(in_, out_, plan_.rows, plan_.columns, plan_.tile);
    check(cudaGetLastError(), "transpose");
    check(cudaDeviceSynchronize(), "transpose");
    if (plan_.scaled) {
      scale_values<<<64, 256>>>(out_, count(), 0.5f);
      check(cudaDeviceSynchronize(), "scale_values");
    }
  }
  std::vector<Complex> result() const {
    std::vector<Complex> host(count());
    check(cudaMemcpy(host.data(), out_, bytes(), cudaMemcpyDeviceToHost), "copy out");
    return host;
  }

 private:
  int count() const { return plan_.rows * plan_.columns; }
  size_t bytes() const { return (size_t)count() * sizeof(Complex); }
  Plan plan_;
  Complex *in_ = nullptr, *out_ = nullptr;
};

int main(int argc, char** argv) {
  const bool verbose = argc > 1 && !std::strcmp(argv[1], "-v");
  const std::vector<Plan> plans{{256, 512, 32, false}, {500, 300, 32, true}};
  try {
    for (const Plan& plan : plans) {
      Transposer transposer(plan);
      transposer.run();
      const std::vector<Complex> result = transposer.result();
      if (verbose) std::printf("%d x %d: second value %g\n", plan.rows, plan.columns, result[1].re);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "failed: %s\n", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

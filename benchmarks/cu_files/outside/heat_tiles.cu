// nvcc -O3 -arch=sm_90 heat_tiles.cu -o heat_tiles
//
// Explicit heat equation on a grid with a halo, two buffers, four cells a thread where a row allows it.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#define GPU(expr) gpu_assert((expr), #expr, __LINE__)

inline void gpu_assert(cudaError_t code, const char* text, int line) {
  if (code == cudaSuccess) return;
  fprintf(stderr, "GPU error in line %d, %s: %s\n", line, text, cudaGetErrorString(code));
  exit(1);
}

struct GridShape {
  int width;
  int height;
  int halo;
  __host__ __device__ int pitch() const { return (width + 2 * halo + 3) / 4 * 4; }
  __host__ __device__ int cells() const { return pitch() * (height + 2 * halo); }
  __host__ __device__ int at(int x, int y) const { return (y + halo) * pitch() + x + halo; }
};

struct Settings {
  int width = 512;
  int height = 384;
  int steps = 20;
  float rate = 0.2f;
  bool check = true;
  bool quiet = false;
};

enum class Edge { kFixed, kMirror };

template <Edge edge>
__global__ void fill_halo(float* grid, GridShape shape, float outside) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < shape.width) {
    grid[shape.at(i, -1)] = edge == Edge::kFixed ? outside : grid[shape.at(i, 0)];
    grid[shape.at(i, shape.height)] = edge == Edge::kFixed ? outside : grid[shape.at(i, shape.height - 1)];
  }
  if (i < shape.height) {
    grid[shape.at(-1, i)] = edge == Edge::kFixed ? outside : grid[shape.at(0, i)];
    grid[shape.at(shape.width, i)] = edge == Edge::kFixed ? outside : grid[shape.at(shape.width - 1, i)];
  }
}

__device__ inline float relax(float middle, float left, float right, float up, float down, float rate) {
  return middle + rate * (left + right + up + down - 4.0f * middle);
}

__global__ void step_scalar(const float* in, float* out, GridShape shape, float rate) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= shape.width || y >= shape.height) return;
  const int at = shape.at(x, y), pitch = shape.pitch();
  out[at] = relax(in[at], in[at - 1], in[at + 1], in[at - pitch], in[at + pitch], rate);
}

__global__ void step_quads(const float* in, float* out, GridShape shape, float rate) {
  const int x = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= shape.width || y >= shape.height) return;
  const int at = shape.at(x, y), pitch = shape.pitch();
  const float4 up = *reinterpret_cast<const float4*>(in + at - pitch);
  const float4 middle = *reinterpret_cast<const float4*>(in + at);
  const float4 down = *reinterpret_cast<const float4*>(in + at + pitch);
  const float left = in[at - 1], right = in[at + 4];
  float4 result;
  result.x = relax(middle.x, left, middle.y, up.x, down.x, rate);
  result.y = relax(middle.y, middle.x, middle.z, up.y, down.y, rate);
  result.z = relax(middle.z, middle.y, middle.w, up.z, down.z, rate);
  result.w = relax(middle.w, middle.z, right, up.w, down.w, rate);
  *reinterpret_cast<float4*>(out + at) = result;
}

class HeatSolver {
 public:
  HeatSolver(const Settings& settings, const std::vector<float>& start)
      : shape_{settings.width, settings.height, 1}, rate_(settings.rate) {
    GPU(cudaMalloc(&front_, shape_.cells() * sizeof(float)));
    GPU(cudaMalloc(&back_, shape_.cells() * sizeof(float)));
    GPU(cudaMemset(front_, 0, shape_.cells() * sizeof(float)));
    std::vector<float> padded(shape_.cells(), 0.0f);
    for (int y = 0; y < shape_.height; ++y) {
      for (int x = 0; x < shape_.width; ++x) padded[shape_.at(x, y)] = start[y * shape_.width + x];
    }
    GPU(cudaMemcpy(front_, padded.data(), padded.size() * sizeof(float), cudaMemcpyHostToDevice));
  }
  ~HeatSolver() {
    cudaFree(front_);
    cudaFree(back_);
  }
  void advance(int steps) {
    const int longest = shape_.width > shape_.height ? shape_.width : shape_.height;
    for (int i = 0; i < steps; ++i) {
      fill_halo<Edge::kMirror><<<(longest + 127) / 128, 128>>>(front_, shape_, 0.0f);
      GPU(cudaGetLastError());
      if (shape_.width % 4 == 0) {
        const dim3 block(32, 4), grid((shape_.width / 4 + 31) / 32, (shape_.height + 3) / 4);
        step_quads<<<grid, block>>>(front_, back_, shape_, rate_);
      } else {
        const dim3 block(32, 8), grid((shape_.width + 31) / 32, (shape_.height + 7) / 8);
        step_scalar<<<grid, block>>>(front_, back_, shape_, rate_);
      }
      GPU(cudaGetLastError());
      std::swap(front_, back_);
    }
    GPU(cudaDeviceSynchronize());
  }
  std::vector<float> field() const {
    std::vector<float> padded(shape_.cells()), field(shape_.width * shape_.height);
    GPU(cudaMemcpy(padded.data(), front_, padded.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (int y = 0; y < shape_.height; ++y) {
      for (int x = 0; x < shape_.width; ++x) field[y * shape_.width + x] = padded[shape_.at(x, y)];
    }
    return field;
  }

 private:
  GridShape shape_;
  float rate_;
  float* front_ = nullptr;
  float* back_ = nullptr;
};

static std::vector<float> on_host(std::vector<float> field, const Settings& settings) {
  const int w = settings.width, h = settings.height;
  auto cell = [&](const std::vector<float>& from, int x, int y) {
    return from[(y < 0 ? 0 : y >= h ? h - 1 : y) * w + (x < 0 ? 0 : x >= w ? w - 1 : x)];
  };
  for (int step = 0; step < settings.steps; ++step) {
    const std::vector<float> old = field;
    for (int y = 0; y < h; ++y) {
      for (int x = 0; x < w; ++x) {
        const float around = cell(old, x - 1, y) + cell(old, x + 1, y) + cell(old, x, y - 1) + cell(old, x, y + 1);
        field[y * w + x] = old[y * w + x] + settings.rate * (around - 4.0f * old[y * w + x]);
      }
    }
  }
  return field;
}

static bool read_settings(int argc, char** argv, Settings* settings) {
  for (int i = 1; i < argc; ++i) {
    if (!strcmp(argv[i], "-q")) settings->quiet = true;
    else if (!strcmp(argv[i], "--no-check")) settings->check = false;
    else if (!strncmp(argv[i], "--steps=", 8)) settings->steps = atoi(argv[i] + 8);
    else if (sscanf(argv[i], "%dx%d", &settings->width, &settings->height) != 2) return false;
  }
  return settings->width > 0 && settings->height > 0;
}

int main(int argc, char** argv) {
  Settings settings;
  if (!read_settings(argc, argv, &settings)) {
    fprintf(stderr, "usage: %s [-q] [--no-check] [--steps=N] [WxH]\n", argv[0]);
    return 2;
  }
  std::vector<float> start(settings.width * settings.height);
  for (size_t i = 0; i < start.size(); ++i) start[i] = i % 97 == 0 ? 100.0f : 0.0f;
  HeatSolver solver(settings, start);
  const auto before = std::chrono::steady_clock::now();
  solver.advance(settings.steps);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  const std::vector<float> field = solver.field();
  if (!settings.quiet) printf("%d steps of %d x %d in %.3f ms\n", settings.steps, settings.width, settings.height, 1e3 * seconds);
  if (settings.check) {
    const std::vector<float> expected = on_host(start, settings);
    for (size_t i = 0; i < field.size(); ++i) {
      if (std::fabs(field[i] - expected[i]) > 1e-3f) {
        printf("cell %zu is %g, not %g\n", i, field[i], expected[i]);
        return 3;
      }
    }
    puts("as on the host");
  }
  return 0;
}

// nvcc -O3 -arch=sm_90 box_moments.cu -o box_moments
//
// Mean and spread of a picture in square boxes: each block keeps a tile with its rim in shared memory.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#define MUST(call)                                                                        \
  do {                                                                                    \
    const cudaError_t status = (call);                                                    \
    if (status != cudaSuccess) {                                                          \
      std::fprintf(stderr, "%s failed: %s\n", #call, cudaGetErrorString(status));         \
      std::exit(2);                                                                       \
    }                                                                                     \
  } while (0)

constexpr int TILE = 16;
constexpr int RIM = 2;
constexpr int WIDE = TILE + 2 * RIM;

struct Moments {
  float mean;
  float spread;
};

struct Extent {
  int width;
  int height;
  __host__ __device__ int cells() const { return width * height; }
  __host__ __device__ bool holds(int x, int y) const { return x >= 0 && y >= 0 && x < width && y < height; }
};

template <class T>
class Plane {
 public:
  explicit Plane(size_t count) : count_(count) { MUST(cudaMalloc(&data_, count * sizeof(T))); }
  Plane(const Plane&) = delete;
  Plane& operator=(const Plane&) = delete;
  ~Plane() { cudaFree(data_); }
  void fill(const std::vector<T>& from) {
    MUST(cudaMemcpy(data_, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  std::vector<T> fetch() const {
    std::vector<T> made(count_);
    MUST(cudaMemcpy(made.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return made;
  }
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
  size_t count_;
};

__device__ float clamped(const float* picture, Extent extent, int x, int y) {
  x = min(max(x, 0), extent.width - 1);
  y = min(max(y, 0), extent.height - 1);
  return picture[y * extent.width + x];
}

__global__ void scale(float* picture, int cells, float by) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < cells) picture[at] *= by;
}

template <int Reach>
__global__ void moments(const float* picture, Moments* out, Extent extent) {
  __shared__ float tile[WIDE][WIDE];
  const int x0 = blockIdx.x * TILE - RIM, y0 = blockIdx.y * TILE - RIM;
  for (int y = threadIdx.y; y < WIDE; y += TILE)
    for (int x = threadIdx.x; x < WIDE; x += TILE) tile[y][x] = clamped(picture, extent, x0 + x, y0 + y);
  __syncthreads();
  const int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (!extent.holds(x, y)) return;
  float sum = 0.0f, squares = 0.0f;
  for (int dy = -Reach; dy <= Reach; ++dy)
    for (int dx = -Reach; dx <= Reach; ++dx) {
      const float value = tile[threadIdx.y + RIM + dy][threadIdx.x + RIM + dx];
      sum += value;
      squares += value * value;
    }
  constexpr float count = (2 * Reach + 1) * (2 * Reach + 1);
  const float mean = sum / count;
  out[y * extent.width + x] = {mean, sqrtf(fmaxf(squares / count - mean * mean, 0.0f))};
}

__global__ void row_peaks(const Moments* all, float* peaks, Extent extent) {
  __shared__ float best[128];
  float mine = 0.0f;
  for (int x = threadIdx.x; x < extent.width; x += blockDim.x)
    mine = fmaxf(mine, all[blockIdx.x * extent.width + x].spread);
  best[threadIdx.x] = mine;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) best[threadIdx.x] = fmaxf(best[threadIdx.x], best[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) peaks[blockIdx.x] = best[0];
}

struct Settings {
  Extent extent{2000, 200};
  unsigned seed = 7;
  float gain = 1.5f;
  bool quiet = false;
};

std::vector<float> noise(const Settings& settings) {
  std::mt19937 engine(settings.seed);
  std::uniform_real_distribution<float> uniform(0.0f, 1.0f);
  std::vector<float> made(settings.extent.cells());
  for (float& each : made) each = uniform(engine);
  return made;
}

class Analysis {
 public:
  explicit Analysis(const Settings& settings)
      : extent_(settings.extent), picture_(extent_.cells()), moments_(extent_.cells()), peaks_(extent_.width) {}
  void load(const std::vector<float>& host, float gain) {
    picture_.fill(host);
    scale<<<(extent_.cells() + 255) / 256, 256>>>(picture_.data(), extent_.cells(), gain);
    MUST(cudaGetLastError());
  }
  std::vector<float> run() {
    const dim3 block(TILE, TILE);
    const dim3 grid((extent_.width + TILE - 1) / TILE, (extent_.height + TILE - 1) / TILE);
    moments<RIM><<<grid, block>>>(picture_.data(), moments_.data(), extent_);
    MUST(cudaGetLastError());
    row_peaks<<<extent_.width, 128>>>(moments_.data(), peaks_.data(), extent_);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    return peaks_.fetch();
  }

 private:
  Extent extent_;
  Plane<float> picture_;
  Plane<Moments> moments_;
  Plane<float> peaks_;
};

int main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--quiet") settings.quiet = true;
    else settings.seed = std::atoi(argv[i]);
  }
  Analysis analysis(settings);
  analysis.load(noise(settings), settings.gain);
  const std::vector<float> peaks = analysis.run();
  float highest = 0.0f;
  for (float each : peaks) highest = std::fmax(highest, each);
  if (!settings.quiet) std::printf("highest spread of %zu rows: %g\n", peaks.size(), highest);
  return 0;
}

main = r"""
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

struct Shape {
  int rows, columns;
  size_t bytes() const { return (size_t)rows * columns * sizeof(float); }
};

class Device {
 public:
  explicit Device(size_t bytes) : bytes_(bytes) { cudaMalloc(&data_, bytes_); }
  float* data() const { return data_; }

 private:
  size_t bytes_;
  float* data_ = nullptr;
};

__global__ void scale(float* out, const float* in, const int* order, int rows, float factor) {
  int row = order[blockIdx.x];
  if (row < rows) out[row * 32 + threadIdx.x] = in[row * 32 + threadIdx.x] * factor;
}

static int fill(std::vector<int>& order, int rows) {
  for (int i = 0; i < rows; ++i) order.push_back(rows - 1 - i);
  return (int)order.size();
}

int main(int argc, char** argv) {
  Shape shape{4096, 32};
  if (argc > 1) shape.rows = atoi(argv[1]);
  std::vector<int> order;
  int rows = fill(order, shape.rows);
  std::unique_ptr<Device> in(new Device(shape.bytes()));
  Device out(shape.bytes());
  int* places = nullptr;
  cudaMalloc(&places, order.size() * sizeof(int));
  cudaMemcpy(places, order.data(), order.size() * sizeof(int), cudaMemcpyHostToDevice);
  scale<<<rows, 32>>>(out.data(), in->data(), places, rows, 2.0f);
  if (cudaError_t error = cudaDeviceSynchronize()) {
    fprintf(stderr, "failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  return 0;
}
"""

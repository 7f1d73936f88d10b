"""A host in C++: a buffer that is an object, a vector of sizes, and a check whose errors are thrown."""

import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <stdexcept>
#include <string>
#include <vector>

static void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

class Buffer {
 public:
  explicit Buffer(size_t count) : count_(count) { cudaMalloc(&data_, count_ * sizeof(float)); }
  ~Buffer() { cudaFree(data_); }
  float* get() const { return data_; }

 private:
  size_t count_;
  float* data_ = nullptr;
};

__global__ void fill(float* out, int rows) {
  if (threadIdx.x < rows) out[threadIdx.x] = 1.0f;
}

int filled(int rows) {
  std::vector<int> sizes;
  sizes.push_back(rows);
  sizes.push_back(32);
  Buffer buffer(sizes[0]);
  try {
    fill<<<1, sizes[1]>>>(buffer.get(), sizes[0]);
    check(cudaDeviceSynchronize(), "fill");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "failed: %s\n", error.what());
    return 3;
  }
  return 0;
}
"""

module = load_inline("filled", "int filled(int rows);", CUDA, functions=["filled"])
x = torch.zeros(8, device="cuda")
print(module.filled(x.numel()))

#include <vector>

#include "common.cuh"
#include "launch.cuh"
#include "reference.h"

int main(int argc, char** argv) {
  int size = argc > 1 ? std::atoi(argv[1]) : 256;
  Problem problem{size, size, size, "square"};
  std::vector<float> a(size * size, 0.5f), b(size * size, 0.25f), c(size * size);
  float *da, *db, *dc;
  CHECK(cudaMalloc(&da, a.size() * sizeof(float)));
  CHECK(cudaMalloc(&db, b.size() * sizeof(float)));
  CHECK(cudaMalloc(&dc, c.size() * sizeof(float)));
  CHECK(cudaMemcpy(da, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice));
  gemm(da, db, dc, problem);
  CHECK(cudaMemcpy(c.data(), dc, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
  bool good = close(c, reference_gemm(a, b, size, size, size), 1e-3f);
  softmax(dc, dc, size, size);
  std::printf("%s: %s, total %f\n", problem.name.c_str(), good ? "good" : "wrong", total(dc, size * size));
  return good ? 0 : 1;
}

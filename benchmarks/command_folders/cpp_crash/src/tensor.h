#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Tensor {
  int rank = 0;
  int shape[4] = {};
  int count = 1;
  float* data = nullptr;
};

inline void check(bool holds, const char* what) {
  if (!holds) {
    fprintf(stderr, "error: %s\n", what);
    exit(2);
  }
}

inline void allocate(Tensor& tensor) {
  tensor.count = 1;
  for (int i = 0; i < tensor.rank; ++i) tensor.count *= tensor.shape[i];
  check(tensor.count > 0, "an empty tensor");
  tensor.data = static_cast<float*>(malloc(tensor.count * sizeof(float)));
}

inline float mean(const Tensor& tensor) {
  float sum = 0;
  for (int i = 0; i < tensor.count; ++i) sum += tensor.data[i];
  return sum / tensor.count;
}

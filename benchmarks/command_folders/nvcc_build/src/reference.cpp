#include "reference.h"

#include <cmath>

std::vector<float> reference_gemm(const std::vector<float>& a, const std::vector<float>& b, int m, int n, int k) {
  std::vector<float> c(m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int l = 0; l < k; ++l) c[i * n + j] += a[i * k + l] * b[l * n + j];
  return c;
}

bool close(const std::vector<float>& a, const std::vector<float>& b, float tolerance) {
  for (size_t i = 0; i < a.size(); ++i)
    if (std::fabs(a[i] - b[i]) > tolerance) return false;
  return true;
}

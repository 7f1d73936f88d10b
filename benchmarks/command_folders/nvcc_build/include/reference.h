#pragma once
#include <vector>

std::vector<float> reference_gemm(const std::vector<float>& a, const std::vector<float>& b, int m, int n, int k);
bool close(const std::vector<float>& a, const std::vector<float>& b, float tolerance);

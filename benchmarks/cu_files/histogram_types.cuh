#pragma once
// Types and sizes that the histogram's kernels share.
#include <cstdint>

struct Bin {
  uint32_t count;
  float sum;
  float squares;
};

template <int kThreads_, int kItems_, int kBins_>
struct HistogramPolicy {
  static constexpr int kThreads = kThreads_;
  static constexpr int kItems = kItems_;
  static constexpr int kBins = kBins_;
  static constexpr int kTile = kThreads_ * kItems_;
};

using SmallPolicy = HistogramPolicy<128, 4, 256>;
using LargePolicy = HistogramPolicy<256, 8, 4096>;

struct Range {
  float low;
  float high;
  __host__ __device__ float width(int bins) const { return (high - low) / bins; }
  __host__ __device__ int bin(float x, int bins) const {
    int at = (int)((x - low) / width(bins));
    return at < 0 ? 0 : at >= bins ? bins - 1 : at;
  }
};

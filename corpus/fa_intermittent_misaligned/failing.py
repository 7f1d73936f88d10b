"""Attention forward for short sequences: tiled online softmax, K and V staged through a ring in shared memory.

python fa_intermittent_misaligned.py                 check every tile configuration against torch, some rounds
python fa_intermittent_misaligned.py --bench         and time it
"""

import argparse
import math
import time

import torch
from torch.utils.cpp_extension import load_inline

HEAD_DIM = 64

# BLOCK_M, BLOCK_N, NUM_WARPS, STAGES
CONFIGS = {
    0: (64, 64, 4, 1),
    1: (64, 32, 8, 2),
    2: (80, 64, 8, 2),
    3: (80, 32, 4, 2),
    4: (64, 64, 8, 1),
}

CPP_SOURCE = """
torch::Tensor fa_forward(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor block_table, double softmax_scale, bool causal, int64_t config);
std::vector<int64_t> fa_shared_bytes();
"""

CUDA_SOURCE = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
#include <cuda_fp16.h>
#include <vector>

#define HEAD_DIM_VALUE 64
#define WARP_SIZE 32
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

// Rows of K and V are padded by 16 bytes, so that neighbouring rows start in different banks.
#define SMEM_PAD 8

namespace fa {

constexpr float kNegativeInfinity = -1e30f;

template <int BLOCK_M_, int BLOCK_N_, int NUM_WARPS_, int STAGES_>
struct FATraits {
  static constexpr int BLOCK_M = BLOCK_M_;
  static constexpr int BLOCK_N = BLOCK_N_;
  static constexpr int NUM_WARPS = NUM_WARPS_;
  static constexpr int STAGES = STAGES_;
  static constexpr int HEAD_DIM = HEAD_DIM_VALUE;
  static constexpr int NUM_THREADS = NUM_WARPS * WARP_SIZE;
  static constexpr int ROWS_PER_WARP = CEIL_DIV(BLOCK_M, NUM_WARPS);
  static constexpr int LANES_PER_ROW = WARP_SIZE / ROWS_PER_WARP > 0 ? WARP_SIZE / ROWS_PER_WARP : 1;
  static constexpr int MAX_ROWS_PER_THREAD = ROWS_PER_WARP;
  static constexpr int KV_STRIDE = HEAD_DIM + SMEM_PAD;
  static constexpr int TILE = BLOCK_N * KV_STRIDE;
  static_assert(HEAD_DIM % 8 == 0, "rows are read in vectors of 16 bytes");
};

template <typename Traits>
struct SharedMemory {
  __align__(16) half K[Traits::STAGES * Traits::TILE];
  __align__(16) half V[Traits::STAGES][Traits::BLOCK_N][Traits::KV_STRIDE];
  __align__(16) float O_accum[Traits::BLOCK_M][Traits::HEAD_DIM];
  // Where the tile of K of each stage begins in its ring. A block is done with these before it needs scores.
  union {
    float S[Traits::NUM_WARPS][Traits::BLOCK_N];
    unsigned int k_slot[Traits::STAGES];
  };
  float row_max[Traits::BLOCK_M];
  float row_sum[Traits::BLOCK_M];
};

struct Params {
  const half* q;
  const half* k;
  const half* v;
  half* o;
  int batch;
  int heads;
  const int* block_table;
  int seq_len;
  float softmax_scale;
  bool causal;
};

__device__ __forceinline__ float warp_max(float value) {
#pragma unroll
  for (int offset = WARP_SIZE / 2; offset > 0; offset >>= 1) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int offset = WARP_SIZE / 2; offset > 0; offset >>= 1) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}

// The ring position of a tile: thread 0 asks the table, the other threads read what it writes.
template <typename Traits>
__device__ __forceinline__ unsigned int ring_slot(SharedMemory<Traits>* smem, const Params& params, int block) {
  const int stage = block % Traits::STAGES;
  if (threadIdx.x == 0) {
    smem->k_slot[stage] = params.block_table[block] % Traits::STAGES * Traits::TILE;
  }
  return smem->k_slot[stage] % ((Traits::STAGES - 1) * Traits::TILE + 1);
}

__device__ __forceinline__ bool masked(const Params& params, int row, int col) {
  return col >= params.seq_len || (params.causal && col > row);
}

// 16 bytes a thread and step, zeros beyond the end of the sequence.
template <typename Traits>
__device__ void load_kv_tile(
    half* tile, const half* __restrict__ source, int first_row, int seq_len) {
  constexpr int VECTORS = Traits::HEAD_DIM / 8;
  for (int index = threadIdx.x; index < Traits::BLOCK_N * VECTORS; index += Traits::NUM_THREADS) {
    const int row = index / VECTORS;
    const int col = (index % VECTORS) * 8;
    uint4 value = make_uint4(0, 0, 0, 0);
    if (first_row + row < seq_len) {
      value = *reinterpret_cast<const uint4*>(source + (first_row + row) * Traits::HEAD_DIM + col);
    }
    *reinterpret_cast<uint4*>(tile + row * Traits::KV_STRIDE + col) = value;
  }
}

template <typename Traits>
__device__ void load_q_rows(
    half (*q_reg)[Traits::HEAD_DIM], const half* __restrict__ source, int first_row, int seq_len) {
  for (int local = 0; local < Traits::MAX_ROWS_PER_THREAD; ++local) {
    const int row = first_row + local;
    for (int d = 0; d < Traits::HEAD_DIM; ++d) {
      q_reg[local][d] = row < seq_len ? source[row * Traits::HEAD_DIM + d] : __float2half(0.0f);
    }
  }
}

template <typename Traits>
__device__ void qk_row_scalar(
    const half* q_row, const half* k_tile, float* s_row, float softmax_scale, int columns, int lane) {
  for (int col = lane; col < columns; col += WARP_SIZE) {
    float dot = 0.0f;
#pragma unroll
    for (int d = 0; d < Traits::HEAD_DIM; d += 8) {
      const uint4 packed = *reinterpret_cast<const uint4*>(k_tile + col * Traits::KV_STRIDE + d);
      const half2* pairs = reinterpret_cast<const half2*>(&packed);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 pair = __half22float2(pairs[i]);
        dot += __half2float(q_row[d + 2 * i]) * pair.x + __half2float(q_row[d + 2 * i + 1]) * pair.y;
      }
    }
    s_row[col] = dot * softmax_scale;
  }
}

template <typename Traits>
__device__ void softmax_update(
    SharedMemory<Traits>* smem, const Params& params, float* s_row, const half* v_tile, int local_row, int row,
    int first_col, int lane) {
  float tile_max = kNegativeInfinity;
  for (int col = lane; col < Traits::BLOCK_N; col += WARP_SIZE) {
    if (masked(params, row, first_col + col)) {
      s_row[col] = kNegativeInfinity;
    }
    tile_max = fmaxf(tile_max, s_row[col]);
  }
  tile_max = warp_max(tile_max);
  const float old_max = smem->row_max[local_row];
  const float new_max = fmaxf(old_max, tile_max);
  const float correction = __expf(old_max - new_max);
  float tile_sum = 0.0f;
  for (int col = lane; col < Traits::BLOCK_N; col += WARP_SIZE) {
    s_row[col] = __expf(s_row[col] - new_max);
    tile_sum += s_row[col];
  }
  tile_sum = warp_sum(tile_sum);
  __syncwarp();
  for (int d = lane; d < Traits::HEAD_DIM; d += WARP_SIZE) {
    float value = smem->O_accum[local_row][d] * correction;
    for (int col = 0; col < Traits::BLOCK_N; ++col) {
      value += s_row[col] * __half2float(v_tile[col * Traits::KV_STRIDE + d]);
    }
    smem->O_accum[local_row][d] = value;
  }
  if (lane == 0) {
    smem->row_max[local_row] = new_max;
    smem->row_sum[local_row] = smem->row_sum[local_row] * correction + tile_sum;
  }
  __syncwarp();
}

template <typename Traits>
__device__ void compute_block(
    SharedMemory<Traits>* smem, const Params& params, const half* q_base, const half* k_tile, int stage, int first_row,
    int first_col) {
  const int warp = threadIdx.x / WARP_SIZE;
  const int lane = threadIdx.x % WARP_SIZE;
  half Q_reg[Traits::MAX_ROWS_PER_THREAD][Traits::HEAD_DIM];
  const int warp_row = warp * Traits::ROWS_PER_WARP;
  load_q_rows<Traits>(Q_reg, q_base, first_row + warp_row, params.seq_len);
  for (int local = 0; local < Traits::ROWS_PER_WARP; ++local) {
    const int local_row = warp_row + local;
    if (local_row >= Traits::BLOCK_M || first_row + local_row >= params.seq_len) {
      break;
    }
    float* S_row = smem->S[warp];
    const int reg_row = local % Traits::MAX_ROWS_PER_THREAD;
    qk_row_scalar<Traits>(
        &Q_reg[reg_row][0], k_tile, S_row, params.softmax_scale, Traits::BLOCK_N, lane);
    __syncwarp();
    softmax_update<Traits>(
        smem, params, S_row, &smem->V[stage][0][0], local_row, first_row + local_row, first_col, lane);
  }
}

template <typename Traits>
__global__ void __launch_bounds__(Traits::NUM_THREADS, 2) fa_forward_kernel(Params params) {
  extern __shared__ __align__(16) unsigned char smem_raw[];
  SharedMemory<Traits>* smem = reinterpret_cast<SharedMemory<Traits>*>(smem_raw);
  const int head = blockIdx.y;
  const size_t offset = static_cast<size_t>(head) * params.seq_len * Traits::HEAD_DIM;
  const half* q = params.q + offset;
  const half* k = params.k + offset;
  const half* v = params.v + offset;
  half* o = params.o + offset;
  const int first_row = blockIdx.x * Traits::BLOCK_M;

  for (int index = threadIdx.x; index < Traits::BLOCK_M * Traits::HEAD_DIM; index += Traits::NUM_THREADS) {
    smem->O_accum[index / Traits::HEAD_DIM][index % Traits::HEAD_DIM] = 0.0f;
  }
  for (int row = threadIdx.x; row < Traits::BLOCK_M; row += Traits::NUM_THREADS) {
    smem->row_max[row] = kNegativeInfinity;
    smem->row_sum[row] = 0.0f;
  }

  const int last = params.causal ? min(params.seq_len, first_row + Traits::BLOCK_M) : params.seq_len;
  const int blocks = CEIL_DIV(last, Traits::BLOCK_N);
  unsigned int slot = Traits::STAGES > 1 ? ring_slot<Traits>(smem, params, 0) : 0;
  load_kv_tile<Traits>(smem->K + slot, k, 0, params.seq_len);
  load_kv_tile<Traits>(&smem->V[0][0][0], v, 0, params.seq_len);
  __syncthreads();
  for (int block = 0; block < blocks; ++block) {
    const int stage = block % Traits::STAGES;
    if (Traits::STAGES > 1 && block + 1 < blocks) {
      const int next = (block + 1) % Traits::STAGES;
      load_kv_tile<Traits>(smem->K + next * Traits::TILE, k, (block + 1) * Traits::BLOCK_N, params.seq_len);
      load_kv_tile<Traits>(&smem->V[next][0][0], v, (block + 1) * Traits::BLOCK_N, params.seq_len);
    }
    const half* k_tile = smem->K + (block == 0 ? slot : stage * Traits::TILE);
    compute_block<Traits>(smem, params, q, k_tile, stage, first_row, block * Traits::BLOCK_N);
    __syncthreads();
    if (Traits::STAGES == 1 && block + 1 < blocks) {
      load_kv_tile<Traits>(smem->K, k, (block + 1) * Traits::BLOCK_N, params.seq_len);
      load_kv_tile<Traits>(&smem->V[0][0][0], v, (block + 1) * Traits::BLOCK_N, params.seq_len);
      __syncthreads();
    }
  }

  for (int index = threadIdx.x; index < Traits::BLOCK_M * Traits::HEAD_DIM; index += Traits::NUM_THREADS) {
    const int row = index / Traits::HEAD_DIM;
    const int d = index % Traits::HEAD_DIM;
    if (first_row + row < params.seq_len) {
      o[(first_row + row) * Traits::HEAD_DIM + d] = __float2half(smem->O_accum[row][d] / smem->row_sum[row]);
    }
  }
}

template <typename Traits>
void launch(const Params& params) {
  const int bytes = sizeof(SharedMemory<Traits>);
  auto kernel = fa_forward_kernel<Traits>;
  C10_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  dim3 grid(CEIL_DIV(params.seq_len, Traits::BLOCK_M), params.batch * params.heads);
  dim3 block(Traits::NUM_THREADS);
  fa_forward_kernel<Traits><<<grid, block, bytes>>>(params);
  C10_CUDA_CHECK(cudaGetLastError());
}

}  // namespace fa

using Config0 = fa::FATraits<64, 64, 4, 1>;
using Config1 = fa::FATraits<64, 32, 8, 2>;
using Config2 = fa::FATraits<80, 64, 8, 2>;
using Config3 = fa::FATraits<80, 32, 4, 2>;
using Config4 = fa::FATraits<64, 64, 8, 1>;

torch::Tensor fa_forward(
    torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor block_table, double softmax_scale, bool causal,
    int64_t config) {
  TORCH_CHECK(q.dim() == 4, "q must be [batch, heads, seq_len, head_dim]");
  TORCH_CHECK(q.size(3) == HEAD_DIM_VALUE, "head_dim must be 64");
  TORCH_CHECK(q.scalar_type() == torch::kHalf, "q must be half");
  q = q.contiguous();
  k = k.contiguous();
  v = v.contiguous();
  torch::Tensor o = torch::empty_like(q);
  fa::Params params;
  params.q = reinterpret_cast<const half*>(q.data_ptr());
  params.k = reinterpret_cast<const half*>(k.data_ptr());
  params.v = reinterpret_cast<const half*>(v.data_ptr());
  params.o = reinterpret_cast<half*>(o.data_ptr());
  params.block_table = reinterpret_cast<const int*>(block_table.data_ptr());
  params.batch = q.size(0);
  params.heads = q.size(1);
  params.seq_len = q.size(2);
  params.softmax_scale = static_cast<float>(softmax_scale);
  params.causal = causal;
  switch (config) {
    case 0: fa::launch<Config0>(params); break;
    case 1: fa::launch<Config1>(params); break;
    case 2: fa::launch<Config2>(params); break;
    case 3: fa::launch<Config3>(params); break;
    case 4: fa::launch<Config4>(params); break;
    default: TORCH_CHECK(false, "unknown config ", config);
  }
  return o;
}

std::vector<int64_t> fa_shared_bytes() {
  return {
      (int64_t)sizeof(fa::SharedMemory<Config0>), (int64_t)sizeof(fa::SharedMemory<Config1>),
      (int64_t)sizeof(fa::SharedMemory<Config2>), (int64_t)sizeof(fa::SharedMemory<Config3>),
      (int64_t)sizeof(fa::SharedMemory<Config4>)};
}
"""


def build(verbose=False):
    flags = ["-O3", "--use_fast_math", "-lineinfo", "-U__CUDA_NO_HALF_CONVERSIONS__", "-U__CUDA_NO_HALF_OPERATORS__"]
    return load_inline(
        name="fa_forward_ring",
        cpp_sources=[CPP_SOURCE],
        cuda_sources=[CUDA_SOURCE],
        functions=["fa_forward", "fa_shared_bytes"],
        extra_cuda_cflags=flags,
        verbose=verbose,
    )


class Attention:
    def __init__(self, config, causal=True):
        self.config = config
        self.causal = causal
        self.extension = build()

    def __call__(self, q, k, v):
        scale = 1.0 / math.sqrt(q.shape[-1])
        blocks = -(-q.shape[2] // CONFIGS[self.config][1])
        table = torch.arange(blocks, dtype=torch.int32, device=q.device)
        return self.extension.fa_forward(q, k, v, table, scale, self.causal, self.config)


def reference(q, k, v, causal):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)


def make_inputs(batch, heads, seq_len, seed=0):
    generator = torch.Generator(device="cuda").manual_seed(seed)
    shape = (batch, heads, seq_len, HEAD_DIM)
    return [torch.randn(shape, device="cuda", dtype=torch.float16, generator=generator) for _ in range(3)]


def check(config, batch, heads, seq_len, causal, rounds):
    q, k, v = make_inputs(batch, heads, seq_len)
    attention = Attention(config, causal)
    for _ in range(rounds):
        out = attention(q, k, v)
        torch.cuda.synchronize()
    error = (out.float() - reference(q, k, v, causal).float()).abs().max().item()
    print(f"config {config} {CONFIGS[config]}: max error {error:.2e}")
    assert error < 2e-2, f"config {config}: wrong result"


def bench(config, batch, heads, seq_len, causal, repeats=50):
    q, k, v = make_inputs(batch, heads, seq_len)
    attention = Attention(config, causal)
    for _ in range(5):
        attention(q, k, v)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        attention(q, k, v)
    torch.cuda.synchronize()
    elapsed = (time.perf_counter() - start) / repeats
    flops = 4 * batch * heads * seq_len * seq_len * HEAD_DIM * (0.5 if causal else 1.0)
    print(f"config {config}: {elapsed * 1e6:.1f} us, {flops / elapsed * 1e-12:.2f} TFLOP/s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--config", type=int, default=None)
    parser.add_argument("--no-causal", action="store_true")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--bench", action="store_true")
    args = parser.parse_args()
    chosen = [args.config] if args.config is not None else sorted(CONFIGS)
    for config in chosen:
        check(config, args.batch, args.heads, args.seq_len, not args.no_causal, args.rounds)
        if args.bench:
            bench(config, args.batch, args.heads, args.seq_len, not args.no_causal)


if __name__ == "__main__":
    main()

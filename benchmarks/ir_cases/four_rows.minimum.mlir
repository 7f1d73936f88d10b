// RUN: triton-opt %s -convert-triton-gpu-to-llvm
#tile = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#swizzled = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func @f(%kept: !ttg.memdesc<4x64xf16, #swizzled, #smem>) {
    %rows = ttg.local_load %kept : !ttg.memdesc<4x64xf16, #swizzled, #smem> -> tensor<4x64xf16, #tile>
    tt.return
  }
}

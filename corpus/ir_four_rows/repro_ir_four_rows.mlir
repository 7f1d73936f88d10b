// RUN: triton-opt %s -convert-triton-gpu-to-llvm="compute-capability=90 ptx-version=80" | FileCheck %s
// Fault: convert-triton-gpu-to-llvm: Illegal shared layout
// Seen with Triton 3.7.1 for sm_90 by its Python binding; not run with triton-opt, which no wheel has. On a wheel: shrink replay FILE
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.shared = 2048 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  // CHECK-LABEL: @scaled_rows(
  tt.func @scaled_rows(%arg0: tensor<4x64xf16, #blocked>, %arg1: !ttg.memdesc<4x64xf16, #shared, #smem, mutable>) {
    ttg.local_store %arg0, %arg1 : tensor<4x64xf16, #blocked> -> !ttg.memdesc<4x64xf16, #shared, #smem, mutable>
    tt.return
  }
}

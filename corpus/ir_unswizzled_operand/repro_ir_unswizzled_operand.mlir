// RUN: triton-opt %s -convert-triton-gpu-to-llvm="compute-capability=90 ptx-version=80" | FileCheck %s
// Fault: convert-triton-gpu-to-llvm: Failed to find a valid layout
// Seen with Triton 3.6.0 for sm_90 by its Python binding; not run with triton-opt, which no wheel has. On a wheel: shrink replay FILE
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 16, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.shared = 2560 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  // CHECK-LABEL: @fusion(
  tt.func @fusion(%arg0: tensor<64x16xf32, #mma>, %arg1: !ttg.memdesc<64x16xbf16, #shared, #smem, mutable>, %arg2: !ttg.memdesc<16x16xbf16, #shared, #smem, mutable>) {
    %0 = ttng.warp_group_dot %arg1, %arg2, %arg0 {inputPrecision = 0 : i32} : !ttg.memdesc<64x16xbf16, #shared, #smem, mutable> * !ttg.memdesc<16x16xbf16, #shared, #smem, mutable> -> tensor<64x16xf32, #mma>
    tt.return
  }
}

// RUN: triton-opt %s -tritongpu-global-scratch-memory-allocation | FileCheck %s
// Fault: tritongpu-global-scratch-memory-allocation: GlobalScratchMemoryAllocation.cpp: !seenKernel
// Seen with Triton 3.7.1 for sm_90 by its Python binding; not run with triton-opt, which no wheel has. On a wheel: shrink replay FILE
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.shared = 16 : i32, ttg.target = "cuda:90", ttg.tensor_memory_size = 0 : i32, "ttg.threads-per-warp" = 32 : i32, "ttg.total-num-warps" = 4 : i32} {
  // CHECK-LABEL: @scale_rows(
  tt.func @scale_rows() {
    tt.return
  }
  // CHECK-LABEL: @sum_rows(
  tt.func @sum_rows() {
    tt.return
  }
}

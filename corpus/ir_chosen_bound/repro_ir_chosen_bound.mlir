// RUN: triton-opt %s -tritongpu-coalesce | FileCheck %s
// Fault: tritongpu-coalesce: SmallVector.h: idx < size() in const_reference llvm::SmallVectorTemplateCommon<long>::operator[](size_type) const [T = long]
// Seen with Triton 3.5.1 for sm_90 by its Python binding; not run with triton-opt, which no wheel has. On a wheel: shrink replay FILE
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  // CHECK-LABEL: @ragged_sum(
  tt.func @ragged_sum(%arg0: i32, %arg1: i1) {
    %0 = scf.if %arg1 -> (i32) {
      scf.yield %arg0 : i32
    } else {
      scf.yield %arg0 : i32
    }
    scf.for %arg2 = %0 to %arg0 step %arg0  : i32 {
    }
    tt.return
  }
}

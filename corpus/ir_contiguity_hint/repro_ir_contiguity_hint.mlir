// RUN: triton-opt %s -tritongpu-coalesce | FileCheck %s
// Fault: tritongpu-coalesce: SparseAnalysis.h: ValueT::join(newValue, rhs) == newValue && "expected `join` to be monotonic" in ChangeResult mlir::dataflow::Lattice<mlir::triton::AxisInfo>::join(const ValueT &) [ValueT = mlir::triton::AxisInfo]
// Seen with Triton 3.7.1 for sm_90 by its Python binding; not run with triton-opt, which no wheel has. On a wheel: shrink replay FILE
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  // CHECK-LABEL: @layer_norm(
  tt.func @layer_norm(%arg0: tensor<1xi32>) {
    %0 = arith.addi %arg0, %arg0 {tt.contiguity = dense<-7> : tensor<1xi32>} : tensor<1xi32>
    tt.return
  }
}

// RUN: triton-opt %s -tritongpu-remove-layout-conversions | FileCheck %s
// Fault: tritongpu-remove-layout-conversions: RemoveLayoutConversions.cpp: rewrittenValue
// Seen with Triton 3.0.0 for sm_80 by its Python binding; not run with triton-opt, which no wheel has. On a wheel: shrink replay FILE
#blocked = #triton_gpu.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [2, 2], order = [1, 0]}>
#blocked1 = #triton_gpu.blocked<{sizePerThread = [4, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"triton_gpu.num-ctas" = 1 : i32, "triton_gpu.num-warps" = 4 : i32, triton_gpu.target = "cuda:80", "triton_gpu.threads-per-warp" = 32 : i32} {
  // CHECK-LABEL: @k(
  tt.func @k(%arg0: i32, %arg1: tensor<1x1xf32, #blocked>, %arg2: i1, %arg3: tensor<1x1xf32, #blocked1>, %arg4: tensor<1x1xf32, #blocked>) {
    %0 = scf.for %arg5 = %arg0 to %arg0 step %arg0 iter_args(%arg6 = %arg1) -> (tensor<1x1xf32, #blocked>)  : i32 {
      %2 = triton_gpu.convert_layout %arg6 : tensor<1x1xf32, #blocked> -> tensor<1x1xf32, #blocked1>
      %3 = triton_gpu.convert_layout %arg3 : tensor<1x1xf32, #blocked1> -> tensor<1x1xf32, #blocked>
      scf.yield %3 : tensor<1x1xf32, #blocked>
    }
    %1:2 = scf.while (%arg5 = %0, %arg6 = %arg0) : (tensor<1x1xf32, #blocked>, i32) -> (tensor<1x1xf32, #blocked>, i32) {
      scf.condition(%arg2) %arg5, %arg6 : tensor<1x1xf32, #blocked>, i32
    } do {
    ^bb0(%arg5: tensor<1x1xf32, #blocked>, %arg6: i32):
      scf.yield %arg4, %arg0 : tensor<1x1xf32, #blocked>, i32
    }
    tt.return
  }
}

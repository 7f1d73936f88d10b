// RUN: triton-opt %s -tritongpu-optimize-thread-locality | FileCheck %s
// Fault: tritongpu-optimize-thread-locality: OptimizeThreadLocality.cpp: oldUpdate->getNumOperands() == 2
// Seen with Triton 3.7.1 for gfx942 by its Python binding; not run with triton-opt, which no wheel has. On a wheel: shrink replay FILE
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [1, 64], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
  // CHECK-LABEL: @last_row(
  tt.func @last_row(%arg0: i32, %arg1: tensor<1x2x!tt.ptr<f32>, #blocked>) -> tensor<1xf32, #ttg.slice<{dim = 1, parent = #blocked}>> {
    %cst = arith.constant dense<0.000000e+00> : tensor<1xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %0 = scf.for %arg2 = %arg0 to %arg0 step %arg0 iter_args(%arg3 = %cst) -> (tensor<1xf32, #ttg.slice<{dim = 1, parent = #blocked}>>)  : i32 {
      %1 = tt.load %arg1 : tensor<1x2x!tt.ptr<f32>, #blocked>
      %2 = "tt.reduce"(%1) <{axis = 1 : i32}> ({
      ^bb0(%arg4: f32, %arg5: f32):
        %4 = arith.addf %arg4, %arg5 : f32
        tt.reduce.return %4 : f32
      }) : (tensor<1x2xf32, #blocked>) -> tensor<1xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
      %3 = math.exp %2 : tensor<1xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
      scf.yield %3 : tensor<1xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    }
    tt.return %0 : tensor<1xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
  }
}

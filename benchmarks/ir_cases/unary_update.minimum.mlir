// RUN: triton-opt %s -tritongpu-optimize-thread-locality
#rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#line = #ttg.slice<{dim = 1, parent = #rows}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func @f(%from: i32, %to: i32, %by: i32, %p: tensor<16x256x!tt.ptr<f32>, #rows>) -> tensor<16xf32, #line> {
    %start = arith.constant dense<0.000000e+00> : tensor<16xf32, #line>
    %x = scf.for %i = %from to %to step %by iter_args(%old = %start) -> (tensor<16xf32, #line>) : i32 {
      %v = tt.load %p : tensor<16x256x!tt.ptr<f32>, #rows>
      %s = "tt.reduce"(%v) <{axis = 1 : i32}> ({
      ^bb0(%l: f32, %r: f32):
        %t = arith.addf %l, %r : f32
        tt.reduce.return %t : f32
      }) : (tensor<16x256xf32, #rows>) -> tensor<16xf32, #line>
      %e = math.exp %s : tensor<16xf32, #line>
      scf.yield %e : tensor<16xf32, #line>
    }
    tt.return %x : tensor<16xf32, #line>
  }
}

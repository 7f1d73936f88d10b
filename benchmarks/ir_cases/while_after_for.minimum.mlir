// RUN: triton-opt %s -tritongpu-remove-layout-conversions
#rows = #triton_gpu.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [2, 2], order = [1, 0]}>
#tiles = #triton_gpu.blocked<{sizePerThread = [4, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"triton_gpu.num-ctas" = 1 : i32, "triton_gpu.num-warps" = 4 : i32, "triton_gpu.threads-per-warp" = 32 : i32} {
  tt.func @f(%more: i1, %n: i32, %zero: tensor<64x64xf32, #rows>, %tile: tensor<64x64xf32, #tiles>, %other: tensor<64x64xf32, #rows>) {
    %sum = scf.for %i = %n to %n step %n iter_args(%before = %zero) -> (tensor<64x64xf32, #rows>)  : i32 {
      %unused = triton_gpu.convert_layout %before : tensor<64x64xf32, #rows> -> tensor<64x64xf32, #tiles>
      %after = triton_gpu.convert_layout %tile : tensor<64x64xf32, #tiles> -> tensor<64x64xf32, #rows>
      scf.yield %after : tensor<64x64xf32, #rows>
    }
    %last:2 = scf.while (%now = %sum, %at = %n) : (tensor<64x64xf32, #rows>, i32) -> (tensor<64x64xf32, #rows>, i32) {
      scf.condition(%more) %now, %at : tensor<64x64xf32, #rows>, i32
    } do {
    ^bb0(%next: tensor<64x64xf32, #rows>, %then: i32):
      scf.yield %other, %n : tensor<64x64xf32, #rows>, i32
    }
    tt.return
  }
}

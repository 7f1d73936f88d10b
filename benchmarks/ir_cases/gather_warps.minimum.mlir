// RUN: triton-opt %s -tritongpu-optimize-thread-locality
#wide = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#rows = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [16, 2], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func @f(%s: tensor<8x2xf32, #rows>, %i: tensor<8x8xi32, #wide>) -> tensor<8x8xf32, #wide> {
    %x = tt.gather %s[%i] {axis = 1 : i32} : (tensor<8x2xf32, #rows>, tensor<8x8xi32, #wide>) -> tensor<8x8xf32, #wide>
    tt.return %x : tensor<8x8xf32, #wide>
  }
}

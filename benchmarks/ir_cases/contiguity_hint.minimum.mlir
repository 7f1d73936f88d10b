// RUN: triton-opt %s -tritongpu-coalesce
#line = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func @f(%a: tensor<128xi32, #line>) {
    %x = arith.addi %a, %a {tt.contiguity = dense<-7> : tensor<1xi32>} : tensor<128xi32, #line>
    tt.return
  }
}

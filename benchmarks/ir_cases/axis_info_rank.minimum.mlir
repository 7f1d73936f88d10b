// RUN: triton-opt %s -convert-triton-amdgpu-to-llvm="arch=gfx942"
#rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
  tt.func @f(%p: tensor<128x32x!tt.ptr<f16>, #rows> {tt.contiguity = dense<[1, 16]> : tensor<2xi32>, tt.divisibility = dense<[16, 16]> : tensor<2xi32>}) {
    %v = tt.load %p : tensor<128x32x!tt.ptr<f16>, #rows>
    tt.return
  }
}

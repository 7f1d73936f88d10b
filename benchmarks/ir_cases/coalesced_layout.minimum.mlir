// RUN: triton-opt %s -convert-triton-amdgpu-to-llvm="arch=gfx942"
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
  tt.func @f(%p: tensor<512x!tt.ptr<f32>, #gluon.coalesced_encoding>) {
    %v = tt.load %p : tensor<512x!tt.ptr<f32>, #gluon.coalesced_encoding>
    tt.return
  }
}

// RUN: triton-opt %s -tritongpu-coalesce
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func @f(%p: tensor<512x!tt.ptr<f32>, #gluon.coalesced_encoding>) {
    %v = tt.load %p : tensor<512x!tt.ptr<f32>, #gluon.coalesced_encoding>
    tt.return
  }
}

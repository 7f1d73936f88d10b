// RUN: triton-opt %s -tritongpu-global-scratch-memory-allocation
module {
  tt.func @f() {
    tt.call @f() : () -> ()
    tt.return
  }
}

// RUN: triton-opt %s -tritongpu-global-scratch-memory-allocation
module {
  tt.func @f() {
    tt.return
  }
  tt.func @g() {
    tt.return
  }
}

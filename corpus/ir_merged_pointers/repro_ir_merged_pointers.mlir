// RUN: triton-opt %s -tritonamdgpu-canonicalize-pointers | FileCheck %s
// Fault: tritonamdgpu-canonicalize-pointers: CanonicalizePointers.cpp: adaptor.getTrueValue().size() == adaptor.getFalseValue().size() && "expected both true and false operands to be the same size"
// Seen with Triton 3.7.1 for gfx942 by its Python binding; not run with triton-opt, which no wheel has. On a wheel: shrink replay FILE
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
  // CHECK-LABEL: @softmax_matmul(
  tt.func @softmax_matmul(%arg0: !tt.ptr<f32> {tt.pointer_range = 32 : i32}, %arg1: !tt.ptr<f32>, %arg2: i1) {
    %0 = arith.select %arg2, %arg1, %arg0 : !tt.ptr<f32>
    tt.return
  }
}

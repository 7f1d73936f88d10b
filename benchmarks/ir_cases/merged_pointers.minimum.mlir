// RUN: triton-opt %s -tritonamdgpu-canonicalize-pointers
module {
  tt.func @f(%a: !tt.ptr<f32>, %b: !tt.ptr<f32> {tt.pointer_range = 32 : i32}, %c: i1) {
    %x = arith.select %c, %a, %b : !tt.ptr<f32>
    tt.return
  }
}

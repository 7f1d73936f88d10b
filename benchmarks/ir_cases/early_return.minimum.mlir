// RUN: triton-opt %s -tritonamdgpu-canonicalize-pointers
module {
  tt.func @f(%p: !tt.ptr<f32> {tt.pointer_range = 32 : i32}, %n: i32, %c: i1) {
    cf.cond_br %c, ^bb1(%p : !tt.ptr<f32>), ^bb1(%p : !tt.ptr<f32>)
  ^bb1(%q: !tt.ptr<f32>):
    tt.return
  }
}

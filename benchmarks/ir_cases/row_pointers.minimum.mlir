// RUN: triton-opt %s -tritonamdgpu-canonicalize-pointers
module {
  tt.func @f(%a: !tt.ptr<f32> {tt.pointer_range = 32 : i32}, %b: !tt.ptr<f32> {tt.pointer_range = 32 : i32}, %c: tensor<4xi1>, %d: tensor<4xf32>) {
    %s = tt.splat %a : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
    %t = tt.splat %b : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
    %x = arith.select %c, %s, %t : tensor<4xi1>, tensor<4x!tt.ptr<f32>>
    tt.store %x, %d : tensor<4x!tt.ptr<f32>>
    tt.return
  }
}

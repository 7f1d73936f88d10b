// RUN: triton-opt %s -tritonamdgpu-canonicalize-pointers | FileCheck %s
// Fault: tritonamdgpu-canonicalize-pointers: Casting.h: isa<To>(Val) && "cast<Ty>() argument of incompatible type!" in decltype(auto) llvm::cast(const From &) [To = mlir::ShapedType, From = mlir::Type]
// Seen with Triton 3.7.1 for gfx942 by its Python binding; not run with triton-opt, which no wheel has. On a wheel: shrink replay FILE
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
  // CHECK-LABEL: @two_tables(
  tt.func @two_tables(%arg0: !tt.ptr<f32> {tt.pointer_range = 32 : i32}, %arg1: tensor<4xi1>, %arg2: tensor<4xf32>) {
    %0 = tt.splat %arg0 : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
    %1 = tt.splat %arg0 : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
    %2 = arith.select %arg1, %1, %0 : tensor<4xi1>, tensor<4x!tt.ptr<f32>>
    tt.store %2, %arg2 : tensor<4x!tt.ptr<f32>>
    tt.return
  }
}

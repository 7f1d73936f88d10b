// RUN: triton-opt %s -convert-scf-to-cf -convert-triton-amdgpu-to-llvm=arch=gfx942
// Tensors that never got a layout reach the lowering (triton-lang/triton 9064).
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
  tt.func public @layer_norm(%arg0: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %arg1: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %arg2: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %arg3: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %arg4: i32, %arg5: f32) attributes {noinline = false} {
    %cst = arith.constant 1.000000e+00 : f32
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<1024xf32>
    %c1024_i32 = arith.constant 1024 : i32
    %0 = tt.get_program_id x : i32
    %1 = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
    %2 = arith.muli %0, %c1024_i32 : i32
    %3 = tt.splat %2 : i32 -> tensor<1024xi32>
    %4 = arith.addi %3, %1 : tensor<1024xi32>
    %5 = tt.splat %arg4 : i32 -> tensor<1024xi32>
    %6 = arith.cmpi slt, %1, %5 : tensor<1024xi32>
    %7 = tt.splat %arg0 : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %8 = tt.addptr %7, %4 : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    %9 = tt.load %8, %6, %cst_0 : tensor<1024x!tt.ptr<f32>>
    %10 = "tt.reduce"(%9) <{axis = 0 : i32}> ({
    ^bb0(%arg6: f32, %arg7: f32):
      %34 = arith.addf %arg6, %arg7 : f32
      tt.reduce.return %34 : f32
    }) : (tensor<1024xf32>) -> f32
    %11 = arith.sitofp %arg4 : i32 to f32
    %12 = arith.divf %10, %11 : f32
    %13 = tt.splat %12 : f32 -> tensor<1024xf32>
    %14 = arith.subf %9, %13 : tensor<1024xf32>
    %15 = arith.select %6, %14, %cst_0 : tensor<1024xi1>, tensor<1024xf32>
    %16 = arith.mulf %15, %15 : tensor<1024xf32>
    %17 = "tt.reduce"(%16) <{axis = 0 : i32}> ({
    ^bb0(%arg6: f32, %arg7: f32):
      %34 = arith.addf %arg6, %arg7 : f32
      tt.reduce.return %34 : f32
    }) : (tensor<1024xf32>) -> f32
    %18 = arith.divf %17, %11 : f32
    %19 = arith.addf %18, %arg5 : f32
    %20 = math.sqrt %19 : f32
    %21 = arith.divf %cst, %20 : f32
    %22 = tt.splat %21 : f32 -> tensor<1024xf32>
    %23 = arith.mulf %15, %22 : tensor<1024xf32>
    %24 = tt.splat %arg1 : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %25 = tt.addptr %24, %1 : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    %26 = tt.load %25, %6 : tensor<1024x!tt.ptr<f32>>
    %27 = arith.mulf %23, %26 : tensor<1024xf32>
    %28 = tt.splat %arg2 : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %29 = tt.addptr %28, %1 : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    %30 = tt.load %29, %6 : tensor<1024x!tt.ptr<f32>>
    %31 = arith.addf %27, %30 : tensor<1024xf32>
    %32 = tt.splat %arg3 : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %33 = tt.addptr %32, %4 : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    tt.store %33, %31, %6 : tensor<1024x!tt.ptr<f32>>
    tt.return
  }
}

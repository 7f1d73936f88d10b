// RUN: triton-opt %s -gluon-inline -canonicalize -tritongpu-coalesce -cse
// Pointers with a placeholder for a layout are coalesced (triton-lang/triton 11543).
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @copy_scaled(%arg0: !tt.ptr<f32>, %arg1: !tt.ptr<f32>, %arg2: !tt.ptr<f32>, %arg3: i32) attributes {noinline = false} {
    %0 = tt.get_program_id x : i32
    %c512_i32 = arith.constant 512 : i32
    %c512_i32_0 = arith.constant 512 : i32
    %1 = arith.extsi %0 : i32 to i64
    %2 = arith.extsi %c512_i32_0 : i32 to i64
    %3 = arith.muli %1, %2 : i64
    %c2147483647_i64 = arith.constant 2147483647 : i64
    %c-2147483648_i64 = arith.constant -2147483648 : i64
    %4 = arith.cmpi sle, %3, %c2147483647_i64 : i64
    %5 = arith.cmpi sge, %3, %c-2147483648_i64 : i64
    %6 = arith.andi %4, %5 : i1
    %7 = arith.muli %0, %c512_i32_0 : i32
    %8 = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #gluon.auto_encoding>
    %9 = tt.splat %7 : i32 -> tensor<512xi32, #gluon.auto_encoding>
    %10 = arith.extsi %9 : tensor<512xi32, #gluon.auto_encoding> to tensor<512xi64, #gluon.auto_encoding>
    %11 = arith.extsi %8 : tensor<512xi32, #gluon.auto_encoding> to tensor<512xi64, #gluon.auto_encoding>
    %12 = arith.addi %10, %11 : tensor<512xi64, #gluon.auto_encoding>
    %c2147483647_i64_1 = arith.constant 2147483647 : i64
    %c-2147483648_i64_2 = arith.constant -2147483648 : i64
    %cst = arith.constant dense<2147483647> : tensor<512xi64, #gluon.auto_encoding>
    %13 = arith.cmpi sle, %12, %cst : tensor<512xi64, #gluon.auto_encoding>
    %cst_3 = arith.constant dense<-2147483648> : tensor<512xi64, #gluon.auto_encoding>
    %14 = arith.cmpi sge, %12, %cst_3 : tensor<512xi64, #gluon.auto_encoding>
    %15 = arith.andi %13, %14 : tensor<512xi1, #gluon.auto_encoding>
    %16 = arith.addi %9, %8 : tensor<512xi32, #gluon.auto_encoding>
    %17 = tt.splat %arg0 : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #gluon.auto_encoding>
    %18 = tt.addptr %17, %16 : tensor<512x!tt.ptr<f32>, #gluon.auto_encoding>, tensor<512xi32, #gluon.auto_encoding>
    %19 = gluon.set_auto_layout %18 : tensor<512x!tt.ptr<f32>, #gluon.auto_encoding> -> tensor<512x!tt.ptr<f32>, #gluon.coalesced_encoding>
    %20 = tt.splat %arg1 : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #gluon.auto_encoding>
    %21 = tt.addptr %20, %16 : tensor<512x!tt.ptr<f32>, #gluon.auto_encoding>, tensor<512xi32, #gluon.auto_encoding>
    %22 = gluon.set_auto_layout %21 : tensor<512x!tt.ptr<f32>, #gluon.auto_encoding> -> tensor<512x!tt.ptr<f32>, #gluon.coalesced_encoding>
    %23 = tt.splat %arg2 : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #gluon.auto_encoding>
    %24 = tt.addptr %23, %16 : tensor<512x!tt.ptr<f32>, #gluon.auto_encoding>, tensor<512xi32, #gluon.auto_encoding>
    %25 = gluon.set_auto_layout %24 : tensor<512x!tt.ptr<f32>, #gluon.auto_encoding> -> tensor<512x!tt.ptr<f32>, #gluon.coalesced_encoding>
    %26 = tt.splat %arg3 : i32 -> tensor<512xi32, #gluon.auto_encoding>
    %27 = arith.cmpi slt, %16, %26 : tensor<512xi32, #gluon.auto_encoding>
    %28 = gluon.set_auto_layout %27 : tensor<512xi1, #gluon.auto_encoding> -> tensor<512xi1, #gluon.coalesced_encoding>
    %29 = tt.load %19, %28 : tensor<512x!tt.ptr<f32>, #gluon.coalesced_encoding>
    %cst_4 = arith.constant 2.000000e+00 : f32
    %cst_5 = arith.constant 2.000000e+00 : f32
    %cst_6 = arith.constant dense<2.000000e+00> : tensor<512xf32, #gluon.coalesced_encoding>
    %30 = arith.mulf %29, %cst_6 : tensor<512xf32, #gluon.coalesced_encoding>
    %31 = tt.load %22, %28 : tensor<512x!tt.ptr<f32>, #gluon.coalesced_encoding>
    %32 = arith.addf %30, %31 : tensor<512xf32, #gluon.coalesced_encoding>
    %cst_7 = arith.constant 0.000000e+00 : f32
    %cst_8 = arith.constant dense<0.000000e+00> : tensor<512xf32, #gluon.coalesced_encoding>
    %33 = arith.maxnumf %32, %cst_8 : tensor<512xf32, #gluon.coalesced_encoding>
    tt.store %25, %33, %28 : tensor<512x!tt.ptr<f32>, #gluon.coalesced_encoding>
    tt.return
  }
}

// RUN: triton-opt %s -convert-triton-amdgpu-to-llvm="arch=gfx942 ftz=true" | FileCheck %s
// Fault: convert-triton-amdgpu-to-llvm: Casting.h: isa<To>(Val) && "cast<Ty>() argument of incompatible type!" in decltype(auto) llvm::cast(From &) [To = mlir::triton::gpu::DistributedEncodingTrait, From = mlir::Attribute]
// Seen with Triton 3.7.1 for gfx942 by its Python binding; not run with triton-opt, which no wheel has. On a wheel: shrink replay FILE
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.shared = 0 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
  // CHECK-LABEL: @copy_scaled(
  tt.func @copy_scaled() {
    %cst = arith.constant dense<0.000000e+00> : tensor<1xf32, #gluon.coalesced_encoding>
    tt.return
  }
}

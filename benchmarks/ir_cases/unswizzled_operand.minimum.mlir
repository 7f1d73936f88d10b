// RUN: triton-opt %s -convert-triton-gpu-to-llvm
#acc = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 16, 16]}>
#flat = #ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func @f(%a: !ttg.memdesc<64x16xbf16, #flat, #smem>, %b: !ttg.memdesc<16x16xbf16, #flat, #smem>, %c: tensor<64x16xf32, #acc>) {
    %d = ttng.warp_group_dot %a, %b, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x16xbf16, #flat, #smem> * !ttg.memdesc<16x16xbf16, #flat, #smem> -> tensor<64x16xf32, #acc>
    tt.return
  }
}

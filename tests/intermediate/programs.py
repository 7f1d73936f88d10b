"""Programs in Triton's IR that tests share."""

from __future__ import annotations

LOOP = """\
module {
  tt.func public @sum(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %out: !tt.ptr<f32>, %n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %start = arith.constant dense<0.0> : tensor<64xf32>
    %lanes = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %from = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %all = tt.addptr %from, %lanes : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %r:2 = scf.for %i = %zero to %n step %one iter_args(%acc = %start, %count = %zero) -> (tensor<64xf32>, i32) : i32 {
      %limit = tt.splat %n : i32 -> tensor<64xi32>
      %mask = arith.cmpi slt, %lanes, %limit : tensor<64xi32>
      %v = tt.load %all, %mask, %start : tensor<64x!tt.ptr<f32>>
      %more = arith.addf %acc, %v : tensor<64xf32>
      %next = arith.addi %count, %one : i32
      scf.yield %more, %next : tensor<64xf32>, i32
    }
    %many = arith.cmpi sgt, %r#1, %one : i32
    %half = scf.if %many -> (tensor<64xf32>) {
      %two = arith.addf %r#0, %r#0 : tensor<64xf32>
      scf.yield %two : tensor<64xf32>
    } else {
      scf.yield %r#0 : tensor<64xf32>
    }
    %s = "tt.reduce"(%half) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tt.reduce.return %c : f32
    }) : (tensor<64xf32>) -> f32
    %t = tt.call @twice(%s) : (f32) -> f32
    tt.store %out, %t : !tt.ptr<f32>
    tt.return
  }
  tt.func private @twice(%v: f32) -> f32 {
    %two = arith.addf %v, %v : f32
    tt.return %two : f32
  }
}
"""
"""A loop that carries two values, a branch with a value, a reduction, a call."""

JUMPS = """\
module {
  tt.func public @pick(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {
    %zero = arith.constant 0 : i32
    %c = arith.cmpi sgt, %n, %zero : i32
    cf.cond_br %c, ^left(%x : !tt.ptr<f32>), ^right
  ^left(%p: !tt.ptr<f32>):
    %v = tt.load %p : !tt.ptr<f32>
    cf.br ^end(%v : f32)
  ^right:
    %w = tt.load %y : !tt.ptr<f32>
    cf.br ^end(%w : f32)
  ^end(%r: f32):
    tt.store %x, %r : !tt.ptr<f32>
    tt.return
  }
}
"""

SWITCH = """\
module {
  tt.func public @pick(%x: !tt.ptr<f32>, %v: f32, %n: i32) {
    cf.switch %n : i32, [
      default: ^end,
      1: ^hop
    ]
  ^hop:
    cf.br ^end
  ^end:
    tt.store %x, %v : !tt.ptr<f32>
    tt.return
  }
}
"""
"""A choice among several, one of which leads to a block that only jumps on."""

QUOTED = """\
module {
  tt.func public @outer(%x: !tt.ptr<f32>, %v: f32) {
    %t = tt.call @"inner(1,) x"(%v) : (f32) -> f32
    tt.store %x, %t : !tt.ptr<f32>
    tt.return
  }
  tt.func private @"inner(1,) x"(%v: f32) -> f32 {
    %two = arith.addf %v, %v : f32
    %w = math.exp %two : f32
    tt.return %w : f32
  }
}
"""
"""A function whose name stands in quotes, as those that Triton makes of argument types do."""

LAID_OUT = """\
#wide = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#tall = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [8, 8], warpsPerCTA = [1, 4], order = [0, 1]}>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
  tt.func @turn(%p: tensor<32x64x!tt.ptr<f32>, #wide>, %q: tensor<32x64x!tt.ptr<f32>, #tall>) {
    %v = tt.load %p : tensor<32x64x!tt.ptr<f32>, #wide>
    %w = ttg.convert_layout %v : tensor<32x64xf32, #wide> -> tensor<32x64xf32, #tall>
    tt.store %q, %w : tensor<32x64x!tt.ptr<f32>, #tall>
    tt.return
  }
}
"""

SELECT = """\
!ptr = !tt.ptr<f32>
module {
  tt.func public @s(%a: !ptr {tt.divisibility = 16 : i32}, %b: !ptr {tt.pointer_range = 32 : i32}, %o: !ptr, %n: i32) {
    %three = arith.constant 3 : i32
    %c = arith.cmpi sgt, %n, %three : i32
    %p = arith.select %c, %a, %b : !tt.ptr<f32>
    %v = tt.load %p : !tt.ptr<f32>
    tt.store %o, %v : !tt.ptr<f32>
    tt.return
  }
}
"""
"""A pointer of a known range meets one of none: the AMD pass for pointers asserts."""

SHARED = """\
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#swizzled = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#turned = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func @keep() {
    %kept = ttg.local_alloc : () -> !ttg.memdesc<MEMORY, #smem, mutable>
    tt.return
  }
}
"""
"""A tile in shared memory, whose type is to be put in."""

PRODUCT = """\
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 32, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func @multiply(%a: !ttg.memdesc<128x16xf16, #shared, #smem>, %b: !ttg.memdesc<16x32xf16, #shared, #smem>) {
    %start = arith.constant dense<0.0> : tensor<128x32xf32, #mma>
    %c = ttng.warp_group_dot %a, %b, %start
      : !ttg.memdesc<128x16xf16, #shared, #smem> * !ttg.memdesc<16x32xf16, #shared, #smem> -> tensor<128x32xf32, #mma>
    tt.return
  }
}
"""
"""A product on Hopper's tensor cores."""

// RUN: triton-opt %s -tritongpu-coalesce
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func @f(%which: i1, %n: i32, %m: i32) {
    %first = scf.if %which -> (i32) {
      scf.yield %n : i32
    } else {
      scf.yield %m : i32
    }
    scf.for %i = %first to %m step %n  : i32 {
    }
    tt.return
  }
}

import triton
import triton.language as tl


@triton.jit
def f():
    tl.inline_asm_elementwise("cvt.rs.satfinite.e4m3x2.f32 t, $0, $0;", "=r", [], tl.int32, False, 1)


f[(1,)]()

"""Lines of compiled code and the source lines that they stand for, in each stage's own notation."""

from __future__ import annotations

from shrinkray_gpu.attachment.source_lines import sass_lines, source_lines
from shrinkray_gpu.device.instruction import Instruction

MLIR = """\
#loc = loc("/home/me/repro.py":5:0)
module {
  tt.func public @kernel(%x: !tt.ptr<f32> loc("x"(#loc))) {
    %0 = tt.load %x : !tt.ptr<f32> loc(#loc3)
    %1 = "tt.reduce"(%0) ({ loc(#loc4)
    tt.return loc(#loc1)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("/home/me/repro.py":9:4)
#loc2 = loc("/site/triton/language/standard.py":290:36)
#loc3 = loc("value"(#loc1))
#loc4 = loc(callsite(#loc2 at #loc1))
"""
LLVM = """\
define void @kernel() !dbg !3 {
  %1 = add i32 0, 1, !dbg !10
  %2 = add i32 0, 1, !dbg !11
  ret void
}
!1 = !DIFile(filename: "repro.py", directory: "/home/me")
!2 = !DIFile(filename: "standard.py", directory: "/site")
!3 = distinct !DISubprogram(name: "kernel", scope: !1, file: !1, line: 5)
!4 = distinct !DISubprogram(name: "sum", scope: !2, file: !2, line: 200)
!10 = !DILocation(line: 9, column: 4, scope: !3)
!11 = !DILocation(line: 290, column: 36, scope: !4, inlinedAt: !10)
"""
PTX = """\
.visible .entry kernel()
\t.loc\t1 9 4
\tadd.s32 %r1, %r2, 1;
\t.loc\t2 290 36, function_name $L1, inlined_at 1 9 4
\tadd.s32 %r1, %r2, 1;
\t.loc\t2 290 36
\tadd.s32 %r1, %r2, 1;
}
\t.file\t1 "/home/me/repro.py"
\t.file\t2 "/site/standard.py"
"""


def test_mlir_names_its_places_below() -> None:
    assert source_lines("ttgir", MLIR, "repro.py")[:8] == [0, 0, 5, 9, 9, 9, 5, 5]


def test_llvm_of_what_was_inlined_has_the_line_that_called_it() -> None:
    assert source_lines("llir", LLVM, "repro.py")[:5] == [0, 9, 9, 0, 0]


def test_ptx_goes_on_until_the_next_loc() -> None:
    assert source_lines("ptx", PTX, "repro.py")[:8] == [0, 9, 9, 9, 9, 0, 0, 0]


def test_sass_by_the_line_table() -> None:
    listing = [Instruction(0, "NOP", "/home/me/repro.py", 9), Instruction(16, "EXIT", "/site/standard.py", 290)]
    assert sass_lines(listing, "repro.py") == [9, 0]

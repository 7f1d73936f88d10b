"""Only code counts: what the user calls a kernel, a variable or a folder is not an instruction."""

from __future__ import annotations

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.questions.ir.counts import count
from shrinkray_gpu.questions.ir.patterns import FAMILIES, parse

TTGIR = """\
#loc = loc("/home/me/async_tma/script.py":7:0)
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func public @async_tma(%async_tma: !tt.ptr<f16> loc("async_tma"(#loc))) {
    %a = ttng.async_tma_copy_global_to_local %d[%r, %c] %b, %m, %true : !ttng.memdesc loc(#loc1)
    ttng.async_tma_store_wait {pendings = 0 : i32} loc(#loc)
    tt.return loc(#loc)
  }
}
#loc1 = loc("async_tma_copy_global_to_local"(#loc))
"""
PTX = """\
//
// async_tma: cp.async.bulk.tensor.2d
//
.version 8.4
.visible .entry cp(
	.param .u64 cp_param_0
)
{
	.loc	1 7 0 // script.py:7:0
	ld.param.u64 	%rd1, [cp_param_0];
	cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], [%r2];
	cp.async.bulk.commit_group;
}
	.file	1 "/home/me/cp.async.bulk.tensor/script.py"
	.section	.debug_abbrev
	{
.b8 1                                   // cp.async.bulk.tensor.2d
	}
"""
SASS = """\
	.headerflags	@"EF_CUDA_SM90"
//--------------------- .text.UTMALDG             --------------------------
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @P0  UTMALDG.2D [UR8], [UR4] ;
        /*0020*/                   UTMACMDFLUSH ;
"""
LLIR = """\
; ModuleID = 'LLVMDialectModule'
source_filename = "tensor.cp.async.bulk.tensor.2d"
define ptx_kernel void @wgmma(ptr addrspace(1) %0) !dbg !5 {
  %2 = tail call i32 asm sideeffect "cp.async.bulk.tensor.2d.shared", "b,r"(i1 true, i32 %1) #3, !dbg !8
  %3 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !8
  ret void, !dbg !9
}
!5 = distinct !DISubprogram(name: "wgmma", linkageName: "cp.async.bulk.tensor.2d")
"""


@pytest.mark.parametrize(
    ("spec", "text", "kernel", "number"),
    [
        ("ttgir:async_tma", TTGIR, "async_tma", 2),
        ("ttgir:tma", TTGIR, "async_tma", 1),
        ("ttgir:num-warps", TTGIR, "async_tma", 1),
        ("ptx:cp\\.async\\.bulk", PTX, "cp", 2),
        ("ptx:tma", PTX, "cp", 1),
        ("ptx:cp", PTX, "cp", 2),
        ("ptx:ld\\.param", PTX, "cp", 1),
        ("sass:UTMA", SASS, "UTMALDG", 2),
        ("sass:tma", SASS, "UTMALDG", 1),
        ("llir:tma", LLIR, "wgmma", 1),
        ("llir:wgmma", LLIR, "wgmma", 0),
        ("llir:@llvm\\.nvvm", LLIR, "wgmma", 1),
    ],
)
def test_hits(spec: str, text: str, kernel: str, number: int) -> None:
    [asked] = parse([spec])
    assert count(asked, text, kernel) == number


def test_a_family_is_a_column_for_each_stage() -> None:
    assert [str(one) for one in parse(["tma"])] == [f"{stage}:{regex}" for stage, regex in FAMILIES["tma"].items()]
    assert [one.name for one in parse(["ttgir:tma", "ptx:tma", "ttgir:tma"])] == ["ttgir:tma", "ptx:tma"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("async_tma", "STAGE:REGEX"),
        ("tgir:async_tma", "did you mean ttgir"),
        ("tmaa", "did you mean tma"),
        ("ttgir:", "what is to be counted"),
        ("ttgir:(", "no regular expression"),
        ("ttgir:x*", "empty text"),
    ],
)
def test_what_cannot_be_counted(spec: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse([spec])

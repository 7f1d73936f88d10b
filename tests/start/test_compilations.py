"""Programs that compile and launch nothing: what is lifted, and what stays because the host computes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from shrinkray_gpu.start.argument_slice import MARK
from tests.start.test_choice import begun, given

PROGRAM = """\
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

SIZES = {{"small": 3, "large": 24}}

@triton.jit
def kernel(x, cols, BLOCK: tl.constexpr):
    best = {first}
    for start in range(0, cols, BLOCK):
        best += tl.sum(tl.load(x + start + tl.arange(0, BLOCK)), axis=0)
    tl.store(x, best)

def build(kind, arch=90):
    types = {{"x": "*fp32", "cols": "i32", "BLOCK": "constexpr"}}
    source = ASTSource(fn=kernel, signature=types, constexprs={{"BLOCK": SIZES[kind] {size}}})
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options=dict(num_warps=4))

{calls}
"""
CARRIED = "compile:Loop-carried variable best has initial type"
RANGE = "compile:arange's range must be a power of 2"


def test_a_refusal_that_no_other_size_heals_is_lifted(tmp_path: Path) -> None:
    said: list[str] = []
    start = begun(given(tmp_path, PROGRAM.format(first="0", size="// 3 * 32", calls='build("large")'), CARRIED), said)
    assert start.alone and start.told.startswith("lifted: the compilation of kernel alone shows the fault")
    assert 'target=GPUTarget("cuda", 90, 32)' in start.program.text and '{"BLOCK": 256}' in start.program.text
    assert "SIZES" not in start.program.text


def test_a_size_that_the_host_computes_wrongly_is_not_lost(tmp_path: Path) -> None:
    said: list[str] = []
    start = begun(given(tmp_path, PROGRAM.format(first="0.0", size="* 32", calls='build("large")'), RANGE), said)
    assert not start.alone and "what the compiler refuses hangs on what the host computes" in start.told
    kept = [line.removesuffix(MARK) for line in start.program.text.split("\n") if MARK in line]
    assert 'SIZES = {"small": 3, "large": 24}' in kept and any("SIZES[kind] * 32" in line for line in kept)
    assert not any("def build" in line or "types =" in line for line in kept)


def test_code_is_asked_for_where_all_ends_well(tmp_path: Path) -> None:
    text = PROGRAM.format(first="0.0", size="* 16 // 3", calls='build("small")\nbuild("small", 80)')
    asked = given(tmp_path, text, r"ptx:\.target sm_80")
    assert asked.chosen is not None
    start = begun(replace(asked, script=asked.chosen.needs.on(asked.script, virtual=False)), [])
    assert start.alone and 'target=GPUTarget("cuda", 80, 32)' in start.program.text

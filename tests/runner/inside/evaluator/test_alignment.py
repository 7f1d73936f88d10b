"""Accesses that begin where their width may not: for each kind a kernel that has it, and one edit away a sound twin."""

from __future__ import annotations

from typing import Any

import pytest

from shrinkray_gpu.runner.inside.evaluator import alignment, instructions
from shrinkray_gpu.runner.inside.evaluator.launch import LaunchedKernel
from shrinkray_gpu.runner.inside.evaluator.memory import Buffer
from shrinkray_gpu.runner.inside.static import cause

WANTS = frozenset({"static:alignment"})
PROGRAM = """
import torch, triton, triton.language as tl


@triton.jit
def hinted(x, y, stride, BLOCK: tl.constexpr):
    start = tl.multiple_of(tl.program_id(0) * stride, 16)
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + start + at))


@triton.jit
def gathered(x, index, y, low, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    found = tl.load(index + at)
    rows = tl.max_contiguous(tl.multiple_of(found, 4), 4)
    tl.store(y + at, tl.load(x + rows, mask=found >= low))


@triton.jit
def copied(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n))


@triton.jit
def columns(x, y, stride, BLOCK: tl.constexpr):
    down, across = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    step = tl.multiple_of(stride * 2, 8)
    tl.store(y + down + across * BLOCK, tl.load(x + down + across * step))


@triton.jit
def multiplied(a, b, c, trips, step, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tile = i[:, None] * BLOCK + i[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in tl.range(0, trips, num_stages=3):
        begin = tl.multiple_of(k * step, 16)
        total = tl.dot(tl.load(a + begin + tile), tl.load(b + begin + tile), total)
    tl.store(c + tile, total)


def zeros(*shape, dtype=torch.float32):
    return torch.zeros(*shape, device="cuda", dtype=dtype)


x, y = zeros(4096), zeros(4096)
hinted[(3,)](x, y, 18, 512)
hinted[(3,)](x, y, 48, 512)
hinted[(3,)](x, y, 18, 32)
index = torch.arange(1, 513, dtype=torch.int32, device="cuda")
gathered[(1,)](x, index, y, 0, 512)
gathered[(1,)](x, index + 3, y, 0, 512)
gathered[(1,)](x, index, y, 600, 512)
kernel = copied[(1,)](x, y, 512, 512)
kernel[(1, 1, 1)](x[1:], y, 512, 512)
kernel[(1, 1, 1)](x[4:], y, 512, 512)
copied[(1,)](triton.reinterpret(zeros(4096, dtype=torch.int8)[1:], tl.float16), y, 512, 512)
copied[(1,)](triton.reinterpret(zeros(4096, dtype=torch.int8)[2:], tl.float16), y, 512, 512)
columns[(1,)](x, y, 33, 32)
columns[(1,)](x, y, 36, 32)
a = zeros(3, 64, 64, dtype=torch.float16)
multiplied[(1,)](a, a, y, 2, 4092, 64)
multiplied[(1,)](a, a, y, 2, 4096, 64)
gathered[(1,)](x, y.to(torch.int32), y, 0, 512)
"""

FAULTY = {
    0: ("hinted", cause.HINT, "integer", ("argument", "program"), "load"),
    3: ("gathered", cause.HINT, "integer", ("loaded",), "load"),
    7: ("copied", cause.SPECIALISED, "pointer", ("argument",), "load"),
    9: ("copied", cause.ELEMENT, "", ("range",), "load"),
    11: ("columns", cause.HINT, "integer", ("argument",), "load"),
    13: ("multiplied", cause.HINT, "integer", ("argument", "trip"), "load"),
}
"""By the number of the launch. The others are sound, but for the last one, of which nobody can tell."""
LATER = {0}


@pytest.mark.parametrize("at", FAULTY)
def test_a_cause_is_told_by_its_kind(played: list[dict[str, Any]], at: int) -> None:
    launch, first = played[at], played[at]["causes"][0]
    inputs = tuple(each for each in first["inputs"] if each != cause.CONSTANT)
    said = (launch["kernel"], first["kind"], first["operation"], inputs, first["access"])
    assert (said, first["breaks"], launch["unfollowed"]) == (FAULTY[at], "alignment", "")
    assert launch["fault"] == "alignment: " + first["sentence"] and first["first"] == (at not in LATER)


def test_their_twins_are_sound(played: list[dict[str, Any]]) -> None:
    sound = [each for at, each in enumerate(played[:-1]) if at not in FAULTY]
    assert [each for each in sound if each["causes"] or each["unfollowed"] or each["fault"]] == []


def test_what_is_not_known_is_no_fault(played: list[dict[str, Any]]) -> None:
    assert not played[-1]["causes"] and "what is loaded was not computed" in played[-1]["unfollowed"]


def test_the_sentence_names_the_claim_and_the_access(played: list[dict[str, Any]]) -> None:
    assert played[0]["causes"][0]["sentence"] == (
        "a value (script.py:7:46) is said to be a multiple of 16, and is 18; "
        "the load at script.py:9:29 takes 16 bytes at byte 72"
    )


TTIR = """
#loc = loc("k.py":1:0)
module {
  tt.func public @k(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}) attributes {noinline = false} {
    %i = tt.make_range {end = 64 : i32, start = 2 : i32} : tensor<64xi32> loc(#loc)
    %b = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>> loc(#loc)
    %q = tt.addptr %b, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32> loc(#loc)
    %x = tt.load %q : tensor<64x!tt.ptr<f32>> loc(#loc2)
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc2 = loc("k.py":3:9)
"""
LLIR = """
  %1 = tail call i32 asm sideeffect "mov.u32 $0, 0x0;\\0A\\09INSTRUCTION { $0 }, [ $1 + 0 ];", "=r,l"(ptr %0), !dbg !7
!1 = !DIFile(filename: "k.py", directory: "/")
!4 = distinct !DISubprogram(name: "k", linkageName: "k", scope: !1, file: !1, line: 1, unit: !0)
!7 = !DILocation(line: 3, column: 9, scope: !4)
"""


def looked_at(*instructions: str) -> Any:
    launch = LaunchedKernel(TTIR, TTIR, (1, 1, 1), (Buffer(0, 0, 4096),))
    line, _, rest = LLIR[1:].partition("\n")
    lines = "\n".join(line.replace("INSTRUCTION", each) for each in instructions)
    return alignment.evaluate(launch, "", lines + "\n" + rest)


def test_an_access_that_no_claim_made_wide_is_the_compilers() -> None:
    [found] = looked_at("ld.global.v4.b32").causes
    assert found.kind == cause.UNCLAIMED and "takes 16 bytes at byte 8" in found.sentence


@pytest.mark.parametrize("instruction", ["ld.global.b32", "@$9 ld.global.L1::evict_last.v2.b32"])
def test_narrow_instructions_are_sound(instruction: str) -> None:
    assert looked_at(instruction) == alignment.Evaluation()


def test_widths_that_nobody_knows_are_no_fault() -> None:
    assert looked_at() == alignment.Evaluation(unknown="tt.load: no instruction is known for it")
    assert looked_at("ld.shared.v4.b32").unknown == "tt.load: no instruction is known for it"
    assert looked_at("ld.global.b32", "ld.global.v4.b32").unknown == "tt.load: its instructions differ in width"


@pytest.mark.parametrize(
    ("instruction", "width"),
    [
        ("st.global.v2.b64", 16),
        ("atom.global.gpu.acq_rel.add.noftz.f16x2", 4),
        ("atom.global.gpu.relaxed.add.f32", 4),
        ("ld.global.b8", 1),
    ],
)
def test_the_width_of_an_instruction(instruction: str, width: int) -> None:
    assert instructions.widths(LLIR.replace("INSTRUCTION", instruction)) == {("k.py", 3, 9): frozenset({width})}


def test_the_width_of_an_asynchronous_copy() -> None:
    copy = "cp.async.cg.shared.global [ $0 + 0 ], [ $1 + 0 ], 0x10, $2;"
    text = LLIR.replace("INSTRUCTION { $0 }, [ $1 + 0 ];", copy)
    assert instructions.widths(text) == {("k.py", 3, 9): frozenset({16})}

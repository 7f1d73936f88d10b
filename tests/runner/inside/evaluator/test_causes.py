"""What following a launch tells: for each kind of cause a kernel that has it, and one edit away a sound twin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from shrinkray_gpu.runner.inside.static import cause

WANTS = frozenset({"static:bounds", "static:assert", "static:div0"})

PROGRAM = """
import torch, triton, triton.language as tl


@triton.jit
def scaled(x, y, n, MASKED: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if MASKED:
        tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)
    else:
        tl.store(y + at, tl.load(x + at), mask=at < n)


@triton.jit
def rows(x, y, row_stride, column_stride, WIDE: tl.constexpr):
    row = tl.program_id(0)
    if WIDE:
        row = row.to(tl.int64)
    column = tl.arange(0, 16)
    tl.store(y + column, tl.load(x + row * row_stride + column * column_stride))


@triton.jit
def gathered(x, index, y, n):
    at = tl.arange(0, 16)
    tl.store(y + at, tl.load(x + tl.load(index + at), mask=at < n))


@triton.jit
def looped(x, y, trips, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    pointers = x + tl.arange(0, BLOCK)
    for _ in range(trips):
        total += tl.load(pointers)
        pointers += BLOCK
    tl.store(y + tl.arange(0, BLOCK), total)


@triton.jit
def chunked(x, y, chunks, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for chunk in range(chunks):
        tl.store(y + at, tl.load(x + (chunks - 1 - chunk) * BLOCK + at))


@triton.jit
def checked(x, y, limit):
    at = tl.arange(0, 16)
    value = tl.load(x + at)
    tl.device_assert(value < limit)
    tl.store(y + at, value)


@triton.jit
def divided(y, by, AT: tl.constexpr):
    tl.store(y + AT // by, 1.0)


@triton.jit
def shifted(x, y, n, to):
    at = tl.arange(0, 16)
    tl.store(y + at, tl.load(x + to + at, mask=at < n))


@triton.jit
def literal(x, y, ROW: tl.constexpr, COLUMN: tl.constexpr, PASSED: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, 16)
    if PASSED:
        tl.store(y + column, tl.load(x + row * ROW + column * COLUMN))
    else:
        tl.store(y + column, tl.load(x + row * 1 + column * 16))


@triton.jit
def described(x, y, rows):
    d = tl.make_tensor_descriptor(x, [rows, 16], [16, 1], [1, 16])
    tl.store(y + tl.arange(0, 16)[None, :], d.load([tl.program_id(0), 0]))


@triton.jit
def appended(x, y, offset, slot, slots, WIDTH: tl.constexpr):
    at = tl.arange(0, WIDTH)
    tl.store(x + offset + (tl.program_id(0) * slots + slot) * WIDTH + at, tl.load(y + at), mask=slot < slots)


@triton.jit
def roomy(x, y, rows, ROOM: tl.constexpr):
    tile = tl.make_tensor_descriptor(x, shape=[rows * ROOM, 64], strides=[64, 1], block_shape=[16, 64])
    tl.store(y + tl.arange(0, 64), tl.max(tile.load([0, 0]), axis=0))


@triton.jit
def headed(x, y, rows, row_stride, head_stride, STRICT: tl.constexpr):
    batch, head = tl.program_id(0), tl.program_id(1)
    row, column = tl.arange(0, 32)[:, None], tl.arange(0, 16)[None, :]
    kept = row < rows if STRICT else row <= rows
    at = (batch * rows + row) * row_stride + head * head_stride + column
    tl.store(y + row * 16 + column, tl.load(x + at, mask=kept))


@triton.jit
def stepped(x, y, trips, head_stride, row_stride):
    head, column = tl.program_id(0), tl.arange(0, 16)
    for row in range(trips):
        tl.store(y + column, tl.load(x + head * head_stride + row * row_stride + column))


@triton.jit
def compared(x, y, stride):
    row, column = tl.program_id(0), tl.arange(0, 16)
    tl.store(y + column, tl.load(x + row * stride + (column < 8)))


@triton.jit
def beyond(x, y, stride):
    tl.store(y, tl.load(x + tl.program_id(0) * stride + 16))


@triton.jit
def pushed(x, y, head, WIDTH: tl.constexpr):
    at = tl.arange(0, WIDTH)
    tl.store(x + head * WIDTH + at, tl.load(y + at))


@triton.jit
def following(x, index, y):
    tl.store(y, tl.load(x + tl.load(index) + 1))


@triton.jit
def unrolled(x, y, rows, wide):
    column = tl.arange(0, 16)
    for row in tl.static_range(8):
        if row <= rows:
            if wide > 0:
                tl.store(y + column, tl.load(x + row * 16 + column))


@triton.jit
def left_early(x, y, rows):
    row, column = tl.program_id(0), tl.arange(0, 16)
    if row > rows:
        return
    tl.store(y + column, tl.load(x + row * 16 + column))


@triton.jit
def two_strides(x, y, batch_stride, head_stride):
    batch, head, column = tl.program_id(0), tl.program_id(1), tl.arange(0, 16)
    tl.store(y + column, tl.load(x + batch * batch_stride + head * head_stride + column))


@triton.jit
def ragged(x, end, y):
    row, column = tl.arange(0, 8)[:, None], tl.arange(0, 16)[None, :]
    kept = row < tl.load(end)
    tl.store(y + row * 16 + column, tl.load(x + row * 16 + column, mask=kept), mask=kept)


@triton.jit
def put(x, slot, at, y):
    column = tl.arange(0, 16)
    tl.store(x + tl.load(slot) * 64 + tl.load(at) * 16 + column, tl.load(y + column))


@triton.jit
def counted(x, y, first, count, room):
    at = tl.arange(0, 16)
    kept = at < count
    tl.store(y + at, tl.load(x + first + at, mask=kept), mask=at < room)


@triton.jit
def padded(x, y, n, VEC: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(y + at), mask=at < tl.cdiv(n, VEC) * VEC)


@triton.jit
def compiled_for(x, y, WIDTH: tl.constexpr):
    at = tl.arange(0, 32)
    tl.store(x + at, tl.load(y + at), mask=at < WIDTH)


@triton.jit
def rounded_up(x, columns, stride):
    at = tl.arange(0, 32)
    tl.store(x + tl.program_id(0) * stride + at, 0.0, mask=at < tl.cdiv(columns, 8) * 8)


@triton.jit
def second_half(x, y, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + tl.program_id(0) * (2 * WIDTH) + WIDTH + at))


@triton.jit
def tapped(x, y, columns, pitch, frame, REACH: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, 16)
    at = (row + frame) * pitch + column
    for tap in tl.static_range(1, REACH + 1):
        up, down = x + at - tap * pitch, x + at + tap * pitch
        tl.store(y + column, tl.load(up, mask=column < columns) + tl.load(down, mask=column < columns))


@triton.jit
def copied(x, y, stride):
    at = tl.program_id(0) * stride + tl.arange(0, 16)
    tl.store(y + at, tl.load(x + at))


@triton.jit
def ordered(x, n, BLOCK: tl.constexpr):
    i, j = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(x + i * (i + 1) // 2 + j, 0.0, mask=j <= i)


def zeros(*shape, dtype=torch.float32):
    return torch.zeros(*shape, device="cuda", dtype=dtype)


y = zeros(64)
flat = zeros(4, 16)
scaled[(4,)](zeros(56), y, 56, False, 16)
scaled[(4,)](zeros(56), y, 56, True, 16)
scaled[(4,)](zeros(56), y, 64, True, 16)
rows[(4,)](flat, y, flat.stride(1), flat.stride(0), True)
rows[(4,)](flat, y, flat.stride(0), flat.stride(1), True)
rows[(4,)](flat, y, flat.stride(0) + 1, flat.stride(1), True)
big = torch.empty(70000, 40000, dtype=torch.int8, device="cuda")
rows[(70000,)](big, y, big.stride(0), big.stride(1), False)
rows[(70000,)](big, y, big.stride(0), big.stride(1), True)
index = torch.arange(16, dtype=torch.int32, device="cuda")
index[3] = 1 << 20
gathered[(1,)](zeros(16), index, y, 16)
gathered[(1,)](zeros(16), index.clamp(max=15), y, 16)
looped[(1,)](zeros(64), y, 5, 16)
looped[(1,)](zeros(64), y, 4, 16)
checked[(1,)](index, y, 16, debug=True)
checked[(1,)](index, y, 1 << 21, debug=True)
divided[(1,)](y, 0, 32)
divided[(1,)](y, 8, 32)
shifted[(1,)](zeros(16), y, 16, 1 << 22)
shifted[(1,)](zeros(16), y, 16, 0)
chunked[(1,)](zeros(4, 16), y, 128, 16)
chunked[(1,)](zeros(4, 16), y, 4, 16)
literal[(4,)](flat, y, 1, 16, True)
literal[(4,)](flat, y, 16, 1, True)
literal[(4,)](flat, y, 0, 0, False)
triton.set_allocator(lambda size, align, stream: zeros(size, dtype=torch.int8))
described[(5,)](zeros(4, 16), y, 5)
described[(5,)](zeros(4, 16), y, 4)
appended[(4,)](zeros(2, 4, 8, 16), y, 1 << 22, 0, 8, 16)
appended[(4,)](zeros(2, 4, 8, 16), y, 512, 0, 8, 16)
roomy[(1,)](zeros(20, 64), y, 20, 512)  # describes too much, and copies what is there
heads, wide = zeros(2, 20, 2, 16), zeros(32, 16)
headed[(2, 2)](heads, wide, 20, heads.stride(1), heads.stride(2), False)
headed[(2, 2)](heads, wide, 20, heads.stride(1), heads.stride(2), True)
heads = zeros(2, 16, 16)
stepped[(2,)](heads, y, 5, heads.stride(1), heads.stride(0))
stepped[(2,)](heads, y, 5, heads.stride(0), heads.stride(1))
compared[(5,)](flat, y, flat.stride(0))
beyond[(4,)](flat, y, flat.stride(0))
pushed[(1,)](flat, y, 4, 16)
following[(1,)](zeros(2), torch.ones(1, dtype=torch.int32, device="cuda"), y)
unrolled[(1,)](flat, y, 4, 2)
unrolled[(1,)](flat, y, 3, 2)
left_early[(6,)](flat, y, 4)
left_early[(6,)](flat, y, 3)
single = zeros(1, 2, 4, 16)
two_strides[(1, 2)](single, y, single.stride(1), single.stride(0))
two_strides[(1, 2)](single, y, single.stride(0), single.stride(1))
rows[(4,)](zeros(16, 4).t(), y, 4, 4, True)
rows[(4,)](flat, y, flat.stride(0), flat.stride(1), True)
number = lambda n: torch.tensor(n, dtype=torch.int32, device="cuda")
ragged[(1,)](zeros(5, 16), number(6), zeros(8, 16))
ragged[(1,)](zeros(5, 16), number(5), zeros(8, 16))
put[(1,)](zeros(2, 4, 16), number(1), number(4), y)
put[(1,)](zeros(2, 4, 16), number(1), number(3), y)
put[(1,)](zeros(80), number(2), number(0), y)
put[(1,)](zeros(80), number(1), number(0), y)
shifted[(1,)](zeros(64)[48:], y, 16, 48)
shifted[(1,)](zeros(64)[32:48], y, 16, 16)
counted[(1,)](zeros(40), y, 32, 8, 16)
counted[(1,)](zeros(40), y, 32, 16, 16)
counted[(1,)](zeros(40), y, 32, 16, 8)
looped[(1,)](zeros(4, 16), y, 32, 16)
padded[(1,)](zeros(20), y, 17, 16, 32)
compiled_for[(1,)](zeros(20), y, 24)
rounded_up[(8,)](zeros(8, 20), 18, 20)
rounded_up[(8,)](zeros(8, 24), 18, 24)
second_half[(4,)](zeros(4, 24), y, 12, 16)
second_half[(4,)](zeros(4, 32), y, 16, 16)
tapped[(4,)](zeros(8, 20), y, 12, 20, 2, 4)
tapped[(4,)](zeros(12, 20), y, 12, 20, 4, 4)
cubes = zeros(2, 3, 20)
two_strides[(2, 3)](cubes, y, 63, 22)
two_strides[(2, 3)](cubes, y, 60, 20)
copied[(4,)](flat, zeros(40), 17)
copied[(4,)](flat, zeros(4, 16), 16)
ordered[(8,)](zeros(28), 8, 16)
ordered[(7,)](zeros(28), 8, 16)
scaled[(4,)](zeros(0), y, 56, True, 16)  # comes last: after a null pointer nobody knows
"""


@dataclass(frozen=True)
class Shape:
    name: str
    kind: str
    operation: str = ""
    inputs: tuple[str, ...] | None = None


FAULTY = {
    0: Shape("scaled", cause.NO_MASK, inputs=("program", "range")),
    2: Shape("scaled", cause.EXTENT, inputs=("argument",)),
    3: Shape("rows", cause.SWAPPED, inputs=("argument",)),
    5: Shape("rows", cause.STRIDE, inputs=("argument",)),
    6: Shape("rows", cause.WRAPPED, "product i32", ("argument", "program")),
    8: Shape("gathered", cause.MEMORY, inputs=("loaded",)),
    10: Shape("looped", cause.NO_MASK, inputs=("range", "trip")),
    12: Shape("checked", cause.ASSERTION, "tt.assert", ("argument", "loaded")),
    14: Shape("divided", cause.ZERO),
    16: Shape("shifted", cause.OFFSET, inputs=("argument",)),
    18: Shape("chunked", cause.EXTENT, inputs=("argument",)),
    20: Shape("literal", cause.SWAPPED, inputs=("argument",)),
    22: Shape("literal", cause.SWAPPED, inputs=()),
    23: Shape("described", cause.DESCRIPTOR, inputs=("argument",)),
    25: Shape("appended", cause.OFFSET, inputs=("argument",)),  # with another slot nothing happens: that is no cause
    28: Shape("headed", cause.WRONG_MASK),  # with smaller strides, or fewer rows, it would be inside
    30: Shape("stepped", cause.SWAPPED, inputs=("argument",)),  # with fewer trips, too
    32: Shape("compared", cause.NO_MASK),
    33: Shape("beyond", cause.NO_MASK),
    34: Shape("pushed", cause.OFFSET, inputs=("argument",)),
    35: Shape("following", cause.MEMORY, inputs=("loaded",)),
    36: Shape("unrolled", cause.NO_MASK),
    38: Shape("left_early", cause.NO_MASK),
    40: Shape("two_strides", cause.SWAPPED, inputs=("argument",)),  # one of an extent of 1
    42: Shape("rows", cause.STRIDE, inputs=("argument",)),  # one of the tensor's, twice
    44: Shape("ragged", cause.MEMORY, inputs=("loaded",)),  # a bound
    46: Shape("put", cause.MEMORY, inputs=("loaded",)),  # in the last slot one row too far
    48: Shape("put", cause.MEMORY, inputs=("loaded",)),  # the slot, by what is no stride
    50: Shape("shifted", cause.OFFSET, inputs=("argument",)),  # that of the view
    53: Shape("counted", cause.WRONG_MASK),
    54: Shape("counted", cause.WRONG_MASK),
    55: Shape("looped", cause.EXTENT, inputs=("argument",)),  # how often its pointers are advanced
    56: Shape("padded", cause.WRONG_MASK),
    57: Shape("compiled_for", cause.EXTENT, inputs=("argument",)),
    58: Shape("rounded_up", cause.WRONG_MASK),  # with as many columns as there are rows it would be inside
    60: Shape("second_half", cause.NO_MASK),
    62: Shape("tapped", cause.WRONG_MASK),  # the number of a tap is no stride
    64: Shape("two_strides", cause.NO_MASK),  # either one put right would do
    66: Shape("copied", cause.NO_MASK),  # with another stride the store is outside as well
    68: Shape("ordered", cause.WRONG_MASK),
    70: Shape("scaled", cause.EMPTY),
}
"""By the number of the launch. Each other launch is the sound twin of a neighbour."""


LATER = {0, 2, 5, 6, 23, 28, 32, 33, 38, 40, 42, 58, 60, 64, 66, 68}
"""Those whose first program instance is sound."""


@pytest.mark.parametrize("at", FAULTY, ids=lambda at: f"{at}-{FAULTY[at].name}-{FAULTY[at].kind}")
def test_a_cause_is_told_by_its_kind(played: list[dict[str, Any]], at: int) -> None:
    wanted, launch = FAULTY[at], played[at]
    first = launch["causes"][0]
    assert (launch["kernel"], first["kind"], launch["unfollowed"]) == (wanted.name, wanted.kind, "")
    assert first["operation"] == wanted.operation or not wanted.operation
    assert wanted.inputs is None or set(first["inputs"]) - {cause.CONSTANT} == set(wanted.inputs)
    assert launch["fault"] and first["first"] == (at not in LATER)


def test_what_is_no_index_of_the_tensor_is_noted(played: list[dict[str, Any]]) -> None:
    noted = {at: launch["causes"][0]["foreign"] for at, launch in enumerate(played) if launch["causes"]}
    wanted = {5: ["a stride that is not the tensor's"], 32: ["a comparison"], 33: ["a written offset"]}
    assert {at: list(noted[at]) for at in (3, 5, 6, 30, 32, 33)} == {3: [], 6: [], 30: [], **wanted}


def test_the_index_that_leaves_its_dimension_is_noted(played: list[dict[str, Any]]) -> None:
    """Of a block of numbers program and lane, of a row of a batch the lane; of a grid that is too large the program; of
    the second half of a row the lane and where that half begins."""
    noted = {at: list(played[at]["causes"][0]["beyond"]) for at in (0, 28, 32, 60)}
    assert noted == {0: ["program", "range"], 28: ["range"], 32: ["program"], 60: ["constant", "range"]}


def test_a_branch_guards_what_it_looks_at(played: list[dict[str, Any]]) -> None:
    """One that looks at nothing of the address does not."""
    found = {at: list(played[at]["causes"][0]["guards"]) for at in (0, 5, 36, 38)}
    assert found == {0: [], 5: [], 36: ["argument constant"], 38: ["argument program"]}


def test_the_end_at_which_an_access_leaves_is_noted(played: list[dict[str, Any]]) -> None:
    """A product that wrapped lies below the tensor."""
    assert {at: played[at]["causes"][0]["below"] for at in (0, 6, 8)} == {0: False, 6: True, 8: False}


def test_the_arguments_that_a_mask_compares_with_are_counted(played: list[dict[str, Any]]) -> None:
    """Of an assertion, whatever its condition hangs on."""
    assert {at: played[at]["causes"][0]["bounds"] for at in (0, 2, 12, 28, 56)} == {0: 0, 2: 1, 12: 2, 28: 1, 56: 2}


def test_of_several_loaded_values_the_one_at_fault_is_told(played: list[dict[str, Any]]) -> None:
    place, slot = (played[at]["causes"][0] for at in (46, 48))
    assert place["values"] == [4] and place["foreign"] == []
    assert slot["values"] == [2] and slot["foreign"] == ["a factor that is no stride of the tensor's"]


def test_an_offset_that_the_view_has_already_is_told_so(played: list[dict[str, Any]]) -> None:
    assert {at: played[at]["causes"][0]["detail"] for at in (16, 50)} == {16: "", 50: "twice"}
    assert "begins there already" in played[50]["causes"][0]["sentence"]


def test_the_parameters_that_it_hangs_on_are_named(played: list[dict[str, Any]]) -> None:
    """Also a stride of 1, and what the kernel is compiled for: the compiled one has no such parameters."""
    named = {at: played[at]["causes"][0]["parameters"] for at in (2, 3, 8, 12, 16, 46, 56, 57)}
    assert named == {
        2: ["n"], 3: ["column_stride", "row_stride"], 8: ["index", "n"], 12: ["limit", "x"], 16: ["to"], 46: ["at"],
        56: ["VEC", "n"], 57: ["WIDTH"],
    }  # fmt: skip


def test_what_the_tensor_held_is_known_again(played: list[dict[str, Any]]) -> None:
    """The numbers 4 and 2 are in tensors of their own; the table of row numbers is longer."""
    place, slot, rows = (played[at]["causes"][0]["source"] for at in (46, 48, 8))
    assert place.startswith("4:") and slot.startswith("4:") and place != slot and rows.startswith("64:")
    assert played[0]["causes"][0]["source"] == ""


def test_nothing_is_told_of_the_twins(played: list[dict[str, Any]]) -> None:
    sound = [launch for at, launch in enumerate(played) if at not in FAULTY]
    assert len(sound) == len(played) - len(FAULTY) > 5
    assert [launch for launch in sound if launch["causes"] or launch["unfollowed"] or launch["fault"]] == []


def test_what_the_host_passes_for_a_mask_is_noted_where_nothing_else_that_it_passes_would_do(
    played: list[dict[str, Any]],
) -> None:
    """Strides and rows are the tensor's own; of `room`, which is right, the kernel makes nothing. Of two strides each
    may be what is wrong, and of one with which nothing is right nobody knows."""
    assert {at: list(played[at]["causes"][0]["passed"]) for at in (28, 53, 54, 62, 64, 66, 68)} == {
        28: [], 53: ["count", "first"], 54: [], 62: ["columns", "frame"], 64: ["batch_stride", "head_stride"],
        66: ["stride"], 68: [],
    }  # fmt: skip


def test_whether_the_kernel_asks_for_the_extent_that_is_left_is_noted(played: list[dict[str, Any]]) -> None:
    """In another access, in a branch, or of a loop's end; not of what it is passed, or compares with a rounded one."""
    noted = {at: played[at]["causes"][0]["sized"] for at in (0, 10, 28, 38, 56, 60, 62, 68)}
    assert noted == {0: True, 10: False, 28: True, 38: True, 56: False, 60: False, 62: False, 68: False}


def test_of_an_assertion_the_loaded_values_and_the_passed_numbers_are_told(played: list[dict[str, Any]]) -> None:
    """A limit that is passed may be that by which another launch made the values: alone it may not shrink."""
    assert list(played[12]["causes"][0]["operands"]) == [1 << 20, 16]

"""Program instances that touch one element in no order: which race for sure, which do not, of which nobody can tell."""

from __future__ import annotations

from typing import Any

import pytest

from shrinkray_gpu.oracle.needs import UNASKED
from shrinkray_gpu.runner.inside.static import cause
from tests.runner.inside.conftest import Outcome, Play

WANTS = frozenset({"static:race"})
KERNELS = """
import torch, triton, triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def counted(x, counts, n, ATOMIC: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    number = tl.arange(0, 8)
    mine = tl.sum((tl.load(x + at, mask=at < n, other=-1)[:, None] == number[None, :]).to(tl.int32), axis=0)
    if ATOMIC:
        tl.atomic_add(counts + number, mine)
    else:
        tl.store(counts + number, tl.load(counts + number) + mine)


@triton.jit
def scaled(x, y, n, BLOCK: tl.constexpr, STEP: tl.constexpr = 16):
    at = tl.program_id(0) * STEP + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def packed(x, y, stride, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + tl.program_id(0) * 8 + at, tl.load(x + tl.program_id(0) * stride + at) * 2)


@triton.jit
def summed(x, y, BLOCK: tl.constexpr):
    row = tl.program_id(0) + tl.arange(0, 2)
    at = row[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    tl.store(y + row, tl.sum(tl.load(x + at, mask=(row < 4)[:, None]), axis=1))


@triton.jit
def tiled(y, rows, columns, stride, MASKED: tl.constexpr):
    row = tl.program_id(1) * 4 + tl.arange(0, 4)
    column = tl.program_id(0) * 8 + tl.arange(0, 8)
    mask = (row < rows)[:, None] & ((column < columns) | (not MASKED))[None, :]
    tl.store(y + row[:, None] * stride + column[None, :], tl.program_id(0), mask=mask)


@triton.jit
def rows(y, columns):
    row, column = tl.program_id(0) * 4 + tl.arange(0, 4), tl.arange(0, 16)
    tl.store(y + row[:, None] * columns + column[None, :], tl.program_id(0), mask=(column < columns)[None, :])


@triton.jit
def split(x, y):
    both = tl.load(x + tl.program_id(0) * 8 + tl.arange(0, 4)[:, None] * 2 + tl.arange(0, 2)[None, :])
    even, odd = tl.split(both)
    tl.store(y + even, odd * 0 + tl.program_id(0))


@triton.jit
def shifted(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at + 1, mask=at + 1 < n), mask=at < n)


@triton.jit
def flagged(x, flag, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if tl.max(tl.load(x + at)) > 0.5:
        tl.store(flag, 1.0)


@triton.jit
def kept(x, out, VALUE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    number = tl.program_id(0)
    if VALUE == "number":
        tl.store(out, number)
    elif VALUE == "table":
        tl.store(out + at, tl.load(x + at) * 2)
    elif VALUE == "half":
        tl.store(out, number // 4)
    elif VALUE == "row":
        row = number // 2
        tl.store(out + row, tl.sum(tl.load(x + row * BLOCK + at)))
    elif VALUE == "either":
        if number > 0:
            tl.store(out, 1)
        else:
            tl.store(out, 1)
    elif VALUE == "two":
        if number > 0:
            tl.store(out, 1)
        else:
            tl.store(out, 2)
    elif VALUE == "overlap":
        tl.store(out + number * 8 + at, at)
    elif VALUE == "zeros":
        tl.store(out + number * 8 + at, tl.zeros((BLOCK,), tl.float32))


@triton.jit
def looped(x, out, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0), n, tl.num_programs(0)):
        at = start * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(out + at) + 1)


@triton.jit
def locked(lock, total, x):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + tl.load(x + tl.program_id(0)))
    tl.atomic_xchg(lock, 0)


@triton.jit
def watched(total, x, y):
    tl.atomic_add(total, tl.load(x))
    tl.store(y + tl.program_id(0), tl.load(total))


@triton.jit
def scattered(index, out):
    at = tl.program_id(0) * 8 + tl.arange(0, 8)
    tl.store(out + tl.load(index + at), at)


@triton.jit
def copied(out, ROWS: tl.constexpr):
    d = tl.make_tensor_descriptor(out, [16, 16], [16, 1], [4, 16])
    d.store([tl.program_id(0) * ROWS, 0], tl.zeros((4, 16), tl.float32) + tl.program_id(0))


@triton.jit
def moved(tiles, out):
    row = tl.program_id(0) * 4
    at = (row + tl.arange(0, 4))[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(out + at, tiles.load([row + 4, 0]))


@triton.jit
def nudged(x, y):
    tl.inline_asm_elementwise("bar.sync 0;", "=r", [], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(y, tl.program_id(0))


@triton.jit
def added(total, x, ONE: tl.constexpr, STEP: tl.constexpr):
    step = tl.load(x + tl.program_id(0)) if STEP is None else STEP
    tl.store(total, tl.load(total) + step, mask=tl.program_id(0) < (1 if ONE else 4))


def tiles(x):
    return TensorDescriptor.from_tensor(x.view(16, 16), [4, 16])


def zeros(n=64, dtype=torch.float32):
    return torch.zeros(n, dtype=dtype, device="cuda")


triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
"""
LOST = (
    "the store at script.py:14:34 and the load at script.py:14:42 "
    "touch element 0 of counts in program instances 0 and 1"
)
LAUNCHES: dict[str, tuple[str, str]] = {
    "lost update": ("counted[(4,)](zeros(64, torch.int32), zeros(8, torch.int32), 64, False, 16)", "load-store"),
    "atomic": ("counted[(4,)](zeros(64, torch.int32), zeros(8, torch.int32), 64, True, 16)", ""),
    "one instance": ("counted[(1,)](zeros(64, torch.int32), zeros(8, torch.int32), 64, False, 16)", ""),
    "many": ("counted[(4096,)](zeros(65536, torch.int32), zeros(8, torch.int32), 65536, False, 16)", "load-store"),
    "apart": ("scaled[(4,)](zeros(), zeros(), 64, 16)", ""),
    "apart in place": ("(lambda t: scaled[(4,)](t, t, 64, 16))(zeros())", ""),
    "far apart": ("scaled[(1 << 20,)](zeros(1 << 24), zeros(1 << 24), 1 << 24, 16)", ""),
    "overlap of rows": ("packed[(4,)](zeros(), zeros(), 16, 16)", "store-store"),
    "overlap of many rows": ("packed[(1 << 18,)](zeros(1 << 22), zeros(1 << 22), 16, 16)", "store-store"),
    "masked off": ("scaled[(4,)](zeros(), zeros(), 8, 16, 8)", ""),
    "tiles": ("tiled[(2, 4)](zeros(256), 16, 16, 16, True)", ""),
    "tiles masked": ("tiled[(2, 4)](zeros(256), 16, 13, 13, True)", ""),
    "tiles that run on": ("tiled[(2, 4)](zeros(256), 16, 13, 13, False)", "store-store"),
    "tiles of a wrong stride": ("tiled[(2, 4)](zeros(256), 16, 16, 8, True)", "store-store"),
    "rows": ("rows[(1 << 16,)](zeros(13 << 18), 13)", ""),
    "split": ("split[(4,)](torch.arange(32, device='cuda'), zeros())", ""),
    "split onto one": ("split[(4,)](torch.arange(32, device='cuda') % 16, zeros())", "store-store"),
    "neighbours": ("shifted[(4,)](zeros(), zeros(), 64, 16)", ""),
    "neighbours in place": ("(lambda t: shifted[(4,)](t, t, 64, 16))(zeros())", "load-store"),
    "views": ("(lambda t: shifted[(3,)](t[16:], t, 48, 16))(zeros())", "load-store"),
    "flag": ("flagged[(4,)](zeros(), zeros(1), 16)", ""),
    "number": ("kept[(4,)](zeros(), zeros(), 'number', 16)", "store-store"),
    "table": ("kept[(4,)](zeros(), zeros(), 'table', 16)", ""),
    "table in place": ("(lambda t: kept[(4,)](t, t, 'table', 16))(zeros())", "load-store"),
    "half, the same": ("kept[(4,)](zeros(), zeros(), 'half', 16)", ""),
    "half": ("kept[(8,)](zeros(), zeros(), 'half', 16)", "store-store"),
    "row": ("kept[(4,)](zeros(), zeros(), 'row', 16)", ""),
    "either": ("kept[(4,)](zeros(), zeros(), 'either', 16)", ""),
    "two values": ("kept[(4,)](zeros(), zeros(), 'two', 16)", "store-store"),
    "two values, one instance each": ("kept[(2,)](zeros(), zeros(), 'two', 16)", "store-store"),
    "overlap of ranges": ("kept[(4,)](zeros(), zeros(), 'overlap', 16)", "store-store"),
    "overlap of zeros": ("kept[(4,)](zeros(), zeros(), 'zeros', 16)", ""),
    "trips apart": ("looped[(3,)](zeros(), zeros(), 4, 16)", ""),
    "watched": ("watched[(4,)](zeros(1), zeros(1), zeros())", "load-atomic"),
    "scattered": ("scattered[(2,)](torch.arange(16, device='cuda'), zeros())", ""),
    "scattered onto one": ("scattered[(2,)](torch.arange(16, device='cuda') % 12, zeros())", "store-store"),
    "scattered late": ("scattered[(3,)](torch.arange(24, device='cuda').clamp(max=15), zeros())", "store-store"),
    "sum": ("added[(4,)](zeros(1), zeros(), False, None)", "load-store"),
    "sum of ones": ("added[(4,)](zeros(1), zeros(), False, 1.0)", "load-store"),
    "sum of one instance": ("added[(4,)](zeros(1), zeros(), True, None)", "load-store"),
    "sum of nothing": ("added[(4,)](zeros(1), zeros(), False, 0.0)", "load-store"),
    "copies": ("copied[(4,)](zeros(256), 4)", ""),
    "moved": ("moved[(3,)](tiles(zeros(256)), zeros(256))", ""),
    "moved in place": ("(lambda t: moved[(3,)](tiles(t), t))(zeros(256))", "load-store"),
    "copies that overlap": ("copied[(4,)](zeros(256), 3)", "store-store"),
}
UNKNOWN = {
    "overlap of the same": ("scaled[(4,)](zeros(), zeros(), 64, 16, 8)", "tt.store: two program instances may store"),
    "sums of the same rows": ("summed[(4,)](zeros(), zeros(), 16)", "tt.store: two program instances may store"),
    "lock": ("locked[(4,)](zeros(1, torch.int32), zeros(1), zeros())", "tt.atomic_cas: it may order"),
    "scattered, nobody knows where": (
        "scattered[(2,)](torch.empty(16, dtype=torch.int64, device='cuda'), zeros())",
        "tt.store: nobody wrote",
    ),
    "assembly": ("nudged[(4,)](zeros(), zeros())", "tt.elementwise_inline_asm: it may"),
}
ALL = {**LAUNCHES, **UNKNOWN}
PROGRAM = KERNELS + "\n".join(call for call, _ in ALL.values())


def launch(played: list[dict[str, Any]], name: str) -> dict[str, Any]:
    assert len(played) == len(ALL)
    return played[list(ALL).index(name)]


@pytest.mark.parametrize("name", LAUNCHES)
def test_what_is_known(played: list[dict[str, Any]], name: str) -> None:
    found, operation = launch(played, name), LAUNCHES[name][1]
    assert [each["operation"] for each in found["causes"]][:1] == [operation][: bool(operation)], found
    assert found["fault"].startswith("race: the " if operation else "") and bool(found["fault"]) is bool(operation), (
        found
    )
    assert operation or not found["unfollowed"], found


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known_is_no_fault(played: list[dict[str, Any]], name: str) -> None:
    found = launch(played, name)
    assert not found["causes"] and not found["fault"] and UNKNOWN[name][1] in found["unfollowed"], found


def test_both_accesses_both_instances_and_the_element_are_named(played: list[dict[str, Any]]) -> None:
    found = launch(played, "lost update")
    assert LOST in found["fault"]


def test_a_lost_update_is_told_apart(played: list[dict[str, Any]]) -> None:
    update, *others = launch(played, "lost update")["causes"]
    assert (update["breaks"], update["kind"], update["detail"]) == ("race", cause.UNORDERED, "lost update by add")
    assert [each["operation"] for each in others] == ["store-store"]
    assert cause.PROGRAM in update["inputs"] and not update["parameters"]  # what is counted hangs on the program
    neighbours = launch(played, "neighbours in place")["causes"][0]
    assert neighbours["detail"] == cause.UPDATE  # and nothing is added
    assert neighbours["parameters"] == ["x"] and cause.PROGRAM in neighbours["inputs"]
    assert cause.PROGRAM not in launch(played, "table in place")["causes"][0]["inputs"]


def test_an_update_is_lost_only_where_two_make_it_and_it_changes_what_is_there(played: list[dict[str, Any]]) -> None:
    details = [launch(played, name)["causes"][0]["detail"] for name in ALL if name.startswith("sum of ")][:3]
    assert launch(played, "sum")["causes"][0]["detail"] == "lost update by add"
    assert details == ["lost update by add", "update by add", "update"]


def test_who_races_first_is_told(played: list[dict[str, Any]]) -> None:
    assert launch(played, "number")["causes"][0]["first"]
    assert not launch(played, "scattered late")["causes"][0]["first"]


def test_what_lies_elsewhere_in_a_storage_is_named_by_both_tensors(played: list[dict[str, Any]]) -> None:
    assert "touch element 17 of y, which is element 1 of x in program instances" in launch(played, "views")["fault"]


def test_program_instances_are_named_by_all_axes_of_the_grid(played: list[dict[str, Any]]) -> None:
    assert "in program instances (0, 0) and (1, 0), in no order" in launch(played, "tiles that run on")["fault"]


def test_no_device_tells_of_it(outcome: Outcome) -> None:
    assert not outcome.sticky


def test_an_access_outside_hides_what_else_is_wrong(play: Play) -> None:
    source = KERNELS + "packed[(8,)](zeros(), zeros(), 16, 16)\ntorch.cuda.synchronize()\n"
    [found] = play(source, wants=WANTS).launches
    assert not found["fault"] and "reaches byte" in found["undecided"]


def test_only_an_oracle_that_names_the_rule_asks_for_it(play: Play) -> None:
    assert "race" not in UNASKED.rules
    [found] = play(KERNELS + LAUNCHES["lost update"][0], wants=frozenset(UNASKED.wants)).launches
    assert not found["causes"] and not found["fault"]

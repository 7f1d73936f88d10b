"""An index that an access hangs on may neither vanish nor run along another dimension where the host may have made the
mistake: the same byte can be reached without it, and then no fix of the host's helps."""

from __future__ import annotations

import pytest

from shrinkray_gpu.oracle.cause_check import LaunchCauses
from shrinkray_gpu.runner.inside.static.cause import MEMORY, NO_MASK, WRONG_MASK
from shrinkray_gpu.runner.run import Launch, Run
from tests.runner.inside.conftest import Play

PROGRAM = """
import torch, triton, triton.language as tl


@triton.jit
def smooth(x, y, width, pitch, margin, REACH: tl.constexpr, BLOCK: tl.constexpr):
    line, band = tl.program_id(0), tl.program_id(1)
    column = tl.arange(0, BLOCK)
    kept = column < width
    at = (line + margin) * pitch + margin + column
    above = tl.load(x + at - REACH * pitch, mask=kept, other=0.0)
    tl.store(y + (line + band) * width + column, above, mask=kept)


width, margin = 30, 2
x = torch.zeros(6 + 2 * margin, width + 2 * margin, device="cuda")
y = torch.zeros(6, width, device="cuda")
smooth[(6, 1)](x, y, width, x.stride(0), margin, REACH=3, BLOCK=32)
"""
FIXED = ("margin = 30, 2", "margin = 30, 3")
WANTS = frozenset({"static:bounds"})


def causes(play: Play, text: str) -> LaunchCauses | None:
    [launch] = play(text, wants=WANTS).launches
    if not launch["causes"]:
        return None
    data = {"kernel": launch["kernel"], "causes": launch["causes"], "unknown": launch["unfollowed"], "kept": True}
    return LaunchCauses.from_json(data)


@pytest.mark.parametrize(
    ("instead", "lost"),
    [
        ("at = margin + column", "argument in dimension 0"),
        ("at = line + margin + column", "argument in dimension 0"),
        ("at = line * pitch + margin + column", "argument in dimension 0"),
    ],
)
def test_an_access_at_the_same_byte_that_has_lost_its_line_is_another(play: Play, instead: str, lost: str) -> None:
    mine = causes(play, PROGRAM)
    assert mine is not None and mine.causes[0].kind == WRONG_MASK
    own = ["argument in dimension 0", "program x in dimension 0", "range 1 in dimension 1", "range 1 in the mask"]
    assert list(mine.causes[0].indices) == own
    text = PROGRAM.replace("at = (line + margin) * pitch + margin + column", instead)
    text = text.replace("REACH * pitch", "pitch")
    theirs = causes(play, text)
    assert theirs is not None and theirs.causes[0].reach == mine.causes[0].reach
    run = Run("virtual", 1, virtual=True, launches=(Launch("smooth", "", (6, 1), causes=theirs.causes, unfollowed=""),))
    assert mine.difference(run) == f"the load has lost its {lost}"
    assert causes(play, PROGRAM.replace(*FIXED)) is None and causes(play, text.replace(*FIXED)) is not None


PAGED = """
import torch, triton, triton.language as tl


@triton.jit
def append(cache, tables, lengths, pitch, PAGE: tl.constexpr, WIDTH: tl.constexpr):
    line = tl.program_id(0)
    for token in range(tl.load(lengths + line)):
        page = tl.load(tables + line * pitch + token // PAGE)
        tl.store(cache + (page * PAGE + token % PAGE) * WIDTH + tl.arange(0, WIDTH), 0.0)


tables = torch.tensor([[0, 1, -1], [0, 2, -1]], dtype=torch.int32)
lengths = torch.tensor([20, 20], dtype=torch.int32).cuda()
append[(2,)](torch.zeros(32, 16, device="cuda"), tables.cuda(), lengths, 3, PAGE=8, WIDTH=16)
"""
GATHERED = """
import torch, triton, triton.language as tl


@triton.jit
def append(table, ids, pitch, out, WIDTH: tl.constexpr):
    line = tl.program_id(0)
    row = tl.load(ids + line * pitch + 2)
    tl.store(out + line * WIDTH + tl.arange(0, WIDTH), tl.load(table + row * WIDTH + tl.arange(0, WIDTH)))


ids = torch.tensor([[0, 1, 9000], [0, 2, 9000]], dtype=torch.int32).cuda()
append[(2,)](torch.zeros(32, 16, device="cuda"), ids, 3, torch.zeros(2, 16, device="cuda"), WIDTH=16)
"""


@pytest.mark.parametrize(
    ("text", "kind", "access", "number"), [(PAGED, NO_MASK, "store", 2), (GATHERED, MEMORY, "load", 1)]
)
def test_so_is_one_that_takes_the_index_from_another_element(
    play: Play, text: str, kind: str, access: str, number: int
) -> None:
    mine, theirs = causes(play, text), causes(play, text.replace("line * pitch", "pitch"))
    assert mine is not None and theirs is not None and {mine.causes[0].kind, theirs.causes[0].kind} == {kind}
    run = Run("virtual", 1, virtual=True, launches=(Launch("append", "", (2,), causes=theirs.causes, unfollowed=""),))
    assert mine.difference(run) == f"the {access} has lost its program x behind loaded value {number}"

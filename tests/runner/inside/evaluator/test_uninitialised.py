"""Loads of memory that nobody wrote: which are sure, which are sound, of which nobody can tell."""

from __future__ import annotations

from typing import Any

import pytest

from shrinkray_gpu.oracle.needs import UNASKED
from shrinkray_gpu.runner.inside.static import cause
from tests.runner.inside.conftest import Outcome, Play

WANTS = frozenset({"static:uninitialised"})
PROGRAM = """
import torch, triton, triton.language as tl


@triton.jit
def scaled(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def summed(total, x, BLOCK: tl.constexpr):
    tl.store(total, tl.load(total) + tl.sum(tl.load(x + tl.arange(0, BLOCK))))


@triton.jit
def late(x, y):
    if tl.program_id(0) > 0:
        tl.store(y, tl.load(x))


@triton.jit
def chosen(x, y, flags):
    tl.store(y, tl.load(x, mask=tl.load(flags) > 0.5))


@triton.jit
def beyond(x, y):
    tl.store(y, tl.load(x + 100))


@triton.jit
def described(x, y):
    d = tl.make_tensor_descriptor(x, [4, 16], [16, 1], [4, 16])
    tl.store(y + tl.arange(0, 4)[:, None] * 16 + tl.arange(0, 16)[None, :], d.load([0, 0]))


def empty():
    return torch.empty(64, device="cuda")


ones, out = torch.ones(64, device="cuda"), torch.zeros(64, device="cuda")
triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
scaled[(4,)](empty(), out, 64, 16)
scaled[(4,)](ones, empty(), 64, 16)
scaled[(4,)](empty().fill_(1), out, 64, 16)
scaled[(4,)](empty(), out, 0, 16)
late[(2,)](torch.empty_like(ones), out)
late[(1,)](torch.empty_like(ones), out)
scaled[(4,)](ones.new_empty(64)[16:], out, 16, 16)
scaled[(4,)](torch.empty(64, device="cuda").copy_(ones)[16:], out, 16, 16)
summed[(1,)](empty(), ones, 64)
written = empty()
scaled[(4,)](ones, written, 64, 16)
scaled[(4,)](written, out, 64, 16)
half = empty()
half[:32] = 1
scaled[(4,)](half, out, 64, 16)
chosen[(1,)](empty(), out, ones)
described[(1,)](empty(), out)
described[(1,)](ones, out)
scaled[(5,)](empty(), out, 80, 16)
beyond[(1,)](empty(), out)
"""
UNWRITTEN = {0: False, 4: True, 6: False}
"""By the number of the launch, whether only a later program instance loads what nobody wrote."""
PARTLY = "which elements of the tensor were written before"
OUTSIDE = "it leaves its tensor"
UNKNOWN = {8: PARTLY, 10: PARTLY, 11: PARTLY, 12: "a load of f32 decides", 13: "descriptor", 16: OUTSIDE}
LEAVING = 15
"""A launch that loads what nobody wrote, and goes on beyond the tensor."""


@pytest.mark.parametrize("at", UNWRITTEN)
def test_what_nobody_wrote_is_told(played: list[dict[str, Any]], at: int) -> None:
    [found] = played[at]["causes"]
    assert (found["breaks"], found["kind"], found["access"]) == ("uninitialised", cause.UNWRITTEN, "load")
    assert found["first"] is not UNWRITTEN[at]
    assert played[at]["fault"].startswith("uninitialised: the load at script.py")


@pytest.mark.parametrize("at", UNKNOWN)
def test_what_is_not_known_is_no_fault(played: list[dict[str, Any]], at: int) -> None:
    assert not played[at]["causes"] and not played[at]["fault"] and UNKNOWN[at] in played[at]["unfollowed"]


def test_a_load_that_leaves_its_tensor_is_of_unwritten_memory_too(played: list[dict[str, Any]]) -> None:
    assert {found["breaks"] for found in played[LEAVING]["causes"]} == {"bounds", "uninitialised"}
    assert OUTSIDE in played[LEAVING]["unfollowed"] and not played[LEAVING]["fault"]


def test_no_device_tells_of_it(outcome: Outcome) -> None:
    assert not outcome.sticky


def test_the_others_are_sound(played: list[dict[str, Any]]) -> None:
    sound = [each for at, each in enumerate(played) if at not in {*UNWRITTEN, *UNKNOWN, LEAVING}]
    assert len(sound) == 7
    assert [each for each in sound if each["causes"] or each["unfollowed"] or each["fault"]] == []


def test_an_index_that_nobody_wrote_proves_nothing(play: Play) -> None:
    source = PROGRAM.partition("def empty")[0] + (
        "@triton.jit\ndef gathered(x, index, y):\n    tl.store(y, tl.load(x + tl.load(index)))\n"
        "x = torch.ones(4, device='cuda')\n"
        "gathered[(1,)](x, torch.empty(1, dtype=torch.int32, device='cuda'), x)\ntorch.cuda.synchronize()\n"
    )
    [launch] = play(source, wants=frozenset({"static:bounds"})).launches
    assert not launch["causes"] and "nobody wrote what is loaded" in launch["unfollowed"]


def test_only_an_oracle_that_names_the_rule_asks_for_it() -> None:
    assert "uninitialised" not in UNASKED.rules and "alignment" in UNASKED.rules

"""Large tensors are not computed on the virtual GPU. How they come about is known all the same, and tells launches on
the same data from others."""

from __future__ import annotations

import pytest

from tests.runner.inside.conftest import Play

SCRIPT = """
import torch, triton, triton.language as tl

@triton.jit
def first(x):
    tl.load(x)

@triton.jit
def clear(x):
    tl.store(x, 0)

torch.manual_seed({seed})
{before}
x = {make}
{after}
first[(1,)](x)
"""
BIG = "torch.randn(2048, 2048, device='cuda')"
DRAWN = [
    BIG,
    "torch.randint(-126, 127, (2101248, 1024), dtype=torch.int8, device='cuda')",
    "torch.randint(9, (2048, 2048), device='cuda')",
    "torch.rand(2048, 2048).cuda()",
    "torch.empty(2048, 2048, device='cuda').normal_()",
    "(torch.randn(2048, 2048, device='cuda') * 0.02).to(torch.float16)[3:, 8:]",
    "torch.normal(0.0, 1.0, (2048, 2048), device='cuda')",
]


def word(play: Play, make: str = BIG, *, seed: int = 0, before: str = "", after: str = "") -> str:
    seen = play(SCRIPT.format(seed=seed, before=before, make=make, after=after))
    assert not seen.error, seen.error
    return str(seen.launches[-1]["args"][0]).rpartition(" ")[2]


@pytest.mark.parametrize("make", DRAWN)
def test_a_large_tensor_is_told_by_how_it_comes_about(play: Play, make: str) -> None:
    one = word(play, make)
    assert one.startswith("#~")
    assert word(play, make, before="unused = 3") == one
    assert word(play, make, seed=1) != one
    assert word(play, make, before="torch.randn(1, device='cuda')") != one
    assert word(play, make, before=f"y = {BIG}") != one


@pytest.mark.parametrize(
    "after",
    ["x *= 2", "x[0] = 1", "x[0, 0].add_(1)", "x.copy_(torch.randn(2048, 2048))", "x = x + 1", "torch.add(x, 1, out=x)",
     "x = torch.cat([x, torch.ones(1, 2048, device='cuda')])", "x.uniform_()"],
)  # fmt: skip
def test_what_is_done_to_it_is_part_of_that(play: Play, after: str) -> None:
    plain, done = word(play), word(play, after=after)
    assert done.startswith("#~") and done != plain
    assert word(play, after=after) == done
    assert word(play, after=f"{after}\n{after}") != done


def test_a_view_shares_its_storage_s_word(play: Play) -> None:
    assert word(play, after="x = x.detach().view(-1)") == word(play, after="x = x.view(4096, 1024)") == word(play)


def test_values_go_into_it(play: Play) -> None:
    scaled = {word(play, after=f"x *= torch.tensor({n}., device='cuda')") for n in (2, 3)}
    assert len(scaled) == 2 and all(each.startswith("#~") for each in scaled)


@pytest.mark.parametrize(
    "after", ["clear[(1,)](x)", "y = torch.ones(1, device='cuda')\nclear[(1,)](y)\nx *= y", "clear[(1,)](x)\nx += 1"]
)
def test_what_a_kernel_wrote_nobody_knows(play: Play, after: str) -> None:
    assert word(play, after=after) == "#?"


def test_a_part_of_known_memory_that_was_drawn_is_unknown_with_the_rest(play: Play) -> None:
    """Of the rest no word is made, so there must be none of the whole."""
    assert word(play, "torch.zeros(4096, 2048, device='cuda')", after="x[:2048].normal_()") == "#?"


def test_small_tensors_hold_what_they_hold(play: Play) -> None:
    small = word(play, "torch.randn(64, device='cuda')")
    assert small[1] not in "?~" and word(play, "torch.randn(64, device='cuda')", seed=1) != small

"""Numbers go down on their lattice: powers of two stay that, coupled ones move together."""

from __future__ import annotations

import pytest

from shrinkray_gpu.passes.python.numbers import ALONE, find, find_for_check, offers
from shrinkray_gpu.reduction.keep import allowed_edits
from shrinkray_gpu.reduction.rendering.render import render
from tests.passes.offers import offered, program, results


def test_a_power_of_two_is_offered_all_lower_ones_smallest_first() -> None:
    assert results(find, "BLOCK = 32")[:5] == [f"BLOCK = {n}" for n in (1, 2, 4, 8, 16)]


def test_other_numbers_go_to_small_ones_to_a_half_and_ever_closer_to_themselves() -> None:
    assert offers(132) == [1, 2, 0, 66, 116, 128, 131]
    assert offers(33) == [1, 2, 0, 16, 29, 32]
    assert offers(3) == [1, 2, 0]
    assert offers(1) == [0]
    assert offers(0) == []


def test_the_smallest_number_that_faults_is_reached_in_few_steps() -> None:
    """One by one, a byte of shared memory would be a try on a GPU with all its controls."""
    for least, number in ((877, 1887), (70_000, 2_222_222)):
        steps = 0
        while lower := [smaller for smaller in offers(number) if smaller >= least]:
            number, steps = lower[0], steps + 1
        assert least <= number <= 1.01 * least and steps < 20


def test_an_offset_far_away_becomes_a_small_one_or_stays() -> None:
    """Half as far something may be mapped in the user's process, and nothing in a lane."""
    assert offers(1 << 33) == offers((1 << 33) + 1) == [1, 2, 0, 4, 16, 64]
    assert not offered(find, "f(8589934592, 4)", "f(2147483648, 1)")


def test_dot_tiles_are_tried_at_their_minimum_first() -> None:
    assert results(find, "tl.dot(a, b)\nBLOCK = 64")[0].endswith("BLOCK = 16")


def test_launch_options_have_their_own_lattice() -> None:
    assert results(find, "k[g](x, num_warps=8)") == [f"k[g](x, num_warps={n})" for n in (1, 2, 4)]
    assert results(find, "k[g](x, num_stages=4)") == [f"k[g](x, num_stages={n})" for n in (1, 2, 3)]


def test_equal_numbers_move_together() -> None:
    assert offered(find, "M = 512\nN = 512", "M = 1\nN = 1")


def test_multiples_keep_their_ratio() -> None:
    assert offered(find, "M = 512\nBLOCK = 128", "M = 16\nBLOCK = 4")


def test_all_large_numbers_are_clamped_at_once() -> None:
    assert offered(find, "M, N, K, S = 512, 300, 7, 2", "M, N, K, S = 16, 16, 7, 2")


def test_joint_moves_come_on_earlier_levels() -> None:
    levels = [edit.level for edit in find(program("M = 512\nN = 512"))]
    assert levels == sorted(levels) and len(set(levels)) > 1


def test_floats_become_one_or_zero() -> None:
    assert results(find, "x = 0.125") == ["x = 1.0", "x = 0.0"]
    assert results(find, "x = 1.0") == []


def test_no_loop_gets_a_step_of_zero() -> None:
    assert "for i in range(0, 9, 0):\n    f()" not in results(find, "for i in range(0, 9, 1): f()")
    assert not any(", 0)" in after for after in results(find, "for i in range(0, 100, 100): f()"))


def test_what_the_hardware_has_is_no_number_to_play_with() -> None:
    layout = "BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])"
    assert all("[4, 8]" in after for after in results(find, f"f({layout}, num_warps=4)"))
    assert not offered(find, f"f({layout})", f"f({layout.replace('4, 1]', '2, 1]')})")
    assert offered(find, "f(BlockedLayout([1], [32], [8], [0]), w=8)", "f(BlockedLayout([1], [32], [4], [0]), w=4)")


@pytest.mark.parametrize(
    "kernel",
    [
        "y = tl.topk(x, {})",
        "d = tl.make_tensor_descriptor(p, [{}, 64], [64, 1], [16, 16])",
        "d = tl.make_tensor_descriptor(p, shape=[{}, 64], strides=[64, 1], block_shape=[16, 16])",
    ],
)
@pytest.mark.parametrize("number", [1, 3, 64])
def test_a_count_of_a_kernel_stays_one_at_least(kernel: str, number: int) -> None:
    text = f"@triton.jit\ndef k(p, x):\n    {kernel}\n"
    assert not offered(find, text.format(number), text.format(0))


def test_an_offset_may_be_zero() -> None:
    text = "@triton.jit\ndef k(d):\n    d.load([{}, 0])\n"
    assert offered(find, text.format(3), text.format(0))


def test_a_grid_has_one_program_at_least() -> None:
    for number in (1, 3, 8):
        assert not any("k[0," in after or "k[(0," in after for after in results(find, f"k[({number},)](x)"))


STAYS = "y = 128  # shrink: keep"


@pytest.mark.parametrize(
    "fixed",
    ["match m:\n    case 128:\n        f()", "tl.static_assert(m == 128)", "os.remove(paths[128])", STAYS],
)
def test_numbers_move_together_without_those_that_can_never_change(fixed: str) -> None:
    start = program(f"a = f(128)\n{fixed}\nb = f(128, 512)\n")
    texts = [render(start, [edit]).text for edit in allowed_edits(start, find(start))]
    assert f"a = f(4)\n{fixed}\nb = f(4, 512)\n" in texts
    assert f"a = f(4)\n{fixed}\nb = f(4, 16)\n" in texts
    assert f"a = f(16)\n{fixed}\nb = f(16, 16)\n" in texts


def test_numbers_that_can_all_never_change_are_not_offered_together() -> None:
    start = program("tl.static_assert(m == 128)\ntl.static_assert(n == 128)\n")
    assert all(edit.level == ALONE for edit in find(start))


def test_numbers_beside_those_that_never_change_move_on() -> None:
    text = "@f({0})\ndef g(x):\n    x[{0}] = 1\n    match x:\n        case [y] if y == {0}:\n            return {0}\n"
    assert offered(find, text.format(128), text.format(4))


@pytest.mark.parametrize(
    ("text", "want"), [("f(65535 * 1024)", "f(67107840)"), ("f(3 - 5)", "f(-2)"), ("f(x + (4 + 0x10))", "f(x + 20)")]
)
def test_arithmetic_of_two_numbers_is_a_number(text: str, want: str) -> None:
    assert offered(find, text, want)


@pytest.mark.parametrize("text", ["f(2**31)", "f(7 / 2)", "f(7 // 0)", "f(1 << 28)", "f(x * 4)", "f(1.5 + 2)"])
def test_what_people_write_so_or_is_none_stays(text: str) -> None:
    assert not any("one number" in edit.what for edit in find(program(text)))


def test_the_fractions_of_a_check_stay() -> None:
    kernel = "import triton\n@triton.jit\ndef k(x):\n    return x * 0.5\n"
    check = "assert_close(a, b[:, :8], rtol=1e-3)\nassert (a - b).abs().max() < 0.01"
    left = results(find_for_check, kernel + check)
    assert any("x * 1.0" in each for each in left) and any("[:, :4]" in each for each in left)
    assert all("rtol=0.001" in each and "< 0.01" in each for each in left)
    assert any("rtol=1.0" in each for each in results(find, kernel + check))

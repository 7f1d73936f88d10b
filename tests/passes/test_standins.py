from __future__ import annotations

from shrinkray_gpu.passes.kernel import standins
from tests.passes.offers import offered, results

HEAD = "@triton.jit\ndef kernel(x, y):\n"


def test_one_block_of_offsets_for_two() -> None:
    source = HEAD + (
        "    rows = tl.arange(0, 16)\n    cols = tl.arange(0, 16)\n    tl.store(x + rows[:, None] + cols, 0)\n"
    )
    want = HEAD + "    rows = tl.arange(0, 16)\n    tl.store(x + rows[:, None] + rows, 0)\n"
    assert offered(standins.find, source, want)


def test_a_tile_that_is_there_for_an_operand() -> None:
    source = HEAD + (
        "    acc = tl.zeros([16, 16], tl.float32)\n    tl.store(x, tl.dot(tl.load(y + tl.arange(0, 16)), acc))\n"
    )
    want = HEAD + "    acc = tl.zeros([16, 16], tl.float32)\n    tl.store(x, tl.dot(acc, acc))\n"
    assert offered(standins.find, source, want)


def test_what_comes_later_and_host_code_stand_for_nothing() -> None:
    later = HEAD + (
        "    tl.store(x, tl.load(y + tl.arange(0, 16)))\n    late = tl.arange(0, 16)\n    tl.store(y, late)\n"
    )
    assert not any("x, late" in text for text in results(standins.find, later))
    assert results(standins.find, "a = torch.zeros(4, 4)\nb = torch.zeros(4, 4)\nprint(a + b)\n") == []


def test_a_mask_keeps_what_it_says_and_its_blocks_of_offsets_may_be_one() -> None:
    source = HEAD + (
        "    rows = tl.arange(0, 16)\n    cols = tl.arange(0, 16)\n    row_ok = rows < 4\n    col_ok = cols < 8\n"
        "    tl.store(x + rows[:, None] + cols, 0, mask=row_ok[:, None] & col_ok)\n"
    )
    assert not any("row_ok[:, None] & row_ok" in text for text in results(standins.find, source))
    want = source.replace("    cols = tl.arange(0, 16)\n", "").replace("cols", "rows")
    assert offered(standins.find, source, want)


def test_a_mask_is_no_long_expression_that_a_variable_may_stand_for() -> None:
    source = HEAD + (
        "    rows = tl.arange(0, 16)\n    row_ok = rows < 4\n"
        "    ok = (rows < 8) & (rows > 2)\n    tl.load(x + rows, ok)\n"
    )
    assert not any("ok = rows\n" in text or "ok = row_ok" in text for text in results(standins.find, source))

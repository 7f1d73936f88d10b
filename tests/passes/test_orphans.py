"""What goes with a part of a kernel: what only it used, and what only that used."""

from __future__ import annotations

import libcst as cst

from shrinkray_gpu.source.orphans import orphans
from shrinkray_gpu.source.tree import every, source
from tests.passes.offers import program


def lost(text: str, part: str, kept: str = "") -> list[str]:
    start = program(text)
    expressions = every(start, cst.BaseExpression)  # type: ignore[type-abstract]
    node = next(each for each in expressions if source(start, each) == part)
    stays = [each for each in expressions if kept and source(start, each) == kept][:1]
    return [source(start, removal.node) for removal in orphans(start, [node], kept=stays)]


HEAD = "@triton.jit\ndef k(x, n):\n"


def test_definitions_one_behind_the_other_then_parameters_with_their_arguments() -> None:
    text = HEAD + "    i = tl.arange(0, n)\n    p = x + i\n    tl.store(y, tl.load(p))\nk[(1,)](t, 4)\n"
    assert sorted(lost(text, "tl.load(p)")) == sorted(["p = x + i", "i = tl.arange(0, n)", "x", "t", "n", "4"])


def test_what_is_read_elsewhere_stays_and_all_behind_it() -> None:
    text = HEAD + "    p = x + n\n    tl.store(p, tl.load(p))\nk[(1,)](t, 4)\n"
    assert lost(text, "tl.load(p)") == []


def test_a_variable_that_a_loop_carries_goes_with_all_its_lines() -> None:
    text = HEAD + "    a = 0\n    for i in range(2):\n        a += n\n    tl.store(x, f(a))\nk[(1,)](t, 4)\n"
    assert sorted(lost(text, "f(a)")) == sorted(["a = 0", "a += n", "n", "4"])


def test_parts_that_stay_keep_what_they_use() -> None:
    text = HEAD + "    tl.store(x + n, g(n))\nk[(1,)](t, 4)\n"
    assert lost(text, "tl.store(x + n, g(n))", kept="g(n)") == ["x", "t"]


def test_a_parameter_that_an_unseen_call_may_give_stays() -> None:
    for call in ("k[(1,)](*ts)", "k[(1,)](**ts)", "run(k)"):
        assert lost(HEAD + f"    tl.store(out, x + n)\n{call}\n", "x + n") == []


def test_host_code_has_none() -> None:
    assert lost("a = f(1)\nb = g(a)\n", "g(a)") == []


def test_a_line_that_is_gone_itself_reads_nothing_any_more() -> None:
    text = HEAD + "    a = 0\n    a = a + n\n    tl.store(x, f(a))\nk[(1,)](t, 4)\n"
    assert lost(text, "f(a)") == ["a = 0", "a = a + n", "n", "4"]
    assert lost(text, "a + n") == ["n", "4"]


def test_a_kept_part_of_a_line_keeps_the_variable_that_the_line_makes() -> None:
    text = HEAD + "    a = 0\n    a = f(a) + n\n    tl.store(x, a)\n"
    assert lost(text, "tl.store(x, a)", kept="f(a)") == ["x"]

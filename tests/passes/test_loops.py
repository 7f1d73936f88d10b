from __future__ import annotations

import pytest

from shrinkray_gpu.passes.python import loops
from tests.passes.outcomes import lines, offers


@pytest.mark.parametrize(
    ("iterable", "first"),
    [
        ("range(n)", "0"),
        ("range(2, n)", "2"),
        ("tl.range(a + 1, n, BLOCK, num_stages=3)", "a + 1"),
        ("[64, 128]", "64"),
        ("{'a': 1}", "'a'"),
        ("enumerate([5, 6])", "(0, 5)"),
        ("zip(xs, range(3))", "(next(iter(xs)), 0)"),
        ("xs", "next(iter(xs))"),
    ],
)
def test_the_body_once_with_the_first_element(iterable: str, first: str) -> None:
    found = offers(loops, f"for i in {iterable}:\n    f(i)\n")
    assert found["for at line 1: body once"] == f"i = {first}\nf(i)\n"


def test_a_table_with_a_name_gives_its_elements_and_goes_where_nothing_else_reads_it() -> None:
    found = offers(loops, "T = [(1, 'a'), (2, 'b')]\nfor n, name in T:\n    f(n, name)\n")
    assert found["for at line 2: body once, element 1 of T"] == "n, name = (2, 'b')\nf(n, name)\n"
    found = offers(loops, "T = {'a': [1]}\nfor name, n in T.items():\n    f(n, name)\nprint(T)\n")
    assert found["for at line 2: body once, element 0 of T"] == lines("""
        T = {'a': [1]}
        name, n = ('a', [1])
        f(n, name)
        print(T)
    """)


def test_a_variable_that_nobody_reads_is_not_kept() -> None:
    found = offers(loops, "for i, row in enumerate(rows):\n    f()\n    break\n")
    assert found["for at line 1: body once"] == "f()\n"


def test_a_kernel_has_no_iterators() -> None:
    assert offers(loops, "@triton.jit\ndef k(x):\n    for i in x:\n        f(i)\n") == {}


def test_break_and_continue_of_this_loop_go_with_it_and_those_of_others_stay() -> None:
    text = """
        for i in range(4):
            if i: continue
            while True:
                break
            f(i)
            break
    """
    assert offers(loops, text)["for at line 1: body once"] == lines("""
        i = 0
        if i: pass
        while True:
            break
        f(i)
    """)


def test_any_element_of_a_short_literal() -> None:
    found = offers(loops, "for b in (32, 64):\n    f(b)\n")
    assert found["for at line 1: body once (element 1)"] == "b = 64\nf(b)\n"
    assert found["only element 1 of the loop at line 1"] == "for b in (64,):\n    f(b)\n"


def test_options_of_a_range_go_one_by_one() -> None:
    found = offers(loops, "for i in tl.range(0, n, 4, num_stages=3, flatten=False):\n    f(i)\n")
    assert found["drop num_stages of the range at line 1"].startswith("for i in tl.range(0, n, 4, flatten=False):")
    assert found["drop all options of the range at line 1"].startswith("for i in range(0, n, 4):")
    assert found["plain range of the range at line 1"].startswith("for i in range(0, n, 4, num_stages=3")


def test_fewer_trips() -> None:
    found = offers(loops, "for i in range(0, n, BLOCK):\n    f(i)\n")
    assert found["1 trip at line 1"].startswith("for i in range(0, BLOCK, BLOCK):")
    assert found["2 trips at line 1"].startswith("for i in range(0, 2 * BLOCK, BLOCK):")
    found = offers(loops, "for i in range(s, n):\n    f(i)\n")
    assert found["4 trips at line 1"].startswith("for i in range(s, s + 4):")


def test_while_once() -> None:
    assert offers(loops, "while x < 3:\n    x += 1\n    if x: break\n") == {
        "while at line 1: body once": "x += 1\nif x: pass\n"
    }


@pytest.mark.parametrize(
    ("comprehension", "one"),
    [
        ("[f(x, x=x.x) for x in (a + b, c)]", "[f(a + b, x=(a + b).x)]"),
        ("[g(i) for i in range(9)]", "[g(0)]"),
        ("[g(i, k=i) for i in (u, v)]", "[g(u, k=u)]"),
        ("[i for i in [u, v]]", "[u]"),
        ("[one for _ in names]", "[one]"),
        ("{g(i) for i in range(9)}", "{g(0)}"),
    ],
)
def test_a_comprehension_of_one_element(comprehension: str, one: str) -> None:
    found = offers(loops, f"ys = {comprehension}\n")
    assert found["one element of the comprehension at line 1"] == f"ys = {one}\n"


def test_trips_are_counted_as_a_person_would() -> None:
    found = offers(loops, "for i in tl.range(0, n, BLOCK, num_stages=3):\n    f(i)\n")
    assert "for i in tl.range(2, num_stages=3):\n    f(i)\n" in found.values()


def test_the_fourth_of_a_range_gets_its_name_where_the_others_go() -> None:
    found = offers(loops, "for i in tl.range(0, n, 1, 3):\n    f(i)\n")
    assert found["2 trips counted from 0 at line 1"] == "for i in tl.range(2, num_stages=3):\n    f(i)\n"

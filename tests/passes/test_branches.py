from __future__ import annotations

from shrinkray_gpu.passes.python import branches
from tests.passes.outcomes import lines, offers

CHAIN = """
    if a:
        f()
    elif b:
        g()
    else:
        h()
"""


def test_each_arm_in_the_place_of_the_chain() -> None:
    found = offers(branches, CHAIN)
    assert [found[f"arm {n} of the if at line 1"] for n in range(3)] == ["f()\n", "g()\n", "h()\n"]


def test_an_arm_less() -> None:
    found = offers(branches, CHAIN)
    assert found["drop the first arm at line 2"] == lines("""
        if b:
            g()
        else:
            h()
    """)
    assert found["drop elif at line 3"] == "if a:\n    f()\nelse:\n    h()\n"
    assert found["drop else at line 5"] == "if a:\n    f()\nelif b:\n    g()\n"


def test_a_test_that_binds_a_name_is_still_computed() -> None:
    assert offers(branches, "if (n := f()) > 1:\n    g(n)\n") == {"arm 0 of the if at line 1": "(n := f()) > 1\ng(n)\n"}


def test_either_value_of_a_conditional_expression() -> None:
    found = offers(branches, "x = 2 * (a + b if c else d)\n")
    assert found == {
        "first value of the conditional at line 1": "x = 2 * (a + b)\n",
        "second value of the conditional at line 1": "x = 2 * d\n",
    }


def test_either_value_of_an_or_that_is_assigned() -> None:
    assert offers(branches, "plan = plan or Plan(n)\nif a or b:\n    f()\n") == {
        "first value of `or` at line 1": "plan = plan\nif a or b:\n    f()\n",
        "second value of `or` at line 1": "plan = Plan(n)\nif a or b:\n    f()\n",
        "arm 0 of the if at line 2": "plan = plan or Plan(n)\nf()\n",
    }


def test_a_case_of_a_match() -> None:
    text = """
        match mode:
            case "a":
                f()
            case ["b", *rest]:
                g(rest)
    """
    found = offers(branches, text)
    assert found['only case "a" at line 1'] == "f()\n"
    assert 'only case ["b", *rest] at line 1' not in found  # rest would be lost
    assert found['drop case "a" at line 2'] == 'match mode:\n    case ["b", *rest]:\n        g(rest)\n'


def test_the_else_of_a_loop() -> None:
    assert offers(branches, "while a:\n    f()\nelse:\n    g()\n") == {"drop else at line 3": "while a:\n    f()\n"}


def test_the_body_of_a_case_that_binds_nothing_in_the_place_of_the_match() -> None:
    found = offers(branches, "match n:\n    case 0:\n        f()\n    case [_, *_] | _:\n        g()\n")
    assert found["only case [_, *_] | _ at line 1"] == "g()\n"
    assert offers(branches, "match n:\n    case _:\n        g()\n") == {"only case _ at line 1": "g()\n"}


def test_a_case_that_binds_a_name_stays_a_case() -> None:
    for pattern in ("x", "[_, x]", "int() as x", "[*x]", '{"a": _, **x}'):
        text = f"match n:\n    case {pattern}:\n        g(x)\n"
        assert offers(branches, text) == {}


def test_what_a_match_binds_beside_its_patterns_is_still_computed() -> None:
    found = offers(branches, "match (n := f()):\n    case _ if (m := n) > 1:\n        g(n, m)\n")
    assert found["only case _ at line 1"] == "(n := f())\n(m := n) > 1\ng(n, m)\n"


def test_of_a_table_the_entry_for_the_only_key_that_is_named() -> None:
    table = "TILES = {torch.float16: dict(M=16), torch.float32: dict(M=8)}\n"
    text = f"{table}x = torch.ones(2, dtype=torch.float16)\nk(x, **TILES[x.dtype])\n"
    entry = offers(branches, text)["the entry for torch.float16 at line 3"]
    assert entry.endswith("k(x, **dict(M=16))\n")
    assert offers(branches, "mode = 'a'\nf({'a': 1, 'b': 2}[mode])\n")["the entry for 'a' at line 2"].endswith("f(1)\n")
    other = f"y = torch.ones(2, dtype=torch.float32)\n{text}"
    assert offers(branches, other) == {}, "the mistake may be that the entry of the other one is taken"
    assert offers(branches, f"{text}TILES[y] = 1\n").keys() == offers(branches, text).keys()

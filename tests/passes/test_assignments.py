from __future__ import annotations

from shrinkray_gpu.passes.python import assignments
from tests.passes.outcomes import offers


def test_a_call_stays_without_its_names() -> None:
    assert "f()\n" in offers(assignments, "x, y = f()\n").values()
    assert "f()\n" in offers(assignments, "x: int = f()\n").values()


def test_values_that_do_nothing_are_no_statements() -> None:
    assert offers(assignments, "x = 1\ny = x\n") == {}


def test_one_target_of_several() -> None:
    assert set(offers(assignments, "a = b = f()\n").values()) == {"f()\n", "b = f()\n", "a = f()\n"}
    assert "b = f()\n" in offers(assignments, "a, b = f()\n").values()


def test_a_tuple_assignment_falls_into_its_parts() -> None:
    found = offers(assignments, "a, b, c = 1, f(), 2\n")
    assert "a, c = 1, 2\n" in found.values()
    assert "b = f()\n" in found.values()
    assert found["split the assignment at line 1"] == "a = 1\nb = f()\nc = 2\n"


def test_a_swap_is_not_split() -> None:
    assert not any(what.startswith("split") for what in offers(assignments, "a, b = b, a\n"))


def test_updates() -> None:
    found = offers(assignments, "x += f()\nprint(x)\n")
    assert found["drop the update at line 1"] == "print(x)\n"
    assert "x = f()\nprint(x)\n" in found.values()


def test_returns() -> None:
    found = offers(assignments, "def f():\n    return g()\n")
    assert set(found.values()) == {"def f():\n    g()\n", "def f():\n    return\n"}


def test_a_name_that_is_read_stays() -> None:
    assert "f()\nprint(x)\n" not in offers(assignments, "x = f()\nprint(x)\n").values()
    assert "x = 1\nf()\nprint(x)\n" in offers(assignments, "x = 1\nx = f()\nprint(x)\n").values()

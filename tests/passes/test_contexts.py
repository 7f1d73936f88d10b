from __future__ import annotations

from shrinkray_gpu.passes.python import contexts
from tests.passes.outcomes import lines, offers


def test_the_body_of_a_with() -> None:
    assert offers(contexts, "with torch.no_grad():\n    f()\n") == {"body of the with at line 1": "f()\n"}


def test_a_name_that_the_body_uses_is_assigned() -> None:
    found = offers(contexts, "with a() as x, b():\n    f(x)\n")
    assert "body of the with at line 1" not in found
    assert found["body of the with at line 1, its values assigned"] == "x = a()\nf(x)\n"
    assert found["drop b() of the with at line 1"] == "with a() as x:\n    f(x)\n"


def test_a_try_falls_into_its_parts() -> None:
    text = """
        try:
            f()
        except ValueError:
            g()
        except TypeError as error:
            h(error)
        else:
            i()
        finally:
            j()
    """
    found = offers(contexts, text)
    assert found["body, else and finally of the try at line 1"] == "f()\ni()\nj()\n"
    assert found["body of the try at line 1"] == "f()\n"
    assert found["a handler of the try at line 1"] == "g()\n"
    assert "else:" in found["drop the finally of the try at line 1"]


def test_a_handler_that_raises_again_cannot_stand_alone() -> None:
    text = """
        try:
            f()
        except ValueError:
            raise
    """
    assert offers(contexts, text) == {"body of the try at line 1": lines("f()") + "\n"}

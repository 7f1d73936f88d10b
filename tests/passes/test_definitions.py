from __future__ import annotations

from shrinkray_gpu.passes.python import definitions
from tests.passes.outcomes import lines, offers


def test_a_function_goes_with_its_uses_and_what_only_they_defined() -> None:
    text = """
        def reference(x):
            return x
        x = make()
        out = kernel(x)
        ref = reference(x)
        assert_close(out, ref)
        print(out)
    """
    assert offers(definitions, text)["remove function reference and its uses"] == lines("""
        x = make()
        out = kernel(x)
        print(out)
    """)


def test_a_variable_that_something_else_binds_too_stays() -> None:
    text = """
        acc = 0
        step = 1
        for i in range(4):
            acc = acc + step
        print(acc)
    """
    assert offers(definitions, text)["remove variable step and its uses"] == lines("""
        acc = 0
        for i in range(4):
            pass
        print(acc)
    """)


def test_a_use_in_a_decorator_or_annotation_takes_only_that() -> None:
    text = """
        def timed(f):
            return f
        class Config: pass
        @timed
        def main(config: Config): return config
        main(1)
    """
    found = offers(definitions, text)
    assert "def main(config: Config): return config" in found["remove function timed and its uses"]
    assert "@timed" not in found["remove function timed and its uses"]
    assert "def main(config): return config" in found["remove class Config and its uses"]


def test_an_attribute_goes_with_its_field_and_its_keywords() -> None:
    text = """
        class Config:
            block: int = 4
            warps: int = 1
        c = Config(block=8, warps=2)
        print(c.block)
        print(c.warps)
    """
    assert offers(definitions, text)["remove attribute warps and its uses"] == lines("""
        class Config:
            block: int = 4
        c = Config(block=8)
        print(c.block)
    """)


def test_a_name_in_an_elif_takes_the_whole_chain() -> None:
    text = """
        flag = 1
        if a:
            f()
        elif flag:
            g()
        h()
    """
    assert offers(definitions, text)["remove variable flag and its uses"] == "h()\n"

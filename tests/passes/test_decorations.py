from __future__ import annotations

from shrinkray_gpu.passes.python import decorations
from tests.passes.outcomes import all_at_once, lines, offers

SCRIPT = '''
    """A script."""
    @dataclass
    class Config:
        block: int = 4
    @torch.no_grad()
    def f(x: int, *, y: str = "") -> None:
        """Says what it does."""
        z: float = 1.0
        w: float
    @triton.jit
    def k(x, BLOCK: tl.constexpr):
        """Only this."""
'''


def test_all_that_is_harmless_in_one_edit() -> None:
    assert offers(decorations, SCRIPT)["remove all docstrings, annotations, decorators"] == lines("""
        @dataclass
        class Config:
            block: int = 4
        def f(x, *, y = ""):
            z = 1.0
        @triton.jit
        def k(x, BLOCK: tl.constexpr):
            pass
    """)


def test_what_may_matter_is_offered_alone() -> None:
    found = offers(decorations, SCRIPT)
    assert "def k(x, BLOCK):" in found["remove tl.constexpr at line 11"]
    assert "@triton.jit" not in found["remove @triton.jit at line 10"]
    assert "block = 4" in found["remove int at line 4"]


def test_all_at_once_leaves_plain_code() -> None:
    assert all_at_once(decorations, SCRIPT).count("@") == 0


def test_each_argument_of_a_decorator_and_all_of_them() -> None:
    found = offers(decorations, '@triton.jit(do_not_specialize=["n"], debug=True)\ndef k(n):\n    pass\n')
    assert "@triton.jit(debug=True)\ndef k(n):\n    pass\n" in found.values()
    assert '@triton.jit(do_not_specialize=["n"])\ndef k(n):\n    pass\n' in found.values()
    assert "@triton.jit\ndef k(n):\n    pass\n" in found.values()
    found = offers(decorations, "@dataclass(frozen=True)\nclass C:\n    pass\n")
    assert "@dataclass\nclass C:\n    pass\n" in found.values()


def test_a_decorator_keeps_what_it_cannot_be_called_without() -> None:
    found = offers(decorations, '@triton.autotune(configs=CONFIGS, key=["n"], warmup=3)\ndef k(n):\n    pass\n')
    assert list(found.values()) == [
        "def k(n):\n    pass\n",
        '@triton.autotune(configs=CONFIGS, key=["n"])\ndef k(n):\n    pass\n',
    ]
    for decorator in ("triton.autotune(CONFIGS, KEYS)", 'triton.heuristics({"E": f})', 'custom_op("a::b")'):
        assert list(offers(decorations, f"@{decorator}\ndef k(n):\n    pass\n").values()) == ["def k(n):\n    pass\n"]

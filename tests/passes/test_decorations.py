from __future__ import annotations

from shrinkray_gpu.passes import decorations
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

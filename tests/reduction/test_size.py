"""The order of Programs: which of two is the better repro."""

from __future__ import annotations

import io
import sys
import tokenize
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrinkray_gpu.reduction.program import Program, Region, read_program
from shrinkray_gpu.reduction.size import lines, measure, tokens
from tests.reduction.any_edits import NASTY


def test_tokens_are_what_python_calls_tokens() -> None:
    assert tokens("x = f(a, b)  # comment\n\n") == 8
    assert tokens("") == 0
    assert tokens("x = '''a b\nc'''\ny = 0x_ff + 1e-5 ** 2 // 3\n") == 3 + 9
    assert tokens("a \\\n  .b") == 3
    assert tokens("def f(*, a: int = 1) -> None: ...") == 15


def test_an_f_string_counts_what_it_holds() -> None:
    assert tokens("f'a {b + 1} c {{d}}'") == 1 + 3
    assert tokens("'a {b + 1} c'") == 1
    assert tokens("f'{a}'") < tokens("f'{a + 0}'")


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="the tokenizer takes f-strings apart from 3.12 on")
@pytest.mark.parametrize("path", NASTY, ids=lambda path: path.name)
def test_the_count_agrees_with_the_tokenizer(path: Path) -> None:
    text = read_program(path).text
    layout = {tokenize.NEWLINE, tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    words = [t.string for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type not in layout]
    formatted = [word for word in words if word.lower().startswith(("f'", 'f"', "rf"))]
    assert tokens(text) == len(words) - len(formatted) + sum(map(tokens, formatted))


def test_lines_are_those_that_are_not_blank() -> None:
    assert lines("a\n\n  \n# b\n") == 2


def test_the_order_of_the_measures() -> None:
    tokens_first = ["x = 1000000", "x = 1 + 1"]
    assert sorted(tokens_first, key=measure) == tokens_first
    loops_next = ["if a: b", "while a: b"]
    assert sorted(reversed(loops_next), key=measure) == loops_next
    literals_next = ["long_name = 1", "x = 2", "x = 1024"]
    assert sorted(reversed(literals_next), key=measure) == literals_next
    characters_last = ["x = 1", "xx = 1"]
    assert sorted(reversed(characters_last), key=measure) == characters_last


def test_comments_count_only_as_characters() -> None:
    assert measure("x = 1  # for 3 in while\n")[:4] == measure("x = 1\n")[:4]


def infinite(text: str) -> int:
    return measure(f"import triton.language as tl\n{text}\n").infinite


def guards(text: str) -> int:
    return measure(f"import triton.language as tl\n{text}\n").guards


def test_dropping_a_guard_is_growth() -> None:
    steps = [
        "x = tl.load(p + i, mask=m, other=0.0)",
        "x = tl.load(p + i, mask=m)",
        "x = tl.load(p + i)",
    ]
    assert [guards(step) for step in steps] == sorted({guards(step) for step in steps})
    assert guards("tl.store(p + i, x, mask=m)") < guards("tl.store(p + i, x)")
    assert guards("tl.store(p + i, x, m)") < guards("tl.store(p + i, x)")
    assert guards("tl.load(p + i, m, 0)") == 0
    assert guards("tl.load(b, boundary_check=(0,))") == 0
    assert guards("x = torch.zeros(4)") < guards("x = torch.empty(4)")
    assert guards("x = torch.randn_like(y)") < guards("x = torch.empty_like(y)")
    assert measure("x = tl.load(p + i)") > measure("x = tl.load(p + i, mask=i < n, other=0.0)")


@pytest.mark.parametrize("divisor", ["0", "0.0", "0.", ".0", "00"])
def test_a_division_by_a_literal_zero_is_growth(divisor: str) -> None:
    """An H100 saw `(tl.zeros([4], tl.float32) / 0.0).to(tl.int32)` fail the assertion that a level was in range."""
    assert infinite("x = (a - b) / n") < infinite(f"x = (a - b) / {divisor}") == infinite(f"x %= {divisor}")
    assert infinite(f"x = a / ({divisor} / (16 - 1))") == infinite(f"x = a / (1 - 1 + {divisor}) + b") == 2
    assert infinite(f"x = a / ({divisor} + n)") == infinite(f"x = a / (1 + {divisor})") == infinite("x = a / (1") == 0
    assert infinite(f"x = a / 1{divisor}") == infinite(f"'%d' % {divisor}") == infinite(f"a * {divisor}") == 0


@pytest.mark.parametrize("made", ["tl.log(0)", "math.log2(0.0)", "tl.rsqrt(0.)", "torch.reciprocal(0)", "log(0)"])
def test_what_is_infinite_at_a_literal_zero_is_growth(made: str) -> None:
    assert infinite(f"x = {made}") == 2
    for harmless in (made.replace("(0", "(1 + 0"), made.replace(")", " + n)"), made.replace("(0", "(10")):
        assert infinite(f"x = {harmless}") == 0, harmless


def test_no_unguarded_load_pays_for_a_division_by_zero() -> None:
    """As on an H100: the helper lost its arguments, two loads without masks, and divided by what was left."""
    loads = "import triton.language as tl\nx = level(tl.load(low + row), tl.load(high + row))\n"
    assert guards(loads) == 4
    assert measure(f"{loads}def level(low, high): return 1 / (high - low)\n") < measure("x = 1 / 0.0\n")


def test_what_needs_no_guard_has_no_level() -> None:
    assert guards("x = tl.load(seed_ptr)") == 0
    assert guards("x = descriptor.load([i, j])") == 0
    assert guards("x = tl.load(p + tl.zeros([64, 128], tl.int32))") == 0
    assert guards("x = tl.load(p + tl.zeros([64], tl.int32) + i)") == 2
    assert guards("x = tl.load(p + tl.zeros([64], tl.int32)[:, None])") == 2
    assert guards("x = tl.load(p - tl.zeros([64], tl.int32))") == 2
    assert guards("p = q + i\nx = tl.load(p + tl.zeros([64], tl.int32))") == 2
    assert guards("torch.load(path + name)") == 0
    assert guards("def load(x): pass") == 0
    assert guards("p = q + i\nx = tl.load(p)") == 2
    assert measure("import triton.language as L\nL.load(p + i)").guards == 2
    assert guards("x = tl.load(p + tl.load(q, mask=m, other=0), mask=m)") == 1


def test_masks_inside_other_brackets_are_not_the_call_s_own() -> None:
    assert guards("x = tl.load(p + f(mask=m))") == 2


def test_a_pointer_is_computed_however_it_got_its_name() -> None:
    assert guards("p, m = x + offs, offs < n\ntl.load(p, m, 0)") == 0
    assert guards("p, m = x + offs, offs < n\ntl.load(p)") == 2
    assert guards("m, p = offs < n, x + offs\ntl.load(p)") == 2
    assert guards("if n:\n    (m, p) = offs < n, x + offs\n    tl.load(p)") == 2
    assert guards("tl.load(pointer=x + offs)") == 2
    assert guards("tl.store(pointer=x + offs, value=1)") == 2
    assert guards("tl.load(pointer=x + offs, mask=m)") == 1
    assert guards("tl.load(pointer=x)\ntl.store(value=1, pointer=y)") == 0


def test_what_stands_before_a_keyword_is_not_assigned() -> None:
    assert guards("def f(a: int, p, m=1): pass\ntl.load(p)") == 0
    assert guards("x = y\nf(p, m=1)\ng(lambda: p, m=1)\ntl.load(p)") == 0
    assert guards("x = [p, m]\ny = 1\ntl.load(p)") == 0


def test_what_a_helper_is_handed_may_be_computed() -> None:
    helper = "def first(p):\n    return tl.load(p)\n"
    assert guards(f"{helper}def k(x, n):\n    tl.store(x, first(x + n))\nk[(1,)](y, 1)") == 2
    assert guards("def load(p):\n    return tl.load(p)\ndef k(x, n):\n    tl.store(x, load(x + n))") == 2
    assert guards(f"{helper}first[(1,)](y)") == 0
    assert guards(f"{helper}x = y.first(0)") == 0


def test_regions_add_up() -> None:
    one, two = Region("a.py", "x = 1\n"), Region("b.py", "for y in z: pass\n")
    both = Program((one, two)).size
    assert both == tuple(map(sum, zip(Program((one,)).size, Program((two,)).size)))
    assert both.loops == 1


@given(st.text())
def test_every_text_has_a_size(text: str) -> None:
    size = measure(text)
    assert all(isinstance(part, int) and part >= 0 for part in size)
    assert size == measure(text)


@given(st.integers(0, 10**400), st.integers(0, 10**400))
def test_smaller_numbers_are_never_bigger(one: int, other: int) -> None:
    small, big = sorted((one, other))
    assert measure(hex(small)).literals <= measure(hex(big)).literals


def test_a_tensor_without_elements_is_no_improvement() -> None:
    text = "torch.zeros(1)\ntl.store(x, 1)\n"
    assert measure(text.replace("1)", "0)", 1)) > measure(text)
    assert measure(text.replace("torch.zeros(1)", "tl.zeros(0)")) < measure(text), "inside a kernel it is no tensor"


@pytest.mark.parametrize(
    "tensor, lacks",
    [
        ("torch.arange(0, device='cuda')", 1),
        ("torch.arange(0, 8, device='cuda')", 0),
        ("torch.arange(8, device='cuda')", 0),
        ("torch.tensor([], device='cuda')", 1),
        ("torch.tensor([0], device='cuda')", 0),
        ("torch.tensor([[], []])", 1),
        ("torch.arange(2, 2)", 1),
        ("torch.arange(0, 0, device='cuda')", 1),
        ("torch.zeros((0, 8))", 1),
        ("torch.zeros([0])", 1),
        ("torch.zeros(size=(8, 0))", 1),
        ("torch.zeros(sizes[0])", 0),
        ("torch.full((0,), 1)", 1),
        ("torch.full((1,), 0)", 0),
        ("torch.randint(0, 8, (0,))", 1),
        ("torch.randint(0, (8,))", 0),
        ("torch.randint(0, 8, size=(0,))", 1),
        ("tl.arange(0, 8)", 0),
    ],
)
def test_a_tensor_without_elements_is_a_null_pointer_however_it_is_made(tensor: str, lacks: int) -> None:
    assert measure(f"x = {tensor}\n").guards == lacks


@pytest.mark.parametrize(
    ("imports", "call", "points"),
    [
        ("import triton.language as T", "T.load(p + i)", 2),
        ("from triton import language as T", "T.store(p + i, 1)", 2),
        ("from triton.experimental.gluon import language as gl", "gl.load(p + i, i < n)", 1),
        ("from triton.language import load", "load(p + i)", 2),
        ("from common import tl", "tl.load(p + i)", 2),
        ("from common import load", "load(p + i)", 0),
        ("import textlib as T", "T.load(p + i)", 0),
    ],
)
def test_accesses_are_known_by_what_is_imported(imports: str, call: str, points: int) -> None:
    assert measure(f"{imports}\nx = {call}\n").guards == points

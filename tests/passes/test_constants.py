"""Names that only stand for a value give way to it, together with what binds them."""

from __future__ import annotations

import contextlib
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shrinkray_gpu.passes.python.constants import find
from shrinkray_gpu.reduction.rendering.render import render
from tests.passes.offers import offered, program, results


@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("N = 64\nf(N, N)", "f(64, 64)"),
        ("N: tl.constexpr = tl.constexpr(64)\ndef f(): return N", "def f(): return 64"),
        ("N = -2\nf(N ** 2)", "f((-2) ** 2)"),
        ("S = (4, 8)\nf(S)", "f((4, 8))"),
        ("D = torch.float16\nf(D)\ng(D)", "f(torch.float16)\ng(torch.float16)"),
        ("n = a + b\nf(n * 2)", "f((a + b) * 2)"),
        ("def f(x):\n    y = g(x)\n    return y", "def f(x):\n    return g(x)"),
        ("class Cfg:\n    B = 64\n    C = 1\nf(Cfg.B)", "class Cfg:\n    C = 1\nf(64)"),
        ("class Cfg:\n    B = 64\nf(Cfg.B)", "class Cfg:\n    pass\nf(64)"),
        (
            "class M:\n    def __init__(self):\n        self.beta = 0.5\n        go()\n"
            "    def f(self): return self.beta",
            "class M:\n    def __init__(self):\n        go()\n    def f(self): return 0.5",
        ),
        ("CFG = {'jsd': {'B': 4}}\nf(CFG['jsd']['B'])", "f(4)"),
        ("CFG = {'jsd': {'B': 4, 'num_warps': 1}}\nk[g](x, **CFG['jsd'])", "k[g](x, B=4, num_warps=1)"),
        ("CFG = dict(B=4)\nf(CFG['B'])", "f(4)"),
        ("ns = SimpleNamespace(M=4, N=2)\nf(ns.M, ns.N)", "f(4, 2)"),
        (
            "@dataclass\nclass C:\n    b: int\n    w: int = 4\nc = C(b=1)\nf(c.b, c.w)",
            "@dataclass\nclass C:\n    w: int = 4\nc = C()\nf(1, c.w)",
        ),
        (
            "@dataclass\nclass C:\n    b: int\n    w: int = 4\nc = C(1)\nf(c.w)\ng(c.b)",
            "@dataclass\nclass C:\n    b: int\nc = C(1)\nf(4)\ng(c.b)",
        ),
        (
            "@triton.jit\ndef k(x, B: tl.constexpr):\n    tl.arange(0, B)\nk[g](x, B=4)\nk[h](y, 4)",
            "@triton.jit\ndef k(x):\n    tl.arange(0, 4)\nk[g](x)\nk[h](y)",
        ),
        (
            "@triton.jit\ndef k(x, B: tl.constexpr = 8):\n    tl.arange(0, B)\nk[g](x)",
            "@triton.jit\ndef k(x):\n    tl.arange(0, 8)\nk[g](x)",
        ),
        (
            "@triton.jit\ndef k(x, B: tl.constexpr):\n    tl.arange(0, B)\nk[lambda META: (n // META['B'],)](x, B=4)",
            "@triton.jit\ndef k(x):\n    tl.arange(0, 4)\nk[lambda META: (n // 4,)](x)",
        ),
    ],
)
def test_offers(source: str, want: str) -> None:
    assert offered(find, source, want), results(find, source)


@pytest.mark.parametrize(
    "source",
    [
        "n = 1\nn = 2\nf(n)",  # two values
        "n = 1\nn += 1\nf(n)",
        "def f():\n    global n\n    n = 2\nn = 1\nf(n)",
        "x = make()\nf(x)\ng(x)",  # would be made twice
        "x = make()\nfor i in y: f(x)",  # would be made again and again
        "x = a\ndef f(a):\n    return x",  # another `a` there
        "class A:\n    B = 1\nclass C:\n    B = 2\nf(A.B)",  # two attributes of that name
        "o.size = 3\nf(x.size)",  # tensors have it too
        "@triton.jit\ndef k(B): tl.arange(0, B)\nk[g](4)\nk[g](8)",
        "@triton.jit\ndef k(B): tl.arange(0, B)\nk[g](4)\nlaunch(k)",  # a launch that is not seen
        "n = 'a'\nprint(f'{n}')",  # a quote within an f-string
        "@triton.autotune([], key=['B'])\n@triton.jit\ndef k(B): tl.arange(0, B)\nk[g](4)",
    ],
)
def test_offers_nothing(source: str) -> None:
    assert results(find, source) == []


def test_chains_of_constants_may_go_together() -> None:
    start = program("A = 4\nB = A * 2\nf(A, B)\nprint(B)")
    after = render(start, list(find(start)))
    assert after.text == "f(4, 4 * 2)\nprint(4 * 2)\n"


VALUES = st.sampled_from(["3", "-2", "'a'", "(1, 2)", "True", "2.5", "None"])
NAMES = ["alpha", "beta", "gamma"]


@given(st.lists(st.tuples(st.sampled_from(NAMES), VALUES), min_size=1, max_size=5), st.data())
@settings(max_examples=40, deadline=None)
def test_inlined_programs_print_the_same(lines: list[tuple[str, str]], data: st.DataObject) -> None:
    body = "".join(f"{name} = {value}\nprint({name}, [{name}], f'{{{name}}}')\n" for name, value in lines)
    body += "def show():\n    local = " + lines[0][0] + "\n    print(local, not local)\nshow()\n"
    body += "class K:\n    field = 7\n    def get(self): return self.field\nprint(K.field, K().get())\n"
    start = program(body)
    edits = list(find(start))
    subset = data.draw(st.lists(st.sampled_from(edits), unique=True)) if edits else []
    assert _printed(render(start, subset).text) == _printed(body)


def _printed(text: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(text, "<program>", "exec"), {})
    return out.getvalue()

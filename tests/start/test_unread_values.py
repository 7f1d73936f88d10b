"""What a kernel computes for nothing may be what its bug is about, and stays."""

from __future__ import annotations

import textwrap

import pytest

from shrinkray_gpu.start.unread_values import UNREAD, with_unread_kept, without_unread_marks

HEAD = "@triton.jit\ndef kernel(x, s, y, n, N: tl.constexpr):\n"
LOOP = "for i in range(n):\n"


@pytest.mark.parametrize(
    "body, kept",
    [
        ("v = tl.load(x)\ntl.store(y, v)", []),
        ("v = tl.load(x)\nscale = tl.load(s)\ntl.store(y, v)", ["scale = tl.load(s)"]),
        ("v = tl.load(x)\nw = tl.load(s)\ntl.store(y, v.to(w.dtype))", ["w = tl.load(s)"]),
        ("v = tl.load(x)\ns += n\nw = tl.load(s)\ntl.store(y, v)", ["s += n", "w = tl.load(s)"]),
        (f"acc = 0.0\n{LOOP}    acc = tl.load(x + i)\ntl.store(y, acc)", ["acc = 0.0"]),
        (f"acc = 0.0\n{LOOP}    acc += tl.load(x + i)\ntl.store(y, acc)", []),
        (
            f"acc = 0.0\n{LOOP}    acc = acc + tl.load(x + i)\nif n > N:\n    acc = tl.load(x)\ntl.store(y, acc)",
            ["    acc = acc + tl.load(x + i)"],
        ),
        ("if n > N:\n    v = tl.load(x)\nelse:\n    v = tl.load(s)\ntl.store(y, v)", []),
        ("p = x\nfor i in range(n):\n    tl.store(y, tl.load(p))\n    p += N", []),
        ("i = 0\nwhile i < n:\n    tl.store(y + i, 0.0)\n    i += 1", []),
        ("v = tl.load(x)\nv = v * 2\nv = v + 1\ntl.store(y, v)", []),
    ],
)
def test_what_is_overwritten_or_never_read_is_marked(body: str, kept: list[str]) -> None:
    text = HEAD + textwrap.indent(body, "    ") + "\nkernel[(1,)](x, s, y, 4, N=8)\n"
    marked = with_unread_kept(text)
    lines = [line.removesuffix(UNREAD).removeprefix("    ") for line in marked.splitlines() if line.endswith(UNREAD)]
    assert lines == kept
    assert without_unread_marks(marked) == text


def test_a_mark_of_the_user_s_stays() -> None:
    text = HEAD + "    v = tl.load(x)  # shrink: keep\n    w = tl.load(s)\n    tl.store(y, v)\n"
    assert without_unread_marks(with_unread_kept(text)) == text != with_unread_kept(text)


def test_host_code_has_no_such_marks() -> None:
    text = HEAD + "    tl.store(y, 1.0)\nz = 1\nz = 2\n"
    assert with_unread_kept(text) == text

"""What crashes, bad disks and careless people do to a file of lines."""

from __future__ import annotations

from hypothesis import strategies as st


@st.composite
def damaged(draw: st.DrawFn, text: bytes) -> bytes:
    """The text after one to three accidents."""
    for _ in range(draw(st.integers(1, 3))):
        text = draw(_accident(text))
    return text


def _accident(text: bytes) -> st.SearchStrategy[bytes]:
    lines = text.splitlines(keepends=True)
    at = st.integers(0, max(0, len(text) - 1))
    line = st.integers(0, max(0, len(lines) - 1))
    return st.one_of(
        st.builds(
            lambda i, bit: text[:i] + bytes(byte ^ 1 << bit for byte in text[i : i + 1]) + text[i + 1 :],
            at,
            st.integers(0, 7),
        ),
        st.builds(lambda i: text[:i], at),
        st.builds(lambda i, junk: text[:i] + junk + text[i + len(junk) :], at, st.binary(max_size=40)),
        st.builds(lambda i, junk: text[:i] + junk + text[i:], at, st.binary(max_size=20)),
        st.builds(lambda i, n: text[:i] + b"\0" * len(text[i : i + n]) + text[i + n :], at, st.integers(1, 512)),
        st.builds(lambda i: b"".join(lines[:i] + lines[i + 1 :]), line),
        st.builds(lambda i: b"".join(lines[: i + 1] + lines[i:]), line),
        st.builds(lambda i, k: _swapped(lines, i, k), line, line),
    )


def _swapped(lines: list[bytes], one: int, other: int) -> bytes:
    mixed = list(lines)
    if mixed:
        mixed[one], mixed[other] = mixed[other], mixed[one]
    return b"".join(mixed)

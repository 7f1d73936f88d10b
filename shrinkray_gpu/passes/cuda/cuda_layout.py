"""CUDA: comments and blank lines go, and the rest is indented by its brackets. For the reader: the code is the same."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.code import normal
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import rewrite

_TOKEN = re.compile(
    r'R"(?P<fence>[^()\s\\]{0,16})\(.*?\)(?P=fence)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    r"|(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)",
    re.DOTALL,
)


def find(program: Program) -> Iterator[Edit]:
    for literal in program.literals:
        text = tidy(literal.source)
        if text != literal.source and normal(text) == normal(literal.source):
            yield rewrite(literal, "lay out CUDA", text)


def tidy(text: str) -> str:
    """The source without comments and blank lines, two columns a brace."""
    text = _TOKEN.sub(lambda found: " " if found["comment"] else found.group(), text)
    text = re.sub(r"\(\s*\n\s*\)", "()", text)
    out: list[str] = []
    depth = 0
    continued = False
    for line in text.split("\n"):
        bare = line.strip()
        if not bare:
            continue
        if bare.startswith("#") or continued:
            out.append(bare if not continued else line.rstrip())
            continued = bare.endswith("\\")
            continue
        bare = re.sub(r"\s+;", ";", bare)
        if '"' not in bare and "'" not in bare:
            bare = re.sub(r"(?<=\S)[ \t]+", " ", bare)
        code = _TOKEN.sub("", bare)
        closing = len(re.match(r"[})\]]*", code).group())  # type: ignore[union-attr]
        out.append("  " * max(0, depth - closing) + bare)
        depth = max(0, depth + sum((letter in "{([") - (letter in "})]") for letter in code))
    body = "\n".join(out)
    return f"\n{body}\n" if "\n" in text else body

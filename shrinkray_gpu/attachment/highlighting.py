"""Source and compiled code as HTML, a line at a time, each with the number of the source line that it stands for."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import RegexLexer
from pygments.lexers import DiffLexer, LlvmLexer, PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text

MOST = 4000
"""Lines of one text that a page shows; the file has all."""


class MlirLexer(RegexLexer):
    """MLIR's generic shape: Pygments knows no dialect of it."""

    name = "MLIR"
    tokens = {
        "root": [
            (r"//.*?$", Comment),
            (r'"[^"\n]*"', String),
            (r"%[\w.$#-]+", Name.Variable),
            (r"@[\w.$]+", Name.Function),
            (r"[#!][\w.$]+", Name.Class),
            (r"\b(?:loc|module|attributes)\b", Keyword),
            (r"\b[a-z_]\w*\.[\w.]+\b", Keyword),
            (r"-?\b\d[\w.]*\b", Number),
            (r"\w+", Text),
            (r"\s+", Text),
            (r".", Operator),
        ]
    }


class SassLexer(RegexLexer):
    """`/*08c0*/  @UP4 UTMALDG.2D [UR4], [UR8] ;`, and PTX, which is written alike."""

    name = "SASS"
    tokens = {
        "root": [
            (r"/\*.*?\*/", Comment),
            (r"//.*?$", Comment),
            (r'"[^"\n]*"', String),
            (r"@!?[%\w]+", Name.Decorator),
            (r"^\s*\.\w[\w.]*", Keyword),
            (r"%[\w.]+", Name.Variable),
            (r"\b(?:U?R\d+|U?P\d|U?RZ|U?PT|B\d+|SR_\w+)\b", Name.Variable),
            (r"\b[A-Z][A-Z0-9]+(?:\.[\w.]+)?", Keyword),
            (r"\b[a-z]\w*(?:\.[\w:]+)+", Keyword),
            (r"-?\b(?:0x[0-9a-f]+|\d[\w.]*)\b", Number),
            (r"\w+", Text),
            (r"\s+", Text),
            (r".", Operator),
        ]
    }


_LEXERS = {
    "python": PythonLexer,
    "ttir": MlirLexer,
    "ttgir": MlirLexer,
    "mlir": MlirLexer,
    "llir": LlvmLexer,
    "ptx": SassLexer,
    "amdgcn": SassLexer,
    "sass": SassLexer,
    "diff": DiffLexer,
}


@dataclass(frozen=True)
class HighlightedLine:
    """One line, highlighted."""

    number: int
    html: str
    source: int = 0
    """The line of the repro that it stands for; 0: none."""
    marked: bool = False


def lines(
    text: str, language: str, sources: Sequence[int] = (), marked: frozenset[int] = frozenset()
) -> list[HighlightedLine]:
    """The first lines of a text; `marked` are numbers of lines that stand out."""
    shown = text.splitlines()[:MOST]
    lexer = _LEXERS[language](stripnl=False, ensurenl=True)
    pieces = highlight("\n".join(shown) + "\n", lexer, HtmlFormatter(nowrap=True)).split("\n")
    if len(pieces) < len(shown):  # no lexer of theirs does so, as far as is known
        pieces = [html.escape(one) for one in shown]
    return [
        HighlightedLine(at, piece, sources[at - 1] if at <= len(sources) else 0, at in marked)
        for at, piece in enumerate(pieces[: len(shown)], 1)
    ]


def styles() -> str:
    """The colours of words, for light and for dark screens. `data-theme` of the page has the reader's choice."""
    light = HtmlFormatter(style="default").get_style_defs(".code")
    dark = HtmlFormatter(style="github-dark")
    asked = dark.get_style_defs(":root[data-theme=dark] .code")
    usual = dark.get_style_defs(":root:not([data-theme=light]) .code")
    return f"{light}\n{asked}\n@media (prefers-color-scheme: dark) {{\n{usual}\n}}"

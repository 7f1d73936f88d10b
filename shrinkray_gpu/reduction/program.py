"""A Program: the text to be reduced, immutable, its syntax tree and metadata computed once and lazily."""

from __future__ import annotations

import ast
import codecs
import hashlib
import io
import re
import tokenize
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import libcst as cst
from libcst.metadata import Scope

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.reduction.extent import Extent
from shrinkray_gpu.reduction.native.literal import Literal, literals
from shrinkray_gpu.reduction.notebook import is_notebook, read_notebook
from shrinkray_gpu.reduction.pieces import Piece, pieces_of
from shrinkray_gpu.reduction.positions import Layout, Span, lay_out
from shrinkray_gpu.reduction.scopes import scopes_of
from shrinkray_gpu.reduction.size import Size, lines, measure, together


@dataclass(frozen=True)
class Region:
    """A file in one language: the script, a local module. CUDA C++ has no region of its own: it stands in string
    literals of the script (see `Program.literals`), .cu files too once they are part of a reduction."""

    path: str
    text: str
    language: str = "python"


@dataclass(frozen=True)
class Program:
    """The script (`regions[0]`) and the local modules that it imports."""

    regions: tuple[Region, ...]

    @classmethod
    def from_text(cls, text: str, path: str = "<script>") -> Program:
        """A Program of one region; the text is normalised."""
        return cls((Region(path, normalise(text)),))

    def with_text(self, text: str) -> Program:
        """The same Program with another main region."""
        return Program((replace(self.regions[0], text=text), *self.regions[1:]))

    @property
    def text(self) -> str:
        """The script."""
        return self.regions[0].text

    @property
    def key(self) -> str:
        """The same for Programs that differ only in comments and layout."""
        return self._understood[0]

    @property
    def parses(self) -> bool:
        """Whether every Python region is Python."""
        return self._understood[1]

    @cached_property
    def _pieces(self) -> tuple[list[Piece] | None, ...]:
        """Each region in pieces; None of one that is not Python. Key, size and whether it parses are all that a
        candidate costs before it is run."""
        return tuple(pieces_of(region.text) if region.language == "python" else None for region in self.regions)

    @cached_property
    def _understood(self) -> tuple[str, bool]:
        """`key` and `parses`."""
        digest, parses = hashlib.sha256(), True
        for region, pieces in zip(self.regions, self._pieces, strict=True):
            parses = parses and (pieces is not None or region.language != "python")
            meaning = region.text if pieces is None else b"".join(piece.meaning for piece in pieces)
            digest.update(repr((region.path, region.language, meaning)).encode("utf-8", "surrogatepass"))
        return digest.hexdigest(), parses

    @cached_property
    def size(self) -> Size:
        """Smaller is better; the regions' sizes add up."""
        sizes = [
            measure(region.text)
            if pieces is None
            else together([piece.part_size for piece in pieces], len(region.text))
            for region, pieces in zip(self.regions, self._pieces, strict=True)
        ]
        return Size(*map(sum, zip(*sizes, strict=True)))

    @cached_property
    def extent(self) -> Extent:
        """What no result may have more of than the program that was given."""
        return Extent(self.size.tokens, sum(lines(region.text) for region in self.regions))

    @cached_property
    def notes(self) -> dict[Hashable, Any]:
        """What others worked out about this Program, and would have to work out again otherwise."""
        return {}

    @cached_property
    def module(self) -> cst.Module:
        """The syntax tree of the script. Edits name its nodes, so it is made once."""
        return cst.parse_module(self.text)

    @cached_property
    def literals(self) -> tuple[Literal, ...]:
        """The string literals that hold CUDA C++."""
        return tuple(literals(self.layout.outer, self.layout))

    @cached_property
    def scopes(self) -> Mapping[cst.CSTNode, Scope]:
        """libcst's scope of each node."""
        return scopes_of(self.module, self.layout)

    @cached_property
    def layout(self) -> Layout:
        """Where each node stands."""
        layout = lay_out(self.module)
        if layout.text != self.text:
            raise UsageError(f"{self.regions[0].path}: libcst does not give this source back as it was written")
        return layout

    @property
    def parents(self) -> Mapping[cst.CSTNode, cst.CSTNode]:
        """The parent of each node but the module."""
        return self.layout.parents

    @property
    def spans(self) -> Mapping[cst.CSTNode, Span]:
        """First and last character offset of each node without own parentheses, decorators, comments and newline."""
        return self.layout.inner


def text_digest(program: Program) -> str:
    """Hash of the exact text of all regions, wherever they lie. (`Program.key` ignores comments and layout.)"""
    texts = "\0".join(region.text for region in program.regions)
    return hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()[:24]


DEEPEST = 100
"""Levels of a syntax tree, of which a pass takes up to eight calls each."""
FLATTER = "Split the chain (of elif, attributes, calls or operators) by a variable or a function, and try again"
_CPP = "CUDA C++ without a Python driver: name the script that builds and launches it (torch.utils.cpp_extension.load)"
_CU = "a CUDA program: only shrink FILE.cu --check, which tells its fault, shrink FILE.cu and shrink replay take one"
_OF_COMPILERS = "no program: of IR and PTX, shrink FILE makes a smaller one, and shrink replay FILE asks other releases"
_NO_SCRIPT = {
    ".cu": _CU,
    **dict.fromkeys((".cuh", ".cpp", ".cc"), _CPP),
    **dict.fromkeys((".ttir", ".ttgir", ".mlir", ".ptx"), _OF_COMPILERS),
}
"""What people have instead of a script, by its suffix."""


def read_program(path: str | Path) -> Program:
    """Read a script as Python itself would (PEP 263), in a normal form that can be written back as UTF-8; a notebook as
    the script that it comes to."""
    path = Path(path)
    if path.suffix in _NO_SCRIPT:
        raise UsageError(f"{path}: {_NO_SCRIPT[path.suffix]}")
    check_name(path)
    text = normalise(read_notebook(path).text) if is_notebook(path) else _source(path)
    try:
        _check_depth(path, ast.parse(text))
    except (RecursionError, MemoryError) as error:
        raise UsageError(f"{path}: its code is nested too deep for Python's parser. {FLATTER}") from error
    except (SyntaxError, ValueError) as error:
        where = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        raise UsageError(f"{path}: not Python ({what}{where})") from error
    program = Program((Region(str(path), text),))
    try:
        _ = program.layout
    except (cst.ParserSyntaxError, cst.CSTValidationError, RecursionError) as error:
        raise UsageError(f"{path}: libcst cannot parse it ({str(error).splitlines()[0]})") from error
    return program


def check_name(path: Path) -> None:
    """Raises UsageError for a name that ends early in a traceback's `File "NAME", line 1`."""
    name = str(path.absolute())
    if '"' in name or len(name.splitlines()) > 1:
        raise UsageError(
            f"{str(path)!r}: a line break or a double quote in a path makes tracebacks unreadable, and with them the "
            "fault. Rename it, or the folder"
        )


def _source(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from error
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return normalise(data.decode(encoding))
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise UsageError(f"{path}: not a Python source file ({error})") from error


def _check_depth(path: Path, tree: ast.Module) -> None:
    """Raises UsageError where passes, which go down a tree by recursion, would come to the end of Python's stack."""
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [inner for node in level for inner in ast.iter_child_nodes(node)]
    deep = next((node for node in level if isinstance(node, ast.stmt | ast.expr)), None)
    if deep is not None:
        raise UsageError(f"{path}: its code is nested more than {DEEPEST} deep, to line {deep.lineno}. {FLATTER}")


_COOKIE = re.compile(r"^([ \t]*#.*?coding[:=][ \t]*)([-\w.]+)")


def normalise(text: str) -> str:
    """No byte order mark, `\\n` alone ends a line, no form feeds before code, a newline at the end, a UTF-8 cookie.

    libcst's offsets and Python's own lines differ in each of these. Form feeds inside a string are content and stay.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if text and not text.endswith("\n"):
        text += "\n"
    head = text.split("\n", 2)[:2]
    for number, line in enumerate(head):
        found = _COOKIE.match(line)
        if found and not _is_utf8(found[2]):
            head[number] = f"{found[1]}utf-8{line[found.end() :]}"
            rest = text.split("\n", 2)[2:]
            text = "\n".join([*head, *rest])
        if found or not re.match(r"[ \t\f]*(#|$)", line):
            break
    return _without_form_feeds(text) if "\f" in text else text


def _is_utf8(encoding: str) -> bool:
    try:
        return codecs.lookup(encoding).name == "utf-8"
    except LookupError:
        return False


_STRETCH = re.compile(
    r"(?P<string>'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|'(?:\\.|[^\\'\n])*'|\"(?:\\.|[^\\\"\n])*\")"
    r"|(?P<margin>^[ \t\f]*\f)|#[^\n]*|\f",
    re.DOTALL | re.MULTILINE,
)


def _without_form_feeds(text: str) -> str:
    """To Python a form feed before the first word of a line starts the column count anew; elsewhere it is a space."""

    def put(match: re.Match[str]) -> str:
        if match["string"]:
            return match.group()
        return "" if match["margin"] else match.group().replace("\f", " ")

    return _STRETCH.sub(put, text)

"""The final layout: what a reduction leaves, set as a person would have written it.

Rendering keeps the original's layout, so what is left of it is full of holes: calls over six lines with one argument,
blank lines in threes, comments on things that are gone, an import in the middle. All of that is set anew from the tree;
no name, number or string changes. Comments that somebody obeys (`# shrink: keep`) stay, and where that cannot be done,
or the result would not be the same program, the text stays as it is.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Sequence

import libcst as cst

from shrinkray_gpu.passes.layout.spacing import is_obeyed, normalise_blanks, obeyed_comments
from shrinkray_gpu.passes.layout.wrapping import WIDER, WIDTH, wrap_lines
from shrinkray_gpu.reduction.size import lines
from shrinkray_gpu.source.tree import dotted_text

_DEFINITION = (cst.FunctionDef, cst.ClassDef)


def layout(text: str, most: int = 0) -> str:
    """The same program, laid out anew. With long lines, or as it is, where it has more lines than `most` otherwise, but
    need not: a program is to look no longer than that which it came from. 0: it may have any number."""
    wide = _laid_out(text, WIDTH)
    if not most or lines(wide) <= most:
        return wide
    wider = (_laid_out(text, width) for width in WIDER)
    return next((each for each in wider if lines(each) <= most), min(text, wide, key=lines))


def _laid_out(text: str, width: int) -> str:
    try:
        module = cst.parse_module(text)
        plain = normalise_blanks(module).visit(_Statements())
        assert isinstance(plain, cst.Module)
        body = _paragraphs(_imports_first(list(plain.body)), outermost=True)
        whole = plain.with_changes(body=body, header=obeyed_comments(module.header), footer=[])
        laid_out = wrap_lines(whole.code, width)
        if _meaning(laid_out) == _meaning(text) and _directives(laid_out) == _directives(text):
            return laid_out
    except (cst.ParserSyntaxError, SyntaxError, tokenize.TokenError, RecursionError):
        pass
    return _tidy(text)


class _Statements(cst.CSTTransformer):
    """One statement a line, in paragraphs."""

    def leave_IndentedBlock(self, original: cst.IndentedBlock, updated: cst.IndentedBlock) -> cst.IndentedBlock:
        return updated.with_changes(body=_paragraphs(_one_a_line(updated.body), outermost=False))

    def leave_SimpleStatementSuite(
        self, original: cst.SimpleStatementSuite, updated: cst.SimpleStatementSuite
    ) -> cst.BaseSuite:
        return cst.IndentedBlock([cst.SimpleStatementLine([small]) for small in updated.body])

    def leave_Module(self, original: cst.Module, updated: cst.Module) -> cst.Module:
        return updated.with_changes(body=_one_a_line(updated.body), default_indent="    ")


def _one_a_line(body: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
    """`a; b` is two lines, `import a, b` too."""
    found: list[cst.BaseStatement] = []
    for entry in body:
        if not isinstance(entry, cst.SimpleStatementLine):
            found.append(entry)
            continue
        parts: list[cst.BaseSmallStatement] = []
        for small in entry.body:
            small = small.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
            if isinstance(small, cst.Import):
                parts.extend(cst.Import([alias.with_changes(comma=cst.MaybeSentinel.DEFAULT)]) for alias in small.names)
            else:
                parts.append(small)
        for part in parts:
            first, last = part is parts[0], part is parts[-1]
            found.append(
                cst.SimpleStatementLine(
                    [part],
                    leading_lines=entry.leading_lines if first else [],
                    trailing_whitespace=entry.trailing_whitespace if last else cst.TrailingWhitespace(),
                )
            )
    return found


def _paragraphs(body: Sequence[cst.BaseStatement], *, outermost: bool) -> list[cst.BaseStatement]:
    """Blank lines: around definitions (two at the top level, one inside), after the imports and the docstring."""
    found: list[cst.BaseStatement] = []
    before: cst.BaseStatement | None = None
    for entry in body:
        blank = 0
        if before is not None:
            if isinstance(entry, _DEFINITION) or isinstance(before, _DEFINITION):
                blank = 2 if outermost else 1
            elif outermost and (_is_import(before) != _is_import(entry) or _group(before) != _group(entry)):
                blank = 1
            elif outermost and before is body[0] and _is_docstring(before):
                blank = 1
        lines = [*[cst.EmptyLine(indent=False)] * blank, *obeyed_comments(getattr(entry, "leading_lines", ()))]
        found.append(entry.with_changes(leading_lines=lines))
        before = entry
    return found


def _imports_first(body: list[cst.BaseStatement]) -> list[cst.BaseStatement]:
    """Imports on top, the standard library's before others. One that comes after a statement that does something (sets
    an environment variable, changes sys.path) stays where it is: the order may matter."""
    top: list[cst.BaseStatement] = []
    rest: list[cst.BaseStatement] = []
    head = [body.pop(0)] if body and _is_docstring(body[0]) else []
    quiet = True
    for entry in body:
        if quiet and _is_import(entry):
            top.append(entry)
        else:
            quiet = quiet and _does_nothing(entry)
            rest.append(entry)
    return [*head, *sorted(top, key=_group), *rest]


def _does_nothing(entry: cst.BaseStatement) -> bool:
    """Definitions without decorators, and names of literals."""
    if isinstance(entry, _DEFINITION):
        return True
    if not isinstance(entry, cst.SimpleStatementLine):
        return False
    return all(
        isinstance(small, cst.Assign)
        and all(isinstance(target.target, cst.Name) for target in small.targets)
        and isinstance(small.value, (cst.Integer, cst.Float, cst.SimpleString, cst.Name, cst.Tuple, cst.List, cst.Dict))
        for small in entry.body
    )


def _is_import(entry: cst.BaseStatement) -> bool:
    return isinstance(entry, cst.SimpleStatementLine) and isinstance(entry.body[0], (cst.Import, cst.ImportFrom))


def _is_docstring(entry: cst.BaseStatement) -> bool:
    return (
        isinstance(entry, cst.SimpleStatementLine)
        and isinstance(entry.body[0], cst.Expr)
        and isinstance(entry.body[0].value, (cst.SimpleString, cst.ConcatenatedString))
    )


def _group(entry: cst.BaseStatement) -> int:
    """0 for `__future__`, 1 for the standard library, 2 for all others; 3 for no import."""
    if not _is_import(entry):
        return 3
    assert isinstance(entry, cst.SimpleStatementLine)
    small = entry.body[0]
    if isinstance(small, cst.ImportFrom):
        first = "" if small.relative else dotted_text(small.module).partition(".")[0]
    else:
        first = dotted_text(cst.ensure_type(small, cst.Import).names[0].name).partition(".")[0]
    return 0 if first == "__future__" else 1 if first in sys.stdlib_module_names else 2


def _directives(text: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT and is_obeyed(token.string)]


def _meaning(text: str) -> tuple[list[str], list[str]]:
    """What must not change: the statements in order, and the set of imports at the top level."""
    tree = ast.parse(text)
    imports: list[str] = []
    rest: list[str] = []
    for entry in ast.walk(tree):
        if isinstance(entry, ast.Import):
            imports.extend(f"{alias.name} as {alias.asname}" for alias in entry.names)
        elif isinstance(entry, ast.ImportFrom):
            imports.append(ast.dump(entry))
    for statement in tree.body:
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            rest.append(ast.dump(_without_imports(statement)))
    return sorted(imports), rest


def _without_imports(statement: ast.stmt) -> ast.AST:
    """`import a, b` inside a function is two statements afterwards."""

    class Split(ast.NodeTransformer):
        def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
            return [ast.Import([alias]) for alias in node.names]

    result: ast.AST = Split().visit(statement)
    return result


def _tidy(text: str) -> str:
    """No layout, only no trailing blanks and no long holes (not inside strings: those of a line that stay closed)."""
    if '"""' in text or "'''" in text:
        return text
    text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    return re.sub(r"\n{4,}", "\n\n\n", text).lstrip("\n")

"""The final layout: what a reduction leaves, set as a person would have written it.

Rendering keeps the original's layout, so what is left of it is full of holes: calls over six lines with one argument,
blank lines in threes, comments on things that are gone, an import in the middle. All of that is set anew from the tree;
no name, number or string changes. Comments that somebody obeys (`# shrink: keep`) stay, and where that cannot be done,
or the result would not be the same program, the text stays as it is.
"""

from __future__ import annotations

import ast
import dataclasses
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Sequence

import libcst as cst

WIDTH = 100
_Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement
_EQUAL = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
_DEFINITION = (cst.FunctionDef, cst.ClassDef)


def layout(text: str) -> str:
    """The same program, laid out anew."""
    try:
        module = cst.parse_module(text)
        plain = module.visit(_Plain())
        assert isinstance(plain, cst.Module)
        body = _paragraphs(_imports_first(list(plain.body)), outermost=True)
        laid_out = _wrapped_lines(plain.with_changes(body=body, header=_kept(module.header), footer=[]).code)
        if _meaning(laid_out) == _meaning(text) and _directives(laid_out) == _directives(text):
            return laid_out
    except (cst.ParserSyntaxError, SyntaxError, tokenize.TokenError, RecursionError):
        pass
    return _tidy(text)


class _Plain(cst.CSTTransformer):
    """Whitespace, commas and quotes as libcst itself would write them; one statement a line."""

    def __init__(self) -> None:
        super().__init__()
        self._f_strings = 0

    def on_leave(self, original: cst.CSTNode, updated: object) -> object:  # type: ignore[override]
        updated = super().on_leave(original, updated)  # type: ignore[type-var]
        if not isinstance(updated, cst.CSTNode) or isinstance(updated, (cst.BaseParenthesizableWhitespace, cst.Module)):
            return updated
        fresh: dict[str, object] = {}
        for field in dataclasses.fields(updated):
            if field.name.startswith("whitespace") or field.name in ("comma", "semicolon", "equal", "indent"):
                if field.default is not dataclasses.MISSING:
                    fresh[field.name] = field.default
                elif field.default_factory is not dataclasses.MISSING:
                    fresh[field.name] = field.default_factory()
            elif field.name in ("leading_lines", "lines_after_decorators"):
                fresh[field.name] = _kept(getattr(updated, field.name))
            elif field.name == "footer":
                fresh[field.name] = _kept(getattr(updated, field.name))
            elif field.name in ("trailing_whitespace", "header"):
                fresh[field.name] = _trailing(getattr(updated, field.name))
        if isinstance(updated, (cst.With, cst.ImportFrom, cst.ClassDef)):
            fresh.update({name: cst.MaybeSentinel.DEFAULT if not isinstance(updated, cst.ImportFrom) else None
                          for name in ("lpar", "rpar")})  # fmt: skip
        if isinstance(updated, cst.Arg) and updated.keyword is not None:
            fresh["equal"] = _EQUAL
        if isinstance(updated, cst.Param) and updated.default is not None and updated.annotation is None:
            fresh["equal"] = _EQUAL
        return updated.with_changes(**fresh)

    def leave_IndentedBlock(self, original: cst.IndentedBlock, updated: cst.IndentedBlock) -> cst.IndentedBlock:
        return updated.with_changes(body=_paragraphs(_one_a_line(updated.body), outermost=False))

    def leave_SimpleStatementSuite(
        self, original: cst.SimpleStatementSuite, updated: cst.SimpleStatementSuite
    ) -> cst.BaseSuite:
        return cst.IndentedBlock([cst.SimpleStatementLine([small]) for small in updated.body])

    def leave_Module(self, original: cst.Module, updated: cst.Module) -> cst.Module:
        return updated.with_changes(body=_one_a_line(updated.body), default_indent="    ")

    def visit_FormattedString(self, node: cst.FormattedString) -> None:
        self._f_strings += 1

    def leave_SimpleString(self, original: cst.SimpleString, updated: cst.SimpleString) -> cst.SimpleString:
        inside = updated.raw_value
        if self._f_strings:
            return updated  # the outer quotes may not come again within before Python 3.12
        if updated.quote == "'" and '"' not in inside and "\\" not in inside:
            return updated.with_changes(value=f'{updated.prefix}"{inside}"')
        return updated

    def leave_FormattedString(self, original: cst.FormattedString, updated: cst.FormattedString) -> cst.FormattedString:
        self._f_strings -= 1
        code = cst.Module([]).code_for_node(original)
        if updated.start.endswith("'") and updated.end == "'" and '"' not in code and "\\" not in code:
            return updated.with_changes(start=f'{updated.start[:-1]}"', end='"')
        return updated

    def leave_Assign(self, original: cst.Assign, updated: cst.Assign) -> cst.Assign:
        return updated.with_changes(value=_bare(updated.value))

    def leave_AugAssign(self, original: cst.AugAssign, updated: cst.AugAssign) -> cst.AugAssign:
        return updated.with_changes(value=_bare(updated.value))

    def leave_Return(self, original: cst.Return, updated: cst.Return) -> cst.Return:
        return updated if updated.value is None else updated.with_changes(value=_bare(updated.value))

    def leave_Expr(self, original: cst.Expr, updated: cst.Expr) -> cst.Expr:
        return updated.with_changes(value=_bare(updated.value))

    def leave_Arg(self, original: cst.Arg, updated: cst.Arg) -> cst.Arg:
        return updated.with_changes(value=_bare(updated.value))

    def leave_If(self, original: cst.If, updated: cst.If) -> cst.If:
        return updated.with_changes(test=_bare(updated.test))


def _bare(value: cst.BaseExpression) -> cst.BaseExpression:
    """Without parentheses that only held lines together."""
    if isinstance(value, (cst.Tuple, cst.GeneratorExp, cst.NamedExpr, cst.Yield, cst.Await)) or not value.lpar:
        return value
    return value.with_changes(lpar=[], rpar=[])


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
        kept = _kept(getattr(entry, "leading_lines", ()))
        lines = [*[cst.EmptyLine(indent=False)] * blank, *kept]
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
    name: cst.BaseExpression | None = None
    if isinstance(small, cst.Import):
        name = small.names[0].name
    elif isinstance(small, cst.ImportFrom):
        if small.relative:
            return 2
        name = small.module
    while isinstance(name, cst.Attribute):
        name = name.value
    first = name.value if isinstance(name, cst.Name) else ""
    return 0 if first == "__future__" else 1 if first in sys.stdlib_module_names else 2


def _kept(lines: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
    return [line for line in lines if line.comment is not None and _obeyed(line.comment.value)]


def _trailing(space: object) -> object:
    if not isinstance(space, cst.TrailingWhitespace):
        return space
    if space.comment is not None and _obeyed(space.comment.value):
        return cst.TrailingWhitespace(cst.SimpleWhitespace("  "), space.comment)
    return cst.TrailingWhitespace()


def _obeyed(comment: str) -> bool:
    return "shrink:" in comment or comment.startswith("#!")


def _directives(text: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT and _obeyed(token.string)]


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


# -- long lines ----------------------------------------------------------------------------------------------------


def _wrapped_lines(text: str) -> str:
    """Break logical lines that are too long, at their last bracket."""
    lines = text.split("\n")
    alone = _alone(text)
    return "\n".join(
        "\n".join(_wrapped(line)) if len(line) > WIDTH and number in alone else line
        for number, line in enumerate(lines, 1)
    )


def _alone(text: str) -> set[int]:
    """Numbers of the lines that are one logical line each, without a comment."""
    found: set[int] = set()
    first = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            continue
        if token.type == tokenize.COMMENT:
            first = -1
        elif token.type == tokenize.NEWLINE:
            if first == token.start[0]:
                found.add(first)
            first = 0
        elif first == 0:
            first = token.start[0]
    return found


def _wrapped(line: str) -> Iterator[str]:
    split = _last_bracket(line)
    if split is None:
        yield line
        return
    opening, closing, commas = split
    indent = line[: len(line) - len(line.lstrip())]
    inner = line[opening + 1 : closing].strip()
    yield line[: opening + 1]
    parts = [line[a + 1 : b].strip() for a, b in zip([opening, *commas], [*commas, closing])]
    parts = [part for part in parts if part]
    if len(f"{indent}    {inner}") <= WIDTH or not commas:
        yield from _if_long(f"{indent}    {inner}")
    else:
        for row in _filled(parts, WIDTH - len(indent) - 4):
            yield from _if_long(f"{indent}    {row}")
    yield f"{indent}{line[closing:]}"


def _filled(parts: Sequence[str], width: int) -> Iterator[str]:
    """As many parts a row as fit; one a row would make a short program look long."""
    row = ""
    for part in parts:
        if row and len(f"{row} {part},") > width:
            yield row
            row = ""
        row += f" {part}," if row else f"{part},"
    if row:
        yield row


def _if_long(line: str) -> Iterator[str]:
    if len(line) <= WIDTH:
        yield line
    else:
        yield from _wrapped(line)


def _last_bracket(line: str) -> tuple[int, int, list[int]] | None:
    """The last bracket pair of a line that nothing encloses and that holds something; with its commas, if it is a list
    (in a comprehension they mean something else)."""
    stack: list[int] = []
    commas: dict[int, list[int]] = {}
    found: tuple[int, int] | None = None
    comprehensions: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(line.strip() + "\n").readline):
            at = token.start[1] + len(line) - len(line.lstrip())
            if token.string in ("(", "[", "{") and token.type == tokenize.OP:
                stack.append(at)
            elif token.string in (")", "]", "}") and token.type == tokenize.OP and stack:
                opening = stack.pop()
                if not stack and at - opening > 8:
                    found = (opening, at)
            elif stack and token.string == ",":
                commas.setdefault(stack[-1], []).append(at)
            elif stack and token.string in ("for", "lambda") and token.type == tokenize.NAME:
                comprehensions.add(stack[-1])
    except tokenize.TokenError:
        pass  # the head of a block, `def f(...):`, ends too soon for the tokenizer
    except IndentationError:
        pass
    if found is None:
        return None
    return (*found, [] if found[0] in comprehensions else commas.get(found[0], []))

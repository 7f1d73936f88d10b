"""Blanks, commas, quotes and parentheses as libcst itself would write them, which is much as a person would.

Two walks: with the old blanks still there, `return(x)` could not lose its parentheses. What stands inside an f-string
stays as it is, blanks and all: `f"{x = }"` prints them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import libcst as cst

_EQUAL = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
_ATOM = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.SimpleString, cst.List, cst.Dict, cst.Set)
_WHOLE: dict[type, str] = {
    **dict.fromkeys((cst.Assign, cst.AugAssign, cst.AnnAssign, cst.Return, cst.Expr, cst.Arg, cst.Index), "value"),
    **dict.fromkeys((cst.If, cst.While, cst.Assert), "test"),
    cst.For: "iter",
}
"""Where an expression stands alone, between other signs than operators."""


def normalise_blanks(module: cst.Module) -> cst.Module:
    """The same module with fresh blanks; the order of its statements and the blank lines are another's concern."""
    for walk in (_Blanks(), _Bare()):
        fresh = module.visit(walk)
        assert isinstance(fresh, cst.Module)
        module = fresh
    return module


class _Outside(cst.CSTTransformer):
    """Leaves f-strings alone."""

    def visit_FormattedString(self, node: cst.FormattedString) -> bool:
        return False

    def visit_TemplatedString(self, node: cst.CSTNode) -> bool:
        return False


class _Blanks(_Outside):
    """Whitespace and commas."""

    def on_leave(self, original: cst.CSTNode, updated: object) -> object:  # type: ignore[override]
        updated = super().on_leave(original, updated)  # type: ignore[type-var]
        if not isinstance(updated, cst.CSTNode) or isinstance(updated, (cst.BaseParenthesizableWhitespace, cst.Module)):
            return updated
        fresh: dict[str, object] = {}
        for field in dataclasses.fields(updated):
            if field.name.startswith("whitespace") or field.name in ("comma", "semicolon", "equal", "indent", "colon"):
                if field.default is not dataclasses.MISSING:
                    fresh[field.name] = field.default
                elif field.default_factory is not dataclasses.MISSING:
                    fresh[field.name] = field.default_factory()
            elif field.name in ("leading_lines", "lines_after_decorators", "footer"):
                fresh[field.name] = obeyed_comments(getattr(updated, field.name))
            elif field.name in ("trailing_whitespace", "header"):
                fresh[field.name] = _trailing(getattr(updated, field.name))
        if isinstance(updated, (cst.With, cst.ClassDef)):
            fresh.update(lpar=cst.MaybeSentinel.DEFAULT, rpar=cst.MaybeSentinel.DEFAULT)
        elif isinstance(updated, cst.ImportFrom):
            fresh.update(lpar=None, rpar=None)
        elif isinstance(updated, cst.Arg) and updated.keyword is not None:
            fresh["equal"] = _EQUAL
        elif isinstance(updated, cst.Param) and updated.default is not None and updated.annotation is None:
            fresh["equal"] = _EQUAL
        elif isinstance(updated, cst.ExceptHandler) and updated.type is None:
            fresh["whitespace_after_except"] = cst.SimpleWhitespace("")
        elif isinstance(updated, cst.ConcatenatedString):
            fresh["whitespace_between"] = cst.SimpleWhitespace(" ")
        return updated.with_changes(**fresh)


class _Bare(_Outside):
    """Double quotes, and no parentheses that hold nothing together."""

    def on_leave(self, original: cst.CSTNode, updated: object) -> object:  # type: ignore[override]
        updated = super().on_leave(original, updated)  # type: ignore[type-var]
        if isinstance(updated, _ATOM):
            return _bare(updated)
        part = _WHOLE.get(type(updated))
        held = getattr(updated, part) if part is not None else None
        if isinstance(updated, cst.CSTNode) and part is not None and held is not None:
            return updated.with_changes(**{part: _bare(held)})
        return updated

    def leave_SimpleString(self, original: cst.SimpleString, updated: cst.SimpleString) -> cst.SimpleString:
        inside = updated.raw_value
        if updated.quote == "'" and '"' not in inside and "\\" not in inside:
            return updated.with_changes(value=f'{updated.prefix}"{inside}"')
        return updated

    def leave_FormattedString(self, original: cst.FormattedString, updated: cst.FormattedString) -> cst.FormattedString:
        code = cst.Module([]).code_for_node(original)
        if updated.start.endswith("'") and updated.end == "'" and '"' not in code and "\\" not in code:
            return updated.with_changes(start=f'{updated.start[:-1]}"', end='"')
        return updated


def _bare(value: cst.BaseExpression) -> cst.BaseExpression:
    """Without parentheses around the whole."""
    if isinstance(value, (cst.Tuple, cst.GeneratorExp, cst.NamedExpr, cst.Yield, cst.Await)) or not value.lpar:
        return value
    return value.with_changes(lpar=[], rpar=[])


def obeyed_comments(lines: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
    return [line for line in lines if line.comment is not None and is_obeyed(line.comment.value)]


def _trailing(space: object) -> object:
    if not isinstance(space, cst.TrailingWhitespace):
        return space
    if space.comment is not None and is_obeyed(space.comment.value):
        return cst.TrailingWhitespace(cst.SimpleWhitespace("  "), space.comment)
    return cst.TrailingWhitespace()


def is_obeyed(comment: str) -> bool:
    return "shrink:" in comment or comment.startswith("#!")

"""What of a capsule's record is code, and may be: the bodies of kernels, which run on a device or while one compiles.

Everything else that a script of it would execute on the host is a literal, an import of torch, Triton and a few modules
of Python's own, or a type made of such.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from shrinkray_gpu.runner.inside.capture.live_values import LIBRARIES

_IMPORTED = LIBRARIES | {"collections"}
_DECORATORS = frozenset({"triton.jit", "triton.constexpr_function", "gluon.jit"})
_CLASS_DECORATORS = frozenset({"dataclass", "dataclasses.dataclass"})
_OURS = frozenset({"tl", "triton", "torch", "gl", "gluon"})
"""Names that the script imports, or an import of Gluon's."""
_TYPES = frozenset({"int", "float", "bool", "str", "tuple"})
_MAKERS = frozenset({"tl.constexpr", "float", "namedtuple"})
_LAYOUT = re.compile(r"gl\.\w+Layout")
_SHAPES = (ast.Constant, ast.Tuple, ast.List, ast.UnaryOp, ast.unaryop, ast.expr_context, ast.keyword)
"""What literals are made of."""


def foreign(record: Mapping[str, Any]) -> str:
    """What of a record is code that no kernel needs; empty if nothing is."""
    if "source" in record:
        return "it was compiled and not launched"
    code = _Code(record["definitions"])
    for definition in record["definitions"]:
        if not code.is_definition(definition):
            return f"its definition of {definition['name']} is none that a kernel needs"
    for argument in (*record["arguments"], *record["options"]):
        if not all(code.is_literal(ast.parse(text, mode="eval").body) for text in _texts(argument)):
            return f"its argument {argument.get('name', '')} is no literal"
        if argument["kind"] == "tuple" and argument.get("named", "") not in ("", *code.types):
            return f"the type of its argument {argument.get('name', '')} is none of its own"
    return ""


def _texts(argument: Mapping[str, Any]) -> Iterator[str]:
    """The source texts in an argument."""
    if argument["kind"] != "unknown":
        yield from (argument[key] for key in ("text", "layout") if key in argument)
    for item in argument.get("items", ()):
        yield from _texts(item)


class _Code:
    """The definitions of one record: which names they make, and which of these may be called."""

    def __init__(self, definitions: list[Mapping[str, Any]]) -> None:
        self.names = _OURS | _TYPES | {definition["name"] for definition in definitions}
        self.types = {
            definition["name"]
            for definition in definitions
            if definition["text"].startswith(("class ", "@dataclass")) or "= namedtuple(" in definition["text"]
        }

    def is_definition(self, definition: Mapping[str, Any]) -> bool:
        body = ast.parse(definition["text"]).body
        if len(body) != 1:
            return False
        statement, name, kind = body[0], definition["name"], definition["kind"]
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            return kind == "import" and _is_import(statement, name)
        if kind == "import" or name in _OURS | _TYPES | _MAKERS:
            return False
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
            alone = len(statement.targets) == 1 and isinstance(target, ast.Name) and target.id == name
            return alone and self.is_literal(statement.value)
        if isinstance(statement, ast.FunctionDef):
            return statement.name == name and self._is_function(statement)
        return isinstance(statement, ast.ClassDef) and statement.name == name and self._is_class(statement)

    def _is_function(self, function: ast.FunctionDef) -> bool:
        """Whether nothing but a kernel, or a function that nobody calls here, is made where it stands."""
        arguments = function.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
        notes = [each.annotation for each in every if each is not None]
        given = [*arguments.defaults, *arguments.kw_defaults, function.returns, *notes]
        return self._are_decorators(function.decorator_list, _DECORATORS) and all(
            each is None or self.is_literal(each) for each in given
        )

    def _is_class(self, made: ast.ClassDef) -> bool:
        """An enum, or a dataclass, without methods: some of these run at once."""
        bases = all(isinstance(each, (ast.Name, ast.Attribute)) and self.is_literal(each) for each in made.bases)
        plain = all(self._is_field(each) for each in made.body)
        return bases and plain and not made.keywords and self._are_decorators(made.decorator_list, _CLASS_DECORATORS)

    def _is_field(self, statement: ast.stmt) -> bool:
        if isinstance(statement, ast.Assign):
            return self.is_literal(statement.value) and all(isinstance(each, ast.Name) for each in statement.targets)
        if isinstance(statement, ast.AnnAssign):
            parts = (statement.annotation, statement.value)
            return all(each is None or self.is_literal(each) for each in parts)
        words = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        return words or isinstance(statement, ast.Pass)

    def _are_decorators(self, decorators: list[ast.expr], known: frozenset[str]) -> bool:
        for decorator in decorators:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if ast.unparse(called) not in known:
                return False
            if isinstance(decorator, ast.Call) and (
                decorator.args or not all(self.is_literal(each.value) for each in decorator.keywords)
            ):
                return False
        return True

    def is_literal(self, value: ast.expr) -> bool:
        """Whether it is a literal, a name of the record's or of torch's and Triton's, or a type made of such."""
        return all(self._is_part(node) for node in ast.walk(value))

    def _is_part(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self.names or node.id in _MAKERS
        if isinstance(node, ast.Attribute):
            return not node.attr.startswith("_") and isinstance(node.value, (ast.Name, ast.Attribute))
        if isinstance(node, ast.Call):
            maker = ast.unparse(node.func)
            return maker in _MAKERS | self.types or _LAYOUT.fullmatch(maker) is not None
        return isinstance(node, _SHAPES)


def _is_import(statement: ast.Import | ast.ImportFrom, name: str) -> bool:
    alias = statement.names[0]
    module = (statement.module if isinstance(statement, ast.ImportFrom) else alias.name) or ""
    bound = alias.asname or alias.name.partition(".")[0]
    known = module.partition(".")[0] in _IMPORTED and not getattr(statement, "level", 0)
    # No other module, of those that these import, under a name that is called.
    return known and len(statement.names) == 1 and bound == name and (name not in _MAKERS or alias.name == name)

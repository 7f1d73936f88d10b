"""What of a capsule's record is code, and may be: the bodies of kernels and of functions that they call.

Everything else that a script of it would execute on the host is a literal, an import of torch, Triton and a few modules
of Python's own, or a type made of such. The bodies stay code: while it compiles a kernel, Triton calls plain functions
on the host. So this keeps out what no capsule of the hook's has, and makes no capsule of a stranger harmless.
"""

from __future__ import annotations

import ast
import builtins
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
_IMPORTS = {
    "torch": ("import torch",),
    "triton": ("import triton",),
    "tl": ("import triton.language as tl", "from triton import language as tl"),
    "gl": ("from triton.experimental.gluon import language as gl",),
    "gluon": ("from triton.experimental import gluon",),
    "namedtuple": ("from collections import namedtuple",),
    "dataclass": ("from dataclasses import dataclass",),
    "dataclasses": ("import dataclasses",),
}
"""Names that decorate or make something, and the only imports that may bind them."""
_RESERVED = _OURS | _TYPES | _IMPORTS.keys() | {"TensorDescriptor", "Path", "range"}
"""Names that no definition may have: a script calls them itself."""
_LAYOUT = re.compile(r"gl\.\w+Layout")
_SHAPES = (ast.Constant, ast.Tuple, ast.List, ast.UnaryOp, ast.unaryop, ast.expr_context, ast.keyword)
"""What literals are made of."""


def foreign(record: Mapping[str, Any]) -> str:
    """What of a record is code that no kernel needs; empty if nothing is."""
    if "source" in record:
        return "it was compiled and not launched"
    code = _Code(record["definitions"])
    for definition in record["definitions"]:
        if not code.accepts(definition):
            return f"its definition of {definition['name']} is none that a kernel needs"
    for argument in (*record["arguments"], *record["options"]):
        if not all(code.is_literal(ast.parse(text, mode="eval").body) for text in _texts(argument)):
            return f"its argument {argument.get('name', '')} is no literal"
        if not code.types.issuperset(_named(argument)):
            return f"the type of its argument {argument.get('name', '')} is none of its own"
    return ""


def _texts(argument: Mapping[str, Any]) -> Iterator[str]:
    """The source texts in an argument."""
    if argument["kind"] != "unknown":
        yield from (argument[key] for key in ("text", "layout") if key in argument)
    for item in argument.get("items", ()):
        yield from _texts(item)


def _named(argument: Mapping[str, Any]) -> Iterator[str]:
    """The types that an argument's tuples are made by."""
    if argument.get("named"):
        yield argument["named"]
    for item in argument.get("items", ()):
        yield from _named(item)


class _Code:
    """The definitions of one record: which names they make, and which of these may be called."""

    def __init__(self, definitions: list[Mapping[str, Any]]) -> None:
        self.names = _OURS | _TYPES | {definition["name"] for definition in definitions}
        self.types: set[str] = set()
        """Those that were accepted."""
        self._seen: set[str] = set()
        self._bases = set(_TYPES)
        self._functions: set[str] = set()

    def accepts(self, definition: Mapping[str, Any]) -> bool:
        """Asked of each in turn, since it may call the types before it only."""
        body = ast.parse(definition["text"]).body
        if len(body) != 1:
            return False
        statement, name = body[0], definition["name"]
        if name in self._seen or _is_special(name) or getattr(statement, "type_params", []):
            return False
        self._seen.add(name)
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            if _of_module(statement, "enum") or ast.unparse(statement) == "from typing import NamedTuple":
                self._bases.add(name)
            return definition["kind"] == "import" and _is_import(statement, name)
        if definition["kind"] == "import" or name in _RESERVED:
            return False
        if isinstance(statement, ast.Assign):
            return self._is_constant(statement, name)
        if isinstance(statement, ast.FunctionDef):
            self._functions.add(name)
            return statement.name == name and self._is_function(statement)
        made = isinstance(statement, ast.ClassDef) and statement.name == name and self._is_class(statement)
        return made and self._makes_type(name)

    def _is_constant(self, statement: ast.Assign, name: str) -> bool:
        target, value = statement.targets[0], statement.value
        if not self._is_plain(value):
            self._functions.add(name)
        alone = len(statement.targets) == 1 and isinstance(target, ast.Name) and target.id == name
        makes = isinstance(value, ast.Call) and ast.unparse(value.func) == "namedtuple"
        return alone and self.is_literal(value) and (not makes or self._makes_type(name))

    def _makes_type(self, name: str) -> bool:
        """Not by the name of a builtin: constants stand before classes in a script, and would call that."""
        self.types.add(name)
        self._bases.add(name)
        return not hasattr(builtins, name)

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
        bases = all(self._is_base(each) for each in made.bases)
        plain = all(self._is_field(each) for each in made.body)
        return bases and plain and not made.keywords and self._are_decorators(made.decorator_list, _CLASS_DECORATORS)

    def _is_base(self, base: ast.expr) -> bool:
        """A type of the record's, a plain one, or one of the module enum's."""
        parent = base.value if isinstance(base, ast.Attribute) else base
        return isinstance(parent, ast.Name) and parent.id in self._bases and self.is_literal(base)

    def _is_field(self, statement: ast.stmt) -> bool:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = all(isinstance(each, ast.Name) and not _is_special(each.id) for each in targets)
            annotation = getattr(statement, "annotation", None)
            parts = all(each is None or self.is_literal(each) for each in (annotation, statement.value))
            return names and parts and (statement.value is None or self._is_plain(statement.value))
        words = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        return words or isinstance(statement, ast.Pass)

    def _are_decorators(self, decorators: list[ast.expr], known: frozenset[str]) -> bool:
        for decorator in decorators:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if ast.unparse(called) not in known:
                return False
            if isinstance(decorator, ast.Call) and (
                decorator.args or any(not self._is_bare(each.value) for each in decorator.keywords)
            ):
                return False
        return True

    def _is_bare(self, value: ast.expr) -> bool:
        """Whether it is a literal without any name: what a decorator is given may be called at once."""
        return all(isinstance(node, _SHAPES) for node in ast.walk(value))

    def _is_plain(self, value: ast.expr) -> bool:
        """Whether it names no function of the record's."""
        return not any(isinstance(node, ast.Name) and node.id in self._functions for node in ast.walk(value))

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


def _is_special(name: str) -> bool:
    """Whether Python, or an enum, looks for this name by itself: `__init__`, `_missing_`."""
    return name.startswith("_") and name.endswith("_") and len(name) > 2


def _of_module(statement: ast.Import | ast.ImportFrom, module: str) -> bool:
    """Whether it is `import MODULE`, or an import of a name from there."""
    found = statement.module if isinstance(statement, ast.ImportFrom) else ast.unparse(statement.names[0])
    return found == module and not getattr(statement, "level", 0)


def _is_import(statement: ast.Import | ast.ImportFrom, name: str) -> bool:
    alias = statement.names[0]
    module = (statement.module if isinstance(statement, ast.ImportFrom) else alias.name) or ""
    bound = alias.asname or alias.name.partition(".")[0]
    known = module.partition(".")[0] in _IMPORTED and not getattr(statement, "level", 0)
    if not known or len(statement.names) != 1 or bound != name:
        return False
    return ast.unparse(statement) in _IMPORTS.get(name, ()) if name in _RESERVED else True

"""Whether the program states the type of a tensor where it makes it, so that a lifted launch states it as well.

`torch.zeros(8, dtype=torch.float16)` does. `torch.zeros_like(x)` takes it from another tensor, a sum from its operands,
and a tensor that a module holds has whatever `.half()` left it. There the mistake may be, and in a lifted launch only
the type is left. What cannot be followed is not stated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shrinkray_gpu.start.held_functions import Scope
from shrinkray_gpu.start.host_code import HostCode
from shrinkray_gpu.start.statements import by_name, names, parameters, with_default

_TYPE = re.compile(r"(?:bfloat|float|int|uint|complex)\d+\w*|bool|half|double|float|int|long|short")
_MADE = frozenset({"zeros", "ones", "empty", "full", "rand", "randn", "arange", "linspace", "logspace", "eye"})
"""Functions of torch whose tensors have the default type, or one that their numbers tell."""
_CAST = frozenset({"half", "float", "double", "bfloat16", "int", "long", "short"})
_SAME = frozenset(
    {"cuda", "cpu", "contiguous", "view", "reshape", "expand", "clone", "detach", "t", "transpose", "permute"}
    | {"unsqueeze", "squeeze", "flatten", "requires_grad_", "narrow", "uniform_", "normal_", "fill_", "zero_", "repeat"}
)
"""Methods whose result has the type of their tensor."""
_DEFAULT = frozenset({"set_default_dtype", "set_default_tensor_type"})


class StatedTypes:
    """Asks a program's host code."""

    def __init__(self, tree: ast.Module, code: HostCode) -> None:
        self._code = code
        self._default_changes = not _DEFAULT.isdisjoint(names(tree))
        self._asked: set[tuple[ast.AST, bool]] = set()

    def tensor(self, value: ast.expr, scope: Scope) -> bool:
        """Whether the type of a tensor is stated wherever it is made."""
        self._asked.clear()  # what one question took for granted is no answer to the next
        return self._tensor(value, scope)

    def _tensor(self, value: ast.expr, scope: Scope) -> bool:
        if isinstance(value, ast.Call):
            return self._call(value, scope)
        if isinstance(value, (ast.Subscript, ast.Starred)):
            return self._tensor(value.value, scope)
        if isinstance(value, ast.IfExp):
            return self._tensor(value.body, scope) and self._tensor(value.orelse, scope)
        if isinstance(value, (ast.GeneratorExp, ast.ListComp)):
            return self._tensor(value.elt, scope)
        if isinstance(value, ast.BinOp):
            parts = [each for each in (value.left, value.right) if not isinstance(each, ast.Constant)]
            return len(parts) == 1 and self._tensor(parts[0], scope)
        if isinstance(value, ast.Attribute) and value.attr in ("T", "data", "mT"):
            return self._tensor(value.value, scope)
        return self._everywhere(value, scope, tensor=True)

    def _call(self, call: ast.Call, scope: Scope) -> bool:
        named = next((each.value for each in call.keywords if each.arg == "dtype"), None)
        if named is not None:  # a function of the program's own may do with it what it likes
            return not self._code.callees(call) and self._type(named, scope)
        method = call.func.attr if isinstance(call.func, ast.Attribute) else next(names(call.func), "")
        if not isinstance(call.func, ast.Attribute):
            return method == "Parameter" and bool(call.args) and self._tensor(call.args[0], scope)
        receiver = call.func.value
        if isinstance(receiver, ast.Name) and receiver.id == "torch":
            return method in _MADE and not self._default_changes
        if method == "Parameter":
            return bool(call.args) and self._tensor(call.args[0], scope)
        if method == "to":
            device = all(isinstance(each, ast.Constant) or _is_device(each) for each in call.args)
            return self._tensor(receiver, scope) if device else self._type(call.args[-1], scope)
        return method in _CAST or method in _SAME and self._tensor(receiver, scope)

    def _type(self, value: ast.expr, scope: Scope) -> bool:
        """Whether an expression says a type, or takes it from what the user asks for. `x.dtype` is what another tensor
        has, though an object of the program's may have a field of that name, too."""
        if isinstance(value, ast.Attribute) and value.attr == "dtype":
            return False
        if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.value.id == "torch":
            return _TYPE.fullmatch(value.attr) is not None
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "getattr":
            return bool(value.args) and "torch" in names(value.args[0])
        return self._everywhere(value, scope, tensor=False)

    def _everywhere(self, value: ast.expr, scope: Scope, *, tensor: bool) -> bool:
        """Whether it is stated in all that a variable may be given; one that is asked for on the way to itself is."""
        if not isinstance(value, (ast.Name, ast.Attribute)):
            return False
        if (value, tensor) in self._asked:
            return True
        self._asked.add((value, tensor))
        found = list(self._given(value, scope))
        ask = self._tensor if tensor else self._type
        return bool(found) and all(each is not None and ask(each, its) for each, its in found)

    def _given(self, value: ast.Name | ast.Attribute, scope: Scope) -> Iterator[tuple[ast.expr | None, Scope]]:
        """What a variable is given, each with the function where that stands; None for what nobody sees."""
        code = self._code
        bound = next(iter(code.bound(value, scope)))
        for statement in code.definitions.get(bound, ()):
            if isinstance(statement, (ast.Assign, ast.AnnAssign)):
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                for target in targets:
                    yield _part(target, statement.value, bound[1]), code.scope[statement]
            elif not isinstance(statement, ast.Expr):
                yield None, None
        function = bound[0]
        if isinstance(function, ast.FunctionDef) and bound[1] in parameters(function):
            calls = [(statement, call) for statement, call in code.calls if function in code.callees(call)]
            if not calls or bound[1] in with_default(function):
                yield None, None
            for statement, call in calls:
                passed = dict(by_name(call, code.taken(function)))
                yield passed.get(bound[1]), code.scope[statement]


def _is_device(value: ast.expr) -> bool:
    said = ast.unparse(value)
    return "device" in said and "dtype" not in said


def _part(target: ast.expr, value: ast.expr | None, name: str) -> ast.expr | None:
    """What of an assigned value goes to a variable."""
    if not isinstance(target, (ast.Tuple, ast.List)):
        return value
    if isinstance(value, (ast.GeneratorExp, ast.ListComp)):
        return value.elt
    if not isinstance(value, (ast.Tuple, ast.List)) or len(value.elts) != len(target.elts):
        return None
    pairs = zip(target.elts, value.elts)
    return next((other for one, other in pairs if name in (getattr(one, "id", ""), getattr(one, "attr", ""))), None)

"""Which function a call means, and what must hold of it before its body may stand in the place of the call.

Inlined are functions whose control flow is a straight line to the last statement (or which are called in a `return`,
so that their own returns may stay), which are bound once, do not call themselves, and do not look at their own frame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import libcst as cst
from libcst.metadata import ClassScope, FunctionScope, Scope

from shrinkray_gpu.passes.inlining.moved import lines_of
from shrinkray_gpu.source.calls import decorator_name
from shrinkray_gpu.source.kernels import makes_kernel
from shrinkray_gpu.source.names_read import REFLECTION, Names, is_target, own, walk
from shrinkray_gpu.source.tree import dotted_text

GRAD_MODES = frozenset({"torch.no_grad", "torch.inference_mode", "torch.enable_grad"})
"""Decorators that become a `with` around the body. Of an expression they may be lost: they switch bookkeeping for a
backward pass."""
BINDERS = frozenset({"staticmethod", "classmethod"})


@dataclass(frozen=True)
class Callee:
    """A function as it will be inlined."""

    node: cst.FunctionDef | cst.Lambda
    scope: Scope
    statements: tuple[cst.BaseStatement, ...]
    """The body without docstring and without the last `return`."""
    value: cst.BaseExpression | None
    """What the last `return` returns."""
    returns_early: bool
    jit: bool
    nodes: frozenset[cst.CSTNode]
    """All nodes of statements and value."""
    receiver: cst.BaseExpression | None = None
    """What the first parameter is bound to, where the call does not say so: the object of a method."""
    grad_mode: cst.Call | None = None
    """The context that it decorates itself with: `torch.no_grad()`."""

    @property
    def params(self) -> cst.Parameters:
        return self.node.params

    @property
    def name(self) -> str:
        return self.node.name.value if isinstance(self.node, cst.FunctionDef) else "lambda"


def callee_of(
    node: cst.FunctionDef | cst.Lambda,
    names: Names,
    *,
    without: Callable[[cst.BaseStatement], bool] = lambda _: False,
    decorated: frozenset[str] = GRAD_MODES | BINDERS,
) -> Callee | None:
    """The function as a Callee, if its body can move; statements that are `without` are left behind. `decorated`: by
    what it may be, beside what makes it a kernel."""
    if isinstance(node, cst.Lambda):
        inside = names.walk(node.body)
        if any(isinstance(each, cst.Yield | cst.Await | cst.NamedExpr) for each in inside) or reflects(inside):
            return None
        return Callee(
            node, names.scope(node.body), (), node.body, returns_early=False, jit=False, nodes=frozenset(inside)
        )
    makers = [each for each in node.decorators if makes_kernel(names.program, each)]
    others = [decorator_name(each) for each in node.decorators if each not in makers]
    if node.asynchronous or any(each not in decorated for each in others):
        return None
    statements, value = split_tail([each for each in without_docstring(lines_of(node.body)) if not without(each)])
    inside = [each for part in (*statements, value) if part is not None for each in names.walk(part)]
    if any(unmovable(each) for each in inside) or reflects(inside):
        return None
    if any(isinstance(each, cst.Yield | cst.Await) for each in own(node.body)):
        return None
    early = any(isinstance(each, cst.Return) for statement in statements for each in own_of(statement))
    scope = names.scopes.get(node.body)
    if not isinstance(scope, FunctionScope) or any(
        isinstance(each, cst.Name) and names.means(each, node) for each in inside
    ):
        return None
    modes = [each.decorator for each in node.decorators if decorator_name(each) in GRAD_MODES]
    calls = [each if isinstance(each, cst.Call) else cst.Call(each) for each in modes]
    mode = calls[0] if calls else None
    return Callee(node, scope, tuple(statements), value, early, bool(makers), frozenset(inside), grad_mode=mode)


def unmovable(node: cst.CSTNode) -> bool:
    match node:
        case cst.Nonlocal() | cst.Global() | cst.Match() | cst.ClassDef():
            return True
        case cst.FormattedStringExpression():
            return node.equal is not None  # f"{name=}" prints the name
        case cst.Name():
            return node.value.startswith("__") and not node.value.endswith("__")  # mangled inside a class
        case cst.NamedExpr():
            return True  # in a comprehension it binds outside of it, and libcst does not say so
    return False


def reflects(nodes: object) -> bool:
    return any(isinstance(each, cst.Name) and each.value in REFLECTION for each in nodes)  # type: ignore[attr-defined]


def own_of(statement: cst.CSTNode) -> list[cst.CSTNode]:
    return [] if isinstance(statement, cst.FunctionDef | cst.ClassDef) else list(own(statement))


def without_docstring(statements: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
    kept = list(statements)
    match kept:
        case [cst.SimpleStatementLine(body=[cst.Expr(value=cst.SimpleString() | cst.ConcatenatedString())]), *_]:
            kept = kept[1:]
    return [each for each in kept if not is_pass(each)]


def is_pass(statement: cst.BaseStatement) -> bool:
    match statement:
        case cst.SimpleStatementLine(body=[cst.Pass()]):
            return True
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.Ellipsis())]):
            return True
    return False


def split_tail(statements: list[cst.BaseStatement]) -> tuple[list[cst.BaseStatement], cst.BaseExpression | None]:
    match statements:
        case [*rest, cst.SimpleStatementLine(body=[*same_line, cst.Return(value=value)]) as last]:
            if same_line:
                rest.append(last.with_changes(body=same_line))
            return rest, value
    return statements, None


def callee_of_call(call: cst.Call, names: Names) -> Callee | None:
    """The one function that the call can mean, if it can be inlined."""
    func = call.func
    if isinstance(func, cst.Lambda):
        return callee_of(func, names)
    definition = definition_of(func, names)
    if isinstance(definition, cst.FunctionDef | cst.Lambda):
        decorators = definition.decorators if isinstance(definition, cst.FunctionDef) else ()
        return None if any(decorator_name(each) in BINDERS for each in decorators) else callee_of(definition, names)
    if isinstance(func, cst.Name | cst.Call):
        return method(func, ("__call__", "forward"), names)
    if isinstance(func, cst.Attribute):
        return method(func.value, (func.attr.value,), names) or method(func, ("__call__", "forward"), names)
    return None


def definition_of(name: cst.BaseExpression, names: Names) -> cst.CSTNode | None:
    """The function, lambda or class that a name is bound to, if nothing else binds it; None for what is no name."""
    if not isinstance(name, cst.Name) or name not in names.scopes or name.value in names.rebindable:
        return None
    owner, word = names.variable(name)
    bound = names.bindings(owner, word)
    if len(bound) != 1 or isinstance(owner, ClassScope):
        return None
    if isinstance(bound[0], cst.FunctionDef | cst.ClassDef):
        return bound[0]
    value = assigned_value(bound[0], names)
    return value if isinstance(value, cst.Lambda) else None


def assigned_value(target: cst.CSTNode, names: Names) -> cst.BaseExpression | None:
    """`value` of the statement `target = value`, with one plain target."""
    if not isinstance(target, cst.Name):
        return None
    above = names.parents[target]
    if isinstance(above, cst.AnnAssign) and above.target is target:
        return above.value
    if isinstance(above, cst.AssignTarget):
        statement = names.parents[above]
        if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
            return statement.value
    return None


def class_of(node: cst.BaseExpression, names: Names) -> cst.ClassDef | None:
    """The class of an object: of `C(...)`, of a name bound once to that, of the first parameter of a method, of what an
    object of such a class keeps."""
    if isinstance(node, cst.Call):
        made = definition_of(node.func, names)
        if isinstance(made, cst.ClassDef):
            return made
        if isinstance(node.func, cst.Attribute) and node.func.attr.value in ("cuda", "to", "eval", "train", "half"):
            found = class_of(node.func.value, names)
            return found if found and any("Module" in dotted_text(base.value) for base in found.bases) else None
        return None
    if isinstance(node, cst.Attribute):
        return class_of_part(node, names)
    if not isinstance(node, cst.Name) or node not in names.scopes:
        return None
    owner, word = names.variable(node)
    bound = names.bindings(owner, word)
    if len(bound) != 1:
        return None
    if isinstance(bound[0], cst.Param):
        function = names.function_around(bound[0])
        return method_class(function, names) if is_receiver(bound[0], function) else None
    if node.value in names.rebindable or isinstance(owner, ClassScope):
        return None
    value = assigned_value(bound[0], names)
    return class_of(value, names) if isinstance(value, cst.Call) else None


def class_of_part(node: cst.Attribute, names: Names) -> cst.ClassDef | None:
    """The class of `model.layer`, where one statement in all stores that for objects of the model's class."""
    word, owner = node.attr.value, class_of(node.value, names)
    if owner is None or subclasses(owner, names) or find_method(owner, word, names):
        return None
    found = []
    for each in names.attributes[word]:
        if is_target(each, names.parents):
            kept_by = class_of(each.value, names)
            if kept_by is None:
                return None
            found += [each] if kept_by is owner else []
    if len(found) != 1:
        return None
    above = names.parents[found[0]]
    statement = names.parents[above]
    if not isinstance(above, cst.AssignTarget) or not isinstance(statement, cst.Assign) or len(statement.targets) > 1:
        return None
    return class_of(statement.value, names) if isinstance(statement.value, cst.Call) else None


def is_receiver(param: cst.Param, function: cst.CSTNode) -> bool:
    if not isinstance(function, cst.FunctionDef):
        return False
    first = next(iter((*function.params.posonly_params, *function.params.params)), None)
    return first is param and not any(decorator_name(each) == "staticmethod" for each in function.decorators)


def method_class(function: cst.CSTNode, names: Names) -> cst.ClassDef | None:
    """The class that a method is written in."""
    if not isinstance(function, cst.FunctionDef):
        return None
    for above in names.around(function):
        if isinstance(above, cst.ClassDef):
            return above
        if isinstance(above, cst.FunctionDef):
            return None
    return None


def method(receiver: cst.BaseExpression, called_as: tuple[str, ...], names: Names) -> Callee | None:
    """The method that `receiver.name(...)` calls."""
    on_class = definition_of(receiver, names)
    owner = on_class if isinstance(on_class, cst.ClassDef) else class_of(receiver, names)
    if owner is None or owner.keywords or (on_class is not None and called_as[0] == "__call__"):
        return None
    if on_class is not None and called_as == ("apply",):
        return apply_of(owner, names)
    function = next((found for name in called_as for found in [find_method(owner, name, names)] if found), None)
    if function is None or function.name.value in names.assigned_attributes:
        return None
    if any(find_method(below, function.name.value, names, inherited=False) for below in subclasses(owner, names)):
        return None
    found = callee_of(function, names)
    if found is None:
        return None
    kinds = {decorator_name(each) for each in function.decorators}
    if "staticmethod" in kinds:
        return found
    if "classmethod" in kinds:
        return replace(found, receiver=receiver) if on_class is not None else None
    return found if on_class is not None else replace(found, receiver=receiver)


def find_method(owner: cst.ClassDef, name: str, names: Names, *, inherited: bool = True) -> cst.FunctionDef | None:
    found = [each for each in owner.body.body if isinstance(each, cst.FunctionDef) and each.name.value == name]
    if found or not inherited:
        return found[0] if len(found) == 1 else None
    for base in owner.bases:
        above = definition_of(base.value, names)
        if isinstance(above, cst.ClassDef) and (inherited_one := find_method(above, name, names)):
            return inherited_one
    return None


def subclasses(owner: cst.ClassDef, names: Names) -> list[cst.ClassDef]:
    return [
        each
        for each in names.classes
        if each is not owner and any(dotted_text(base.value).split(".")[-1] == owner.name.value for base in each.bases)
    ]


def apply_of(owner: cst.ClassDef, names: Names) -> Callee | None:
    """`forward` of a torch.autograd.Function without its context, which only saves things for the backward."""
    if not any(dotted_text(base.value).endswith("Function") for base in owner.bases):
        return None
    forward = find_method(owner, "forward", names, inherited=False)
    if forward is None or find_method(owner, "setup_context", names, inherited=False) or not forward.params.params:
        return None
    context = forward.params.params[0].name.value
    found = callee_of(forward, names, without=lambda each: only_saves(each, context))
    if found is None or not any(decorator_name(each) == "staticmethod" for each in forward.decorators):
        return None
    if any(isinstance(node, cst.Name) and node.value == context for node in found.nodes):
        return None
    return replace(found, receiver=cst.Name("None"))


def only_saves(statement: cst.BaseStatement, context: str) -> bool:
    """`ctx.save_for_backward(...)`, `ctx.scale = scale`, `ctx.a, ctx.b = a, b`."""
    match statement:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.Call(func=cst.Attribute(value=cst.Name(value=name))))]):
            return name == context
        case cst.SimpleStatementLine(body=[cst.Assign(targets=targets, value=value)]):
            parts = [part for target in targets for part in pieces(target.target)]
            quiet = not any(isinstance(each, cst.Call) for each in walk(value))
            return quiet and all(dotted_text(part).startswith(f"{context}.") for part in parts)
    return False


def pieces(target: cst.BaseExpression) -> list[cst.BaseExpression]:
    return [each.value for each in target.elements] if isinstance(target, cst.Tuple | cst.List) else [target]

"""Where a call stands: what is evaluated before it in its statement, and whether statements can be put before that.

`print(a, f(x))` evaluates `print` and `a` first. If they are mere names, f's body may as well run before the statement.
In `a and f(x)`, in a lambda or in the test of a `while`, it may not.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
from libcst.metadata import ClassScope

from shrinkray_gpu.passes.inlining.call_arguments import stable
from shrinkray_gpu.passes.inlining.moved import root_of
from shrinkray_gpu.source.names_read import Names


def statement_to_prefix(call: cst.BaseExpression, names: Names) -> cst.CSTNode | None:
    """The statement before which the called body may run instead, if there is one."""
    if isinstance(names.scope(call), ClassScope):
        return None
    before = earlier_values(call, root_of(call, names), names)
    if before is None or not all(stable(each, names) for each in before):
        return None
    root = root_of(call, names)
    above = names.parents[root]
    if isinstance(root, cst.BaseSmallStatement):
        alone = isinstance(above, cst.SimpleStatementLine) and len(above.body) == 1
        return above if alone else None
    match above:
        case cst.For():
            return above if above.iter is root else None
        case cst.If():
            return above if above.test is root and not is_elif(above, names) else None
        case cst.WithItem():
            outer = names.parents[above]
            return outer if isinstance(outer, cst.With) and outer.items[0] is above else None
    return None


def is_elif(statement: cst.If, names: Names) -> bool:
    above = names.parents[statement]
    return isinstance(above, cst.If) and above.orelse is statement


def earlier_values(node: cst.CSTNode, root: cst.CSTNode, names: Names) -> list[cst.BaseExpression] | None:
    """What `root` evaluates before `node`, if it always evaluates `node`, and exactly once."""
    found: list[cst.BaseExpression] = []
    while node is not root:
        above = names.parents[node]
        earlier = before_in(above, node)
        if earlier is None:
            return None
        found.extend(earlier)
        node = above
    return found


def before_in(above: cst.CSTNode, node: cst.CSTNode) -> Sequence[cst.BaseExpression] | None:
    match above:
        case cst.Call():
            if above.func is node:
                return []
            given = [arg.value for arg in above.args]
            return [above.func, *given[: index_of(above.args, node)]]
        case cst.BinaryOperation():
            return [] if above.left is node else [above.left]
        case cst.BooleanOperation():
            return [] if above.left is node else None
        case cst.Comparison():
            if above.left is node:
                return []
            return [above.left] if above.comparisons[0] is node else None
        case cst.Tuple() | cst.List() | cst.Set():
            return [each.value for each in above.elements[: index_of(above.elements, node)]]
        case cst.Dict():
            return [part for each in above.elements[: index_of(above.elements, node)] for part in dict_parts(each)]
        case cst.DictElement():
            return [] if above.key is node else [above.key]
        case cst.Subscript():
            if above.value is node:
                return []
            return [above.value] if len(above.slice) == 1 else None
        case cst.FormattedString():
            earlier = above.parts[: index_of(above.parts, node)]
            return [each.expression for each in earlier if isinstance(each, cst.FormattedStringExpression)]
        case cst.FormattedStringExpression():
            return [] if above.expression is node else None
        case cst.IfExp():
            return [] if above.test is node else None
        case cst.Slice():
            return [] if above.lower is node else None
        case cst.CompFor():
            return [] if above.iter is node else None
        case cst.ListComp() | cst.SetComp() | cst.DictComp() | cst.GeneratorExp():
            return [] if above.for_in is node else None
        case cst.AugAssign():
            return [above.target] if isinstance(above.target, cst.Name) else None
        case cst.Assert():
            return [] if above.test is node else None
        case cst.Assign() | cst.AnnAssign():
            return [] if above.value is node else None
        case (
            cst.Arg() | cst.Attribute() | cst.UnaryOperation() | cst.StarredElement() | cst.Element() | cst.Index()
            | cst.SubscriptElement() | cst.ComparisonTarget() | cst.NamedExpr() | cst.Expr() | cst.Return()
            | cst.StarredDictElement()
        ):  # fmt: skip
            return []
    return None


def dict_parts(element: cst.BaseDictElement) -> list[cst.BaseExpression]:
    return [element.key, element.value] if isinstance(element, cst.DictElement) else [element.value]


def index_of(sequence: Sequence[cst.CSTNode], node: cst.CSTNode) -> int:
    return next(index for index, each in enumerate(sequence) if each is node)

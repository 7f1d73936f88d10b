"""Where a call stands: what is evaluated before it in its statement, and whether statements can be put before that.

`print(a, f(x))` evaluates `print` and `a` first. If they are mere names, f's body may as well run before the statement.
In `a and f(x)`, in a lambda or in the test of a `while`, it may not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst
from libcst.metadata import ClassScope

from shrinkray_gpu.passes.inlining.call_arguments import stable
from shrinkray_gpu.passes.inlining.moved import root_of
from shrinkray_gpu.source.names_read import Names

_TRANSPARENT = (
    cst.Arg, cst.Attribute, cst.UnaryOperation, cst.StarredElement, cst.Element, cst.Index, cst.SubscriptElement,
    cst.ComparisonTarget, cst.NamedExpr, cst.Expr, cst.Return, cst.StarredDictElement,
)  # fmt: skip
"""What evaluates nothing before its one child."""
_FIRST: Mapping[type[cst.CSTNode], str] = {
    **dict.fromkeys((cst.BinaryOperation, cst.BooleanOperation, cst.Comparison), "left"),
    **dict.fromkeys((cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp), "for_in"),
    **dict.fromkeys((cst.Assign, cst.AnnAssign, cst.Subscript), "value"),
    **dict.fromkeys((cst.IfExp, cst.Assert), "test"),
    cst.Call: "func",
    cst.DictElement: "key",
    cst.FormattedStringExpression: "expression",
    cst.Slice: "lower",
    cst.CompFor: "iter",
}
"""The child that is evaluated first."""


def statement_to_prefix(call: cst.BaseExpression, names: Names) -> cst.CSTNode | None:
    """The statement before which the called body may run instead, if there is one; after its `unsettled` values."""
    if isinstance(names.scope(call), ClassScope):
        return None
    root = root_of(call, names)
    if earlier_values(call, root, names) is None:
        return None
    above = names.parents[root]
    if isinstance(root, cst.BaseSmallStatement):
        return names.own_line(root)
    match above:
        case cst.For():
            return above if above.iter is root else None
        case cst.If():
            is_elif = getattr(names.parents[above], "orelse", None) is above
            return above if above.test is root and not is_elif else None
        case cst.WithItem():
            outer = names.parents[above]
            return outer if isinstance(outer, cst.With) and outer.items[0] is above else None
    return None


def unsettled(call: cst.BaseExpression, names: Names) -> list[cst.BaseExpression]:
    """What the statement of the call evaluates before it and must go on doing so, in order."""
    before = earlier_values(call, root_of(call, names), names) or ()
    return [each for each in before if not stable(each, names)]


def earlier_values(node: cst.CSTNode, root: cst.CSTNode, names: Names) -> list[cst.BaseExpression] | None:
    """What `root` evaluates before `node`, in order, if it always evaluates `node`, and exactly once."""
    found: list[cst.BaseExpression] = []
    while node is not root:
        above = names.parents[node]
        earlier = before_in(above, node)
        if earlier is None:
            return None
        found[:0] = earlier
        node = above
    return found


def before_in(above: cst.CSTNode, node: cst.CSTNode) -> Sequence[cst.BaseExpression] | None:
    """What a node evaluates before this child of it; None where it may not evaluate the child, or several times."""
    if isinstance(above, _TRANSPARENT):
        return []
    if (first := _FIRST.get(type(above))) is not None and getattr(above, first) is node:
        return []
    match above:
        case cst.Call():
            given = [arg.value for arg in above.args]
            return [above.func, *given[: index_of(above.args, node)]]
        case cst.BinaryOperation():
            return [above.left]
        case cst.Comparison():
            return [above.left] if above.comparisons[0] is node else None
        case cst.Tuple() | cst.List() | cst.Set():
            return [each.value for each in above.elements[: index_of(above.elements, node)]]
        case cst.Dict():
            return [part for each in above.elements[: index_of(above.elements, node)] for part in dict_parts(each)]
        case cst.DictElement():
            return [above.key]
        case cst.Subscript():
            return [above.value] if len(above.slice) == 1 else None
        case cst.FormattedString():
            earlier = above.parts[: index_of(above.parts, node)]
            return [each.expression for each in earlier if isinstance(each, cst.FormattedStringExpression)]
        case cst.AugAssign():
            return [above.target] if isinstance(above.target, cst.Name) else None
    return None


def dict_parts(element: cst.BaseDictElement) -> list[cst.BaseExpression]:
    return [element.key, element.value] if isinstance(element, cst.DictElement) else [element.value]


def index_of(sequence: Sequence[cst.CSTNode], node: cst.CSTNode) -> int:
    return next(index for index, each in enumerate(sequence) if each is node)

"""Which argument belongs to which parameter, and whether it may be written in the parameter's place.

A name, a literal or an attribute that nobody stores means the same wherever the body mentions it. Everything else is
evaluated once, where it stood, and is given to a variable first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import Scope

from shrinkray_gpu.passes.inlining.callee import Callee, assigned_value
from shrinkray_gpu.passes.inlining.records import constant, is_settled
from shrinkray_gpu.source.kernels import is_kernel
from shrinkray_gpu.source.names_read import Names, is_target, walk
from shrinkray_gpu.source.tree import dotted_text
from shrinkray_gpu.source.tree import root as attribute_root

MOVING_ATTRIBUTES = frozenset({"grad", "data", "device_caches"})
"""Attributes of foreign objects that change behind the program's back."""
EAGER = frozenset("sum any all min max tuple list set dict sorted len join".split())
"""Callers that use up a generator before they return."""


@dataclass(frozen=True)
class Bound:
    """A parameter and what the call gives it."""

    param: cst.Param
    value: cst.BaseExpression

    @property
    def name(self) -> str:
        return self.param.name.value


def bound_arguments(call: cst.Call, callee: Callee, names: Names) -> list[Bound] | None:
    """Parameters with their values: given ones in the order of their evaluation, then the defaults."""
    params = callee.params
    positional = [*params.posonly_params, *params.params]
    by_name = {each.name.value: each for each in (*params.params, *params.kwonly_params)}
    found: list[Bound] = []
    if callee.receiver is not None:
        if not positional:
            return None
        found.append(Bound(positional.pop(0), callee.receiver))
        by_name.pop(found[0].name, None)
    extra: list[cst.BaseExpression] = []
    for arg in unpacked(call.args, positional, params, names):
        if arg.star:
            return None
        if arg.keyword is None:
            if positional:
                param = positional.pop(0)
            elif isinstance(params.star_arg, cst.Param):
                extra.append(arg.value)
                continue
            else:
                return None
        elif (named := by_name.get(arg.keyword.value)) is not None:
            param = named
            positional = [each for each in positional if each is not param]
        else:
            return None
        if any(each.param is param for each in found):
            return None
        found.append(Bound(param, arg.value))
    if extra and any(arg.keyword for arg in call.args):
        return None
    if isinstance(params.star_arg, cst.Param):
        elements = [cst.Element(each) for each in extra]
        found.append(Bound(params.star_arg, add_parentheses(cst.Tuple(elements))))
    if params.star_kwarg is not None:
        found.append(Bound(params.star_kwarg, cst.Dict([])))
    given = {each.name for each in found}
    for param in (*params.posonly_params, *params.params, *params.kwonly_params):
        if param.name.value not in given:
            if param.default is None or not default_still_means_it(param.default, names):
                return None
            found.append(Bound(param, param.default))
    return found


def unpacked(
    given: Sequence[cst.Arg], positional: Sequence[cst.Param], params: cst.Parameters, names: Names
) -> Sequence[cst.Arg]:
    """The arguments with `caches[0], caches[1]` for `*caches`, where that is a list, and only one number of elements
    lets the call be."""
    starred = [arg for arg in given if arg.star]
    if len(starred) != 1 or starred[0].star != "*" or not is_list(starred[0].value, names):
        return given
    if isinstance(params.star_arg, cst.Param) or any(each.default is not None for each in positional):
        return given
    named = {arg.keyword.value for arg in given if arg.keyword is not None}
    others = [arg for arg in given if arg.keyword is None and not arg.star]
    count = len([each for each in positional if each.name.value not in named]) - len(others)
    value = starred[0].value
    parts = [cst.Arg(cst.Subscript(value, [index_of(number)])) for number in range(count)]
    return [each for arg in given for each in (parts if arg is starred[0] else [arg])]


def is_list(node: cst.BaseExpression, names: Names) -> bool:
    """Whether a name is bound once, to a list or a tuple."""
    if not isinstance(node, cst.Name) or node not in names.scopes or node.value in names.rebindable:
        return False
    bound = names.bindings(*names.variable(node))
    made = assigned_value(bound[0], names) if len(bound) == 1 else None
    return isinstance(made, cst.List | cst.Tuple | cst.ListComp)


def index_of(number: int) -> cst.SubscriptElement:
    return cst.SubscriptElement(cst.Index(cst.Integer(str(number))))


def add_parentheses(node: cst.Tuple) -> cst.Tuple:
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def default_still_means_it(default: cst.BaseExpression, names: Names) -> bool:
    """A default is evaluated where the function is defined, once; a literal, a record of these or a global bound once
    does not mind."""
    if constant(default) or isinstance(default, cst.Call) and is_settled(default, names):
        return True
    root = attribute_root(default)
    if not isinstance(root, cst.Name) or not stable(default, names):
        return False
    return names.variable(root)[0] is names.everywhere and len(names.bindings(*names.variable(root))) <= 1


def stable(node: cst.BaseExpression, names: Names) -> bool:
    """Whether evaluating it later, or twice, gives the same and does nothing else."""
    if constant(node):
        return True
    match node:
        case cst.Name(value=value):
            return node in names.scopes and value not in names.rebindable
        case cst.Attribute(attr=cst.Name(value=attr)):
            if dotted_text(node).split(".")[0] in names.imported_names and attr not in names.assigned_attributes:
                return stable(node.value, names)
            return attr not in names.stored_attributes | MOVING_ATTRIBUTES and stable(node.value, names)
        case cst.Tuple(elements=elements):
            return all(isinstance(each, cst.Element) and stable(each.value, names) for each in elements)
        case cst.Subscript(value=cst.Name() as kernel):  # `kernel[grid]` only prepares a launch
            return is_launched(kernel, names)
    return False


def is_launched(kernel: cst.Name, names: Names) -> bool:
    if kernel not in names.scopes:
        return False
    bound = names.bindings(*names.variable(kernel))
    return bool(bound) and all(isinstance(each, cst.FunctionDef) and is_kernel(names.program, each) for each in bound)


def effect_free(node: cst.CSTNode) -> bool:
    """Whether leaving it out changes nothing but perhaps an error."""
    return not any(isinstance(each, cst.Call | cst.Await | cst.Yield | cst.NamedExpr) for each in walk(node))


def may_repeat(value: cst.BaseExpression, mentions: Sequence[cst.Name], callee: Callee, names: Names) -> bool:
    """Whether a body that only computes may evaluate the argument in its own time and as often as it likes."""
    made = cst.Lambda | cst.GeneratorExp | cst.List | cst.Dict | cst.Set | cst.ListComp | cst.SetComp | cst.DictComp
    if callee.value is None or not effect_free(callee.value) or not effect_free(value):
        return False
    return not any(map(names.in_text, mentions)) and not any(
        isinstance(each, made) for part in (callee.value, value) for each in walk(part)
    )


def uses(param: str, callee: Callee, names: Names) -> list[cst.Name]:
    """Where the body mentions the parameter or local."""
    return [each for each in names.occurrences.get((callee.scope, param), []) if each in callee.nodes]


def enclosing_scopes(name: cst.Name, callee: Callee, names: Names) -> list[Scope]:
    """The comprehensions, lambdas and functions inside the callee that a name stands in."""
    found, scope = [], names.scope(name)
    while scope is not callee.scope and scope is not scope.parent:
        found.append(scope)
        scope = scope.parent
    return found


def closures_over(name: cst.Name, callee: Callee, names: Names) -> list[cst.CSTNode]:
    """Functions and generators inside the callee that look the name up when they run, perhaps much later."""
    found: list[cst.CSTNode] = []
    for above in names.around(name):
        if above is callee.node:
            break
        if isinstance(above, cst.Lambda | cst.FunctionDef | cst.GeneratorExp) and not runs_where_made(above, names):
            found.append(above)
    return found


def runs_where_made(closure: cst.CSTNode, names: Names) -> bool:
    """Whether a closure certainly runs only where it is made: the grid of a launch, the generator given to `sum`."""
    above = names.parents[closure]
    if isinstance(closure, cst.GeneratorExp):
        call = names.parents[above] if isinstance(above, cst.Arg) else None
        return isinstance(call, cst.Call) and dotted_text(call.func).split(".")[-1] in EAGER
    if isinstance(above, cst.Index):
        return True
    if isinstance(above, cst.Call) and above.func is closure:
        return True
    if isinstance(closure, cst.FunctionDef):
        name: cst.Name | None = closure.name
    else:
        target = above.targets[0].target if isinstance(above, cst.Assign) and len(above.targets) == 1 else None
        name = target if isinstance(target, cst.Name) else None
    if name is None:
        return False
    return all(each is name or only_launches_or_calls(each, names) for each in names.mentions(name))


def only_launches_or_calls(name: cst.Name, names: Names) -> bool:
    above = names.parents[name]
    return isinstance(above, cst.Index) or (isinstance(above, cst.Call) and above.func is name)


def may_stand_for(
    value: cst.BaseExpression, param: str, callee: Callee, call: cst.BaseExpression, names: Names
) -> bool:
    """Whether the argument may be written wherever the body has the parameter."""
    mentions = uses(param, callee, names)
    if any(is_target(each, names.parents) for each in names.occurrences.get((callee.scope, param), [])):
        return False
    if len(names.bindings(callee.scope, param)) != 1 or not stable(value, names):
        return False
    if quotes_meet(value, mentions, names):
        return False
    free = {each.value for each in walk(value) if isinstance(each, cst.Name)}
    for mention in mentions:
        if any(inside.assignments[word] for inside in enclosing_scopes(mention, callee, names) for word in free):
            return False
        if not constant(value) and closures_over(mention, callee, names) and not is_bound_once(value, call, names):
            return False
    return True


def quotes_meet(value: cst.BaseExpression, places: Sequence[cst.BaseExpression], names: Names) -> bool:
    """Whether one of the places is in an f-string, and the value has quotes of its own."""
    return any(isinstance(each, cst.SimpleString) for each in walk(value)) and any(map(names.in_text, places))


def is_bound_once(value: cst.BaseExpression, call: cst.BaseExpression, names: Names) -> bool:
    """Whether the names in `value` keep their values for ever, so that a closure may look them up late."""
    if names.in_loop(call):
        return False
    found = [each for each in walk(value) if isinstance(each, cst.Name) and each in names.scopes]
    return all(len(names.bindings(*names.variable(each))) <= 1 for each in found)


def fits_everywhere(
    value: cst.BaseExpression, mentions: Sequence[cst.BaseExpression], call: cst.Call, names: Names
) -> bool:
    """Whether a value that was given to a call may be written in the place of these expressions, wherever they are."""
    if constant(value):
        return not quotes_meet(value, mentions, names)
    if not stable(value, names) or not is_bound_once(value, call, names):
        return False
    words = [each for each in walk(value) if isinstance(each, cst.Name) and each in names.scopes]
    here = {word.value: names.variable(word)[0] for word in words}
    return all(names.owner(names.scope(each), word) is owner for each in mentions for word, owner in here.items())

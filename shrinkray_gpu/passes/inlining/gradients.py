"""A torch.autograd.Function becomes calls of its `forward` and its `backward`, which are then inlined like any others.

`y = F.apply(x, 2)` with `y.sum().backward()` makes a leaf of what `forward` returns. Behind the statement that goes
backward stands a call of `F.backward` with the leaf's gradient, and what that returns goes on into `x`. A check of the
gradient then needs neither the class nor, often, the forward kernel.
"""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from shrinkray_gpu.passes.inlining.call_arguments import effect_free
from shrinkray_gpu.passes.inlining.callee import definition_of, find_method
from shrinkray_gpu.passes.inlining.insertion import statement_to_prefix, unsettled
from shrinkray_gpu.passes.inlining.moved import Rewrite, exchange, node_text, root_of
from shrinkray_gpu.source.calls import decorator_name
from shrinkray_gpu.source.names_read import Names, is_target
from shrinkray_gpu.source.tree import dotted_text

_CONTEXT = """\
class {name}:
    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors"""
_OF_TORCH = frozenset({"needs_input_grad", "mark_dirty", "mark_non_differentiable", "set_materialize_grads"})
"""What a context has of torch's engine, which nobody fills then."""


def gradients(names: Names) -> Iterable[Rewrite]:
    for node in names.nodes:
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "apply":
            made = definition_of(node.func.value, names)
            if isinstance(made, cst.ClassDef) and any(
                dotted_text(each.value).endswith("Function") for each in made.bases
            ):
                rewrite = Rewrite(names, what=f"calls of what {made.name.value} does")
                if take_apart(rewrite, node, made):
                    yield rewrite


def take_apart(rewrite: Rewrite, call: cst.Call, made: cst.ClassDef) -> bool:
    names = rewrite.names
    line, root = statement_to_prefix(call, names), root_of(call, names)
    returned = gradients_of(made, names)
    last = statement_going_back(call, names)
    if line is None or returned is None or last is None or unsettled(call, names) or len(returned) != len(call.args):
        return False
    if not all(effect_free(arg.value) and not arg.star and arg.keyword is None for arg in call.args):
        return False
    owner, code = made.name.value, names.module.code_for_node
    kind, context, out, grads = (rewrite.fresh(each) for each in ("Context", "context", "out", "grads"))
    rewrite.long_lived |= {kind, context, out, grads}
    # A name may be bound anew before the program goes backward.
    inputs = {at: rewrite.fresh("x") for at, each in enumerate(returned) if not is_none(each)}
    rewrite.long_lived |= {*inputs.values()}
    texts = [code(arg.value) for arg in call.args]
    given = ", ".join([context, *(inputs.get(at, text) for at, text in enumerate(texts))])
    applied = f"{out} = {owner}.forward({given}).detach().requires_grad_()"
    text = node_text(exchange(last, {call: cst.Name(out)}, names) if last is root else last, names)
    gradient, backward = f"{out}.grad", [text]
    if (start := start_of(last, root, call)) is not None:
        gradient, backward = start, []
    backward.append(f"{grads} = {owner}.backward({context}, {gradient})")
    for at, word in inputs.items():
        backward.append(f"if {word}.requires_grad:\n    {word}.backward({grads}[{at}])")
    outermost = [line, *names.around(line)][-2]
    heads = [f"{context} = {kind}()", *(f"{word} = {texts[at]}" for at, word in inputs.items()), applied]
    if outermost is line:
        heads.insert(0, _CONTEXT.format(name=kind))
    else:
        rewrite.before[outermost] = [_CONTEXT.format(name=kind)]
    rewrite.before[line] = heads
    rewrite.instead[last] = "\n".join(backward)
    if last is not root:
        rewrite.swaps[call] = cst.Name(out)
    return True


def statement_going_back(call: cst.Call, names: Names) -> cst.BaseSmallStatement | None:
    """The statement behind the call, or its own, that calls `backward` of what comes of it; None where that is not
    plain to see: on its way out of `with` and `if`, by the names that get something of it."""
    here: cst.CSTNode = root_of(call, names)
    if isinstance(here, cst.BaseSmallStatement) and goes_back(here):
        return here
    reached = bound_in(here, names)
    for above in names.around(here):
        inside = list(above.body) if isinstance(above, cst.IndentedBlock | cst.Module) else []
        at = next((index for index, each in enumerate(inside) if each is here), len(inside))
        for each in inside[at + 1 :]:
            mentioned = {name.value for name in names.variables(each)}
            small = each.body[0] if isinstance(each, cst.SimpleStatementLine) and len(each.body) == 1 else None
            if mentioned & reached:
                if small is not None and goes_back(small):
                    return small
                if any(isinstance(word, cst.Name) and word.value == "backward" for word in names.walk(each)):
                    return None
                reached |= bound_in(each, names)
            elif small is not None:
                reached -= bound_in(small, names)
        if isinstance(above, cst.FunctionDef | cst.For | cst.While | cst.Try):
            return None
        here = above
    return None


def bound_in(node: cst.CSTNode, names: Names) -> set[str]:
    """Names that a statement binds, and objects whose methods it calls or whose parts it binds."""
    targets = (each for each in names.variables(node) if is_target(each, names.parents))
    holders = (each.value for each in names.walk(node) if isinstance(each, cst.Attribute | cst.Subscript))
    return {each.value for each in (*targets, *holders) if isinstance(each, cst.Name)} - names.imported_names


def goes_back(statement: cst.BaseSmallStatement) -> bool:
    match statement:
        case cst.Expr(value=cst.Call(func=cst.Attribute(attr=cst.Name(value="backward")))):
            return True
    return False


def start_of(last: cst.CSTNode, root: cst.CSTNode, call: cst.Call) -> str | None:
    """The gradient that `y.backward(start)` gives to `y = F.apply(...)`; None where something comes between these."""
    match root, last:
        case (
            cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value),
            cst.Expr(
                value=cst.Call(
                    func=cst.Attribute(value=cst.Name(value=started)), args=[cst.Arg(keyword=None, star="") as start]
                )
            ),
        ) if value is call and name == started:
            return cst.Module([]).code_for_node(start.value)
    return None


def gradients_of(made: cst.ClassDef, names: Names) -> list[cst.BaseExpression] | None:
    """What `backward` returns; None where the two methods need torch's engine."""
    forward, backward = (find_method(made, each, names, inherited=False) for each in ("forward", "backward"))
    if forward is None or backward is None or find_method(made, "setup_context", names):
        return None
    for method in (forward, backward):
        if [decorator_name(each) for each in method.decorators] != ["staticmethod"] or not method.params.params:
            return None
        context = method.params.params[0].name
        for each in names.mentions(context):
            above = names.parents[each]
            if each is not context and not (isinstance(above, cst.Attribute) and above.attr.value not in _OF_TORCH):
                return None
    params = backward.params
    if len(params.params) != 2 or isinstance(params.star_arg, cst.Param) or is_target(params.params[1], names.parents):
        return None
    returns = [each for each in names.walk(backward.body) if isinstance(each, cst.Return)]
    value = returns[0].value if len(returns) == 1 else None
    if value is None:
        return None
    return [each.value for each in value.elements] if isinstance(value, cst.Tuple) else [value]


def is_none(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"

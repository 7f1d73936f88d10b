"""Functions made on the way: `functools.partial` becomes the call it stands for, a lambda moves to where it is used.

Both only carry arguments from one place to another, and keep the names that they carry alive in between. (A lambda that
is called is inlined like any function; the grid of a launch is looked after where launches are.)
"""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst
from libcst.metadata import ClassScope

from shrinkray_gpu.passes.inlining.call_arguments import fits_everywhere, stable
from shrinkray_gpu.passes.inlining.callee import assigned_value
from shrinkray_gpu.passes.inlining.moved import Rewrite
from shrinkray_gpu.source.names_read import Names
from shrinkray_gpu.source.tree import dotted_text

PARTIAL = frozenset({"partial", "functools.partial"})


def closure_moves(names: Names) -> Iterable[Rewrite]:
    for node in names.nodes:
        if isinstance(node, cst.Call) and is_partial(node.func):
            rewrite = Rewrite(names, what="a partial call to the call")
            if unfold_at_once(rewrite, node):
                yield rewrite
        if isinstance(node, cst.AssignTarget) and isinstance(node.target, cst.Name):
            value = assigned_value(node.target, names)
            rewrite = Rewrite(names, what=f"inline {node.target.value}")
            if isinstance(value, cst.Call) and is_partial(value) and unfold(rewrite, node.target, value):
                yield rewrite
            elif isinstance(value, cst.Lambda) and move(rewrite, node.target, value):
                yield rewrite


def is_partial(node: cst.CSTNode) -> bool:
    """Whether this is `partial(f, ...)`, all of whose arguments are written out."""
    if not isinstance(node, cst.Call) or dotted_text(node.func) not in PARTIAL or not node.args:
        return False
    return not any(arg.star for arg in node.args) and node.args[0].keyword is None


def unfold_at_once(rewrite: Rewrite, call: cst.Call) -> bool:
    """`partial(f, a)(b)` -> `f(a, b)`"""
    assert isinstance(call.func, cst.Call)
    if any(arg.star for arg in call.args):
        return False
    rewrite.swaps[call] = merge_partial(call.func, call)
    return True


def merge_partial(partial: cst.Call, call: cst.Call) -> cst.Call:
    """The call that calling a partial comes down to. Keywords of the call win."""
    function, *given = partial.args
    named = {arg.keyword.value for arg in call.args if arg.keyword}
    before = [arg for arg in given if arg.keyword is None]
    after = [arg for arg in given if arg.keyword and arg.keyword.value not in named]
    placed = [arg for arg in call.args if arg.keyword is None]
    worded = [arg for arg in call.args if arg.keyword]
    args = [arg.with_changes(comma=cst.MaybeSentinel.DEFAULT) for arg in (*before, *placed, *after, *worded)]
    return cst.Call(function.value, args)


def unfold(rewrite: Rewrite, target: cst.Name, partial: cst.Call) -> bool:
    """`g = partial(f, a)` with `g(b)` -> `f(a, b)`"""
    names = rewrite.names
    mentions = other_mentions(target, names)
    if mentions is None or not all(stable(arg.value, names) for arg in partial.args):
        return False
    for mention in mentions:
        call = names.parents[mention]
        if not isinstance(call, cst.Call) or call.func is not mention or any(arg.star for arg in call.args):
            return False
        if not all(fits_everywhere(arg.value, [mention], partial, names) for arg in partial.args):
            return False
        rewrite.swaps[call] = merge_partial(partial, call)
    return drop_assignment(rewrite, target)


def move(rewrite: Rewrite, target: cst.Name, value: cst.Lambda) -> bool:
    """`key = lambda ...` used once, as a value -> the lambda itself there."""
    names = rewrite.names
    mentions = other_mentions(target, names)
    if mentions is None or len(mentions) != 1 or any(param.default for param in value.params.params):
        return False
    (mention,) = mentions
    above = names.parents[mention]
    if isinstance(above, cst.Call) and above.func is mention:
        return False  # calls.py has it
    if names.function_around(mention) is not names.function_around(target) or names.in_loop(mention):
        return False
    if any(isinstance(each, cst.FormattedString | cst.BaseComp) for each in names.around(mention)):
        return False
    rewrite.swaps[mention] = value
    return drop_assignment(rewrite, target)


def other_mentions(target: cst.Name, names: Names) -> list[cst.Name] | None:
    """Where a name that is bound only here is read."""
    scope, word = names.variable(target)
    once = len(names.bindings(scope, word)) == 1 and word not in names.rebindable
    if not once or isinstance(scope, ClassScope):
        return None
    return [each for each in names.mentions(target) if each is not target] or None


def drop_assignment(rewrite: Rewrite, target: cst.Name) -> bool:
    parents = rewrite.names.parents
    line = rewrite.names.own_line(parents[parents[target]])
    rewrite.dropped += [line] if line is not None else []
    return line is not None

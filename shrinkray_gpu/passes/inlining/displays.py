"""What is put into a display and taken out again: `[40, 72][0]` is 40, and so is `next(iter([40, 72]))`.

`a, b = x, y` is two assignments. Tables of tolerances, lists of sizes and tuples that a helper returns are left when
the code around them is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from keyword import iskeyword

import libcst as cst
from libcst.metadata import BuiltinScope, ClassScope

from shrinkray_gpu.passes.inlining.call_arguments import effect_free
from shrinkray_gpu.passes.inlining.callee import assigned_value
from shrinkray_gpu.passes.inlining.moved import Rewrite, root_of
from shrinkray_gpu.passes.inlining.records import constant
from shrinkray_gpu.source.names_read import Names, is_target, walk
from shrinkray_gpu.source.tree import dotted_text


def display_reads(names: Names) -> Iterable[Rewrite]:
    for node in names.nodes:
        rewrite = Rewrite(names)
        if isinstance(node, cst.Subscript):
            if (value := element_of(node.value, node, names)) is not None and not is_target(node, names.parents):
                rewrite.what, rewrite.swaps[node] = "an element of a display", value
                yield rewrite
        elif isinstance(node, cst.Call):
            if (first := first_of(node)) is not None:
                rewrite.what, rewrite.swaps[node] = "the first element of a display", first
                yield rewrite
            elif (attribute := attribute_of(node, names)) is not None:
                rewrite.what, rewrite.swaps[node] = "an attribute for its name in quotes", attribute
                yield rewrite
            elif any(given_by(arg, names) is not None for arg in node.args):
                rewrite.what, rewrite.swaps[node] = "arguments for a display", written_out(node, names)
                yield rewrite
        elif isinstance(node, cst.Assign) and len(node.targets) == 1 and names.own_line(node) is not None:
            if split(rewrite, node) or in_variables(rewrite, node):
                yield rewrite


def plain_elements(node: cst.BaseExpression) -> list[cst.BaseExpression] | None:
    """What a list or a tuple is made of; None where it is none, or not all of it is written there."""
    if not isinstance(node, cst.List | cst.Tuple) or not all(isinstance(each, cst.Element) for each in node.elements):
        return None
    return [each.value for each in node.elements]


def number_of(node: cst.Subscript) -> int | None:
    match node.slice:
        case [cst.SubscriptElement(slice=cst.Index(value=cst.Integer(value=value), star=None))]:
            return int(value, 0)
    return None


def element_of(display: cst.BaseExpression, read: cst.Subscript, names: Names) -> cst.BaseExpression | None:
    """What `display[i]` is, if all else in there may go unevaluated."""
    if not effect_free(display):
        return None
    if (elements := plain_elements(display)) is not None:
        at = number_of(read)
        return elements[at] if at is not None and at < len(elements) else None
    if not isinstance(display, cst.Dict) or len(read.slice) != 1 or not isinstance(read.slice[0].slice, cst.Index):
        return None
    wanted, found = read.slice[0].slice.value, []
    for each in display.elements:
        if not (isinstance(each, cst.DictElement) and is_key(each.key, names)):
            return None
        found += [each.value] if each.key.deep_equals(wanted) else []
    return found[0] if len(found) == 1 and is_key(wanted, names) else None


def first_of(call: cst.Call) -> cst.BaseExpression | None:
    """What `next(iter([a, b]))` is, as a loop that runs once leaves it, if all else in there may go unevaluated."""
    match call:
        case cst.Call(
            func=cst.Name(value="next"),
            args=[cst.Arg(value=cst.Call(func=cst.Name(value="iter"), args=[cst.Arg(value=display)]))],
        ) if elements := plain_elements(display):
            return elements[0] if all(map(effect_free, elements[1:])) else None
    return None


def attribute_of(call: cst.Call, names: Names) -> cst.Attribute | None:
    """`torch.float16` of `getattr(torch, "float16")`."""
    match call:
        case cst.Call(
            func=cst.Name(value="getattr") as func,
            args=[cst.Arg(value=owner, star=""), cst.Arg(value=cst.SimpleString() as word, star="")],
        ) if isinstance(names.variable(func)[0], BuiltinScope) and dotted_text(owner):
            attribute = str(word.evaluated_value)
            if attribute.isidentifier() and not iskeyword(attribute) and not attribute.startswith("__"):
                return cst.Attribute(owner, cst.Name(attribute))
    return None


def is_key(node: cst.BaseExpression, names: Names) -> bool:
    """A literal, or what a module has: each means one thing, wherever it is written."""
    return constant(node) or (
        isinstance(node, cst.Attribute) and dotted_text(node).split(".")[0] in names.imported_names
    )


def given_by(arg: cst.Arg, names: Names) -> list[cst.Arg] | None:
    """The arguments that `*(a, b)` or `**dict(c=1)` gives; None where it is neither."""
    if arg.star == "*" and (elements := plain_elements(arg.value)) is not None:
        return [cst.Arg(each) for each in elements]
    match arg:
        case cst.Arg(star="**", value=cst.Call(func=cst.Name(value="dict") as func, args=args)) if all(
            each.keyword is not None for each in args
        ):
            return list(args) if isinstance(names.variable(func)[0], BuiltinScope) else None
    return None


def written_out(call: cst.Call, names: Names) -> cst.Call:
    given = [[arg] if (each := given_by(arg, names)) is None else each for arg in call.args]
    plain = [arg.with_changes(comma=cst.MaybeSentinel.DEFAULT) for each in given for arg in each]
    return call.with_changes(args=plain)


def split(rewrite: Rewrite, node: cst.Assign) -> bool:
    """`a, b = x, y` -> `a = x` and `b = y`, where no value reads a name that is bound before it."""
    targets, values = plain_elements(node.targets[0].target), plain_elements(node.value)
    if targets is None or values is None or len(targets) != len(values) or not targets:
        return False
    bound: set[str] = set()
    for target, value in zip(targets, values):
        if not isinstance(target, cst.Name) or target.value in bound:
            return False
        if bound and any(isinstance(each, cst.Name) and each.value in bound for each in walk(value)):
            return False
        bound.add(target.value)
    if any(isinstance(each, cst.Call) for value in values for each in walk(value)) and bound & rewrite.names.rebindable:
        return False
    rewrite.what = "an assignment for each name"
    into(rewrite, node, [target.value for target in targets if isinstance(target, cst.Name)], values)
    return True


def in_variables(rewrite: Rewrite, node: cst.Assign) -> bool:
    """`pair = x, y` with `pair[0]` and `a, b = pair` -> a variable for each element."""
    names, (target, values) = rewrite.names, (node.targets[0].target, plain_elements(node.value))
    if not isinstance(target, cst.Name) or not values or target.value in names.rebindable:
        return False
    scope = names.scope(target)
    if assigned_value(target, names) is not node.value or isinstance(scope, ClassScope):
        return False
    reads = [each for each in names.mentions(target) if each is not target]
    if len(names.bindings(*names.variable(target))) != 1 or not reads:
        return False
    # A loop would read what a later trip bound, and a closure what is bound when it runs.
    if names.in_loop(node) or any(names.scope(each) is not scope for each in reads):
        return False
    words = [rewrite.fresh(target.value) for _ in values]
    for read in reads:
        above = names.parents[read]
        if isinstance(above, cst.Subscript) and above.value is read and not is_target(above, names.parents):
            at = number_of(above)
            if at is None or at >= len(values):
                return False
            rewrite.swaps[above] = cst.Name(words[at])
        elif isinstance(above, cst.Assign) and above.value is read and fits(above, len(values)):
            rewrite.swaps[read] = cst.Tuple([cst.Element(cst.Name(word)) for word in words])
        else:
            return False
    rewrite.what = f"a variable for each element of {target.value}"
    rewrite.long_lived.update(words)
    into(rewrite, node, words, values)
    return True


def fits(unpacked: cst.Assign, length: int) -> bool:
    targets = plain_elements(unpacked.targets[0].target)
    return len(unpacked.targets) == 1 and targets is not None and len(targets) == length


def into(rewrite: Rewrite, node: cst.Assign, words: Sequence[str], values: Sequence[cst.BaseExpression]) -> None:
    code = rewrite.names.module.code_for_node
    rewrite.before[rewrite.names.parents[node]] = [f"{word} = {code(value)}" for word, value in zip(words, values)]
    rewrite.instead[root_of(node, rewrite.names)] = ""

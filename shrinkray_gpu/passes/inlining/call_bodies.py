"""A call becomes the body of the function that it calls, so that wrappers, helpers and methods melt away.

Realistic programs reach their one bad launch through `main`, a module, an autograd function and three wrappers. No
deletion gets rid of these layers, since each passes on what the next one needs. Written in place they become straight
lines, which the deleting passes then thin out. Methods are functions whose first argument is the object; a
`@triton.jit` function is inlined into kernels only.
"""

from __future__ import annotations

import builtins
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from keyword import iskeyword
from types import MappingProxyType

import libcst as cst
from libcst.metadata import GlobalScope, Scope

from shrinkray_gpu.passes.inlining.call_arguments import (
    Bound,
    bound_arguments,
    closures_over,
    effect_free,
    is_launched,
    may_repeat,
    may_stand_for,
    uses,
)
from shrinkray_gpu.passes.inlining.callee import Callee, callee_of_call, method_class
from shrinkray_gpu.passes.inlining.insertion import earlier_values, statement_to_prefix, unsettled
from shrinkray_gpu.passes.inlining.moved import Rewrite, exchange, node_text, root_of
from shrinkray_gpu.source.kernels import is_kernel
from shrinkray_gpu.source.masking import always_holds
from shrinkray_gpu.source.names_read import Names, walk
from shrinkray_gpu.source.tree import dotted_text

Site = tuple[cst.Call, Callee]
MOST_SITES = 8
"""A function called from more places than this is not copied to all of them."""


def inlinings(names: Names) -> Iterable[Rewrite]:
    sites: dict[cst.CSTNode, list[Site]] = defaultdict(list)
    for node in names.nodes:
        if isinstance(node, cst.Call) and (callee := callee_of_call(node, names)) is not None:
            if callee.jit == inside_kernel(node, names) and not calls_itself(node, callee, names):
                sites[callee.node].append((node, callee))
    for definition, found in sites.items():
        name = found[0][1].name
        if (everywhere := definition_without(found, definition, names)) is not None and len(found) <= MOST_SITES:
            rewrite = Rewrite(names, what=f"inline {name}")
            if all([inline(rewrite, call, callee) for call, callee in found]) and not rewrite.clashes:
                rewrite.dropped.extend(everywhere)
                yield rewrite
                continue
        for call, callee in found:
            rewrite = Rewrite(names, what=f"inline a call of {name}")
            if inline(rewrite, call, callee):
                yield rewrite


def inside_kernel(node: cst.CSTNode, names: Names) -> bool:
    return any(isinstance(above, cst.FunctionDef) and is_kernel(names.program, above) for above in names.around(node))


def calls_itself(call: cst.Call, callee: Callee, names: Names) -> bool:
    return any(above is callee.node for above in names.around(call))


def definition_without(sites: Sequence[Site], definition: cst.CSTNode, names: Names) -> list[cst.CSTNode] | None:
    """What can be dropped once these calls are inlined: the definition, if nothing else mentions it."""
    functions = {id(call.func) for call, _ in sites}
    if isinstance(definition, cst.Lambda):
        above = names.parents[definition]
        if not isinstance(above, cst.Assign | cst.AnnAssign):
            return []
        target = above.target if isinstance(above, cst.AnnAssign) else above.targets[0].target
        line = names.own_line(above)
        assert isinstance(target, cst.Name)
        only_called = all(each is target or id(each) in functions for each in names.mentions(target))
        return [line] if line is not None and only_called else None
    assert isinstance(definition, cst.FunctionDef)
    owner = method_class(definition, names)
    if owner is None:
        mentions = names.mentions(definition.name)
        return [definition] if all(each is definition.name or id(each) in functions for each in mentions) else None
    word = definition.name.value
    if word in ("__call__", "forward"):
        return class_used_once(owner, sites, names)
    attributes = names.attributes[word]
    dunder = word.startswith("__")
    return [definition] if not dunder and all(id(each) in functions for each in attributes) else None


def class_used_once(owner: cst.ClassDef, sites: Sequence[Site], names: Names) -> list[cst.CSTNode] | None:
    """`forward` goes with the class if the class is only there for this `F.apply(...)`."""
    used = [each for each in names.mentions(owner.name) if each is not owner.name]
    receivers = {id(call.func.value) for call, _ in sites if isinstance(call.func, cst.Attribute)}
    return [owner] if used and all(id(each) in receivers for each in used) else None


def inline(rewrite: Rewrite, call: cst.Call, callee: Callee) -> bool:
    """Add the call's replacement to the Rewrite. False if the call has to stay."""
    names = rewrite.names
    bound = bound_arguments(call, callee, names)
    if bound is None or not means_the_same_there(callee, names.scope(call), names):
        return False
    if any(always_holds(names.program, use, (each.value,)) for each in bound for use in uses(each.name, callee, names)):
        return False
    if not (inline_expression(rewrite, call, callee, bound) or inline_statements(rewrite, call, callee, bound)):
        return False
    return not names.in_text(call) or call not in rewrite.swaps or fits_in_text(rewrite.swaps[call])


def fits_in_text(node: cst.CSTNode) -> bool:
    """Whether an expression may stand in an f-string: before Python 3.12 no quotes, line breaks or comments."""
    unfit = cst.SimpleString | cst.FormattedString | cst.Lambda | cst.BaseDict | cst.BaseSet | cst.BaseComp
    return not any(isinstance(each, unfit | cst.ParenthesizedWhitespace) for each in walk(node))


def means_the_same_there(callee: Callee, target: Scope, names: Names) -> bool:
    """Whether the globals (and the outer function's variables) that the body uses are the same ones at the call."""
    for name in callee.nodes:
        if isinstance(name, cst.Name) and name in names.scopes:
            owner, _ = names.variable(name)
            if not inside(owner, callee.scope) and names.owner(target, name.value) is not owner:
                return False
    return True


def inside(scope: Scope, outer: Scope) -> bool:
    while scope is not outer:
        if scope is scope.parent or isinstance(scope, GlobalScope):
            return False
        scope = scope.parent
    return True


def inline_expression(rewrite: Rewrite, call: cst.BaseExpression, callee: Callee, bound: Sequence[Bound]) -> bool:
    """`f(a, b)` -> the expression that f returns, wherever the call stands."""
    names = rewrite.names
    if callee.statements or callee.value is None:
        return False
    swaps: dict[cst.CSTNode, cst.CSTNode] = {}
    waiting: list[cst.Name] = []
    for each in bound:
        mentions = uses(each.name, callee, names)
        if may_stand_for(each.value, each.name, callee, call, names):
            pass
        elif may_repeat(each.value, mentions, callee, names) and all(effect_free(other.value) for other in bound):
            pass
        elif not mentions and effect_free(each.value):
            continue
        elif len(mentions) == 1 and in_turn(mentions[0], waiting, callee, names):
            waiting.append(mentions[0])
        else:
            return False
        swaps.update({mention: each.value for mention in mentions})
    if names_clash(swaps, callee, names):
        return False
    new = exchange(callee.value, swaps, names)
    rewrite.swaps[call] = new
    rewrite.copied.append(callee.node)
    return True


def in_turn(mention: cst.Name, waiting: Sequence[cst.Name], callee: Callee, names: Names) -> bool:
    """Whether the body evaluates this argument after the `waiting` ones and before it does anything else."""
    assert callee.value is not None
    before = earlier_values(mention, callee.value, names)
    if before is None or names.in_text(mention):
        return False
    earlier = {node for each in before for node in walk(each)}
    return all(effect_free(each) for each in before) and all(each in earlier for each in waiting)


def names_clash(swaps: dict[cst.CSTNode, cst.CSTNode], callee: Callee, names: Names) -> bool:
    """Whether a comprehension or lambda of the body would catch a name of an argument."""
    for mention, value in swaps.items():
        assert isinstance(mention, cst.Name)
        scope = names.scope(mention)
        while scope is not callee.scope:
            if any(isinstance(each, cst.Name) and scope.assignments[each.value] for each in walk(value)):
                return True
            scope = scope.parent
    return False


def inline_statements(
    rewrite: Rewrite,
    call: cst.Call,
    callee: Callee,
    bound: Sequence[Bound],
    *,
    extra: Mapping[cst.CSTNode, cst.CSTNode] = MappingProxyType({}),
    drop: bool = False,
) -> bool:
    """`x = f(a, b)` -> the body of f, then `x = ` what it returns.

    `extra` exchanges more nodes of the body; with `drop` the statement of the call is not needed any more.
    """
    names = rewrite.names
    line = statement_to_prefix(call, names)
    root = root_of(call, names)
    earlier = unsettled(call, names)
    if line is None or line in rewrite.before or root in rewrite.instead or not may_be_named(earlier, rewrite):
        return False
    returned = isinstance(root, cst.Return) and root.value is call
    if callee.returns_early and not returned:
        return False
    target = names.scope(call)
    swaps = dict(extra)
    assigned: list[Bound] = []
    for each in bound:
        if may_stand_for(each.value, each.name, callee, call, names):
            swaps.update({mention: each.value for mention in uses(each.name, callee, names)})
        elif uses(each.name, callee, names) or not effect_free(each.value):
            assigned.append(each)
    given = {each.name for each in bound} - {each.name for each in assigned}
    locals_ = [each for each in dict.fromkeys(found.name for found in callee.scope.assignments) if each not in given]
    if names.in_loop(call) and any(lingers(each, callee, names) for each in locals_):
        return False
    arguments = {word.value for each in bound for word in walk(each.value) if isinstance(word, cst.Name)}
    results = result_names(root, call, callee, locals_, arguments, names)
    renamed = renaming(locals_, results, callee, target, rewrite)
    if renamed is None:
        return False
    for old, new in renamed.items():
        if new != old:
            swaps.update({mention: cst.Name(new) for mention in names.occurrences.get((callee.scope, old), [])})
    texts = [named(each, rewrite) for each in earlier]
    texts += [binding_text(each, renamed[each.name], callee, names) for each in assigned]
    texts += body_texts(callee, [exchange(each, swaps, names) for each in callee.statements], names)
    value = exchange(callee.value, swaps, names) if callee.value is not None else cst.Name("None")
    if results or drop:
        rewrite.instead[root] = ""
    elif isinstance(root, cst.Expr) and root.value is call and (callee.value is None or effect_free(callee.value)):
        rewrite.instead[root] = ""
    else:
        rewrite.swaps[call] = value
    rewrite.before[line] = texts
    rewrite.copied.append(callee.node)
    return True


def body_texts(callee: Callee, statements: Sequence[cst.CSTNode], names: Names) -> list[str]:
    """The statements of the body; as one, in its context, where the function has one."""
    if callee.grad_mode is not None and statements:
        block = cst.IndentedBlock(statements)  # type: ignore[arg-type]
        statements = [cst.With([cst.WithItem(callee.grad_mode)], block)]
    return [node_text(each, names) for each in statements]


def may_be_named(values: Sequence[cst.BaseExpression], rewrite: Rewrite) -> bool:
    """Whether these may get variables. A kernel with its grid stays where it is launched, and so does what is exchanged
    already, in part or as a whole."""
    inside = {node for each in values for node in walk(each)}
    if not inside.isdisjoint(rewrite.swaps) or any(isinstance(each, cst.NamedExpr | cst.Await) for each in inside):
        return False
    return not any(isinstance(each, cst.Subscript) and is_launched_from(each, rewrite.names) for each in values)


def is_launched_from(node: cst.Subscript, names: Names) -> bool:
    return isinstance(node.value, cst.Name) and is_launched(node.value, names)


def named(value: cst.BaseExpression, rewrite: Rewrite) -> str:
    """An assignment of the value, which its place then reads by name."""
    called = value.func if isinstance(value, cst.Call) else value
    word = dotted_text(called).rpartition(".")[2].lower() or "value"
    if word in rewrite.names.identifiers | rewrite.introduced or iskeyword(word) or hasattr(builtins, word):
        word = rewrite.fresh(word)
    rewrite.introduced.add(word)
    rewrite.swaps[value] = cst.Name(word)
    return f"{word} = {rewrite.names.module.code_for_node(value)}"


def lingers(local: str, callee: Callee, names: Names) -> bool:
    """Whether a closure that may outlive the call looks the local up."""
    return any(closures_over(each, callee, names) for each in names.occurrences.get((callee.scope, local), []))


def binding_text(bound: Bound, name: str, callee: Callee, names: Names) -> str:
    value = names.module.code_for_node(bound.value)
    if isinstance(bound.value, cst.GeneratorExp) and not bound.value.lpar:
        value = f"({value})"
    annotation = constexpr_annotation(bound.param)
    if callee.jit and annotation is not None:  # a tl.constexpr has to stay one
        return f"{name}: {names.module.code_for_node(annotation.annotation)} = {value}"
    return f"{name} = {value}"


def renaming(
    locals_: Sequence[str], results: dict[str, str], callee: Callee, target: Scope, rewrite: Rewrite
) -> dict[str, str] | None:
    """New names for the locals that would meet another variable where they move to."""
    names = rewrite.names
    taken = names.names_in_use(target)
    free = {
        name
        for scope, mentioned in names.words.items()
        if inside(scope, callee.scope)
        for name in mentioned
        if not inside(names.owner(scope, name), callee.scope)
    }
    renamed: dict[str, str] = {}
    for local in locals_:
        imports = any(isinstance(each, cst.Import | cst.ImportFrom) for each in names.bindings(callee.scope, local))
        name = receiver_name(local, callee)
        if local in results:
            name = results[local]
        elif imports and local in taken:
            if not same_import(local, callee, target, names):
                return None
        elif name in taken or name in free or (name in rewrite.introduced and is_constexpr(local, callee)):
            name = rewrite.fresh(name)
        renamed[local] = name
        if local not in results:
            rewrite.introduced.add(name)
            if lingers(local, callee, names):
                rewrite.long_lived.add(name)
    return renamed


def is_constexpr(param: str, callee: Callee) -> bool:
    """Triton refuses a second `N: tl.constexpr = ...` in one kernel."""
    params = [*callee.params.posonly_params, *callee.params.params, *callee.params.kwonly_params]
    return callee.jit and any(constexpr_annotation(each) for each in params if each.name.value == param)


def constexpr_annotation(param: cst.Param) -> cst.Annotation | None:
    found = param.annotation
    return found if found is not None and dotted_text(found.annotation).split(".")[-1] == "constexpr" else None


def receiver_name(local: str, callee: Callee) -> str:
    """An object made on the spot is called after its class rather than `self`."""
    if local == "self" and isinstance(callee.receiver, cst.Call) and isinstance(callee.receiver.func, cst.Name):
        return callee.receiver.func.value.lower()
    return local


def same_import(local: str, callee: Callee, target: Scope, names: Names) -> bool:
    """Whether the name means the very same import in both places."""

    def spelled(node: cst.CSTNode) -> str:
        return names.module.code_for_node(node).strip() if isinstance(node, cst.Import | cst.ImportFrom) else "?"

    here = {spelled(each) for each in names.bindings(callee.scope, local)}
    there = {spelled(each) for each in names.bindings(names.owner(target, local), local)}
    return len(here | there) == 1 and "?" not in here


def result_names(
    root: cst.CSTNode, call: cst.Call, callee: Callee, locals_: Sequence[str], arguments: set[str], names: Names
) -> dict[str, str]:
    """`y = f(x)` where f ends in `return out`: `out` may simply be called `y`, if nobody can see the difference."""
    if not isinstance(root, cst.Assign) or root.value is not call or len(root.targets) != 1 or callee.value is None:
        return {}
    targets, values = plain_names(root.targets[0].target), plain_names(callee.value)
    if not targets or len(targets) != len(values) or any(isinstance(above, cst.Try) for above in names.around(root)):
        return {}
    found = {value.value: target.value for value, target in zip(values, targets, strict=True)}
    if len(found) != len(targets) or len(set(found.values())) != len(targets) or not set(found) <= set(locals_):
        return {}
    mentioned = {name.value for part in (*callee.statements, callee.value) for name in names.variables(part)}
    mentioned |= {each.name for each in callee.scope.assignments}
    here = names.function_around(root)
    for value, target in found.items():
        owner = names.owner(names.scope(root), target)
        if owner is not names.scope(root) or target in names.rebindable or target in arguments:
            return {}
        if target != value and target in mentioned or lingers(value, callee, names):
            return {}
        if any(names.function_around(each) is not here for each in names.occurrences[owner, target]
               if names.in_loop(root) or not comes_after(each, root, names)):  # fmt: skip
            return {}
        binders = names.bindings(callee.scope, value)
        if any(isinstance(each, cst.FunctionDef | cst.Import | cst.ImportFrom) for each in binders):
            return {}
    return found


def comes_after(node: cst.CSTNode, root: cst.CSTNode, names: Names) -> bool:
    """Whether the node stands in a function that is not even defined when `root` runs."""
    return not isinstance(names.function_around(root), cst.Module) and names.spans[node] > names.spans[root]


def plain_names(node: cst.BaseExpression) -> list[cst.Name]:
    if isinstance(node, cst.Name):
        return [node]
    if isinstance(node, cst.Tuple | cst.List):
        found = [each.value for each in node.elements if isinstance(each, cst.Element)]
        return [each for each in found if isinstance(each, cst.Name)] if len(found) == len(node.elements) else []
    return []

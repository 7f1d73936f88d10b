"""CUDA: parameters of functions, kernels and templates go, with what is given for them everywhere.

A parameter that the body reads becomes the argument itself, where that says the same at each call. What Python calls is
called without it too, and declared without it in the other sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from shrinkray_gpu.reduction.edit import Change, Edit, Remove, Within
from shrinkray_gpu.reduction.native.native_change import Drop, Put
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import (
    NAMES,
    Source,
    arguments_of,
    declarator_name,
    function_of,
    is_inside,
    is_overloaded,
    sources,
    statement_of,
    unwrap_definition,
)

PARAMETER_KINDS = frozenset({"parameter_declaration", "optional_parameter_declaration"})
_MOST = 6
"""Values offered for one template parameter."""


def find(program: Program) -> Iterator[Edit]:
    everything = sources(program)
    for source in everything:
        for node in source.tree.nodes("function_definition"):
            yield from _of_function(program, everything, source, node)
        for node in source.tree.nodes("template_declaration"):
            yield from _of_template(source, node)


def _of_function(program: Program, everything: list[Source], source: Source, node: Node) -> Iterator[Edit]:
    declarator = function_of(node)
    name = declarator_name(declarator)
    listed = declarator.child("parameters") if declarator is not None else None
    if name is None or listed is None or source.of(name) == "PYBIND11_MODULE":
        return
    called = source.of(name)
    if is_overloaded(source, called):
        return
    for index, parameter in enumerate(listed.members):
        if parameter.kind not in PARAMETER_KINDS:
            continue
        own = declarator_name(parameter.child("declarator"))
        uses = [use for use in source.uses(own, node) if use.kind == "identifier"]
        changes: list[Change] = [Within(source.literal, Drop(parameter))]
        given: list[tuple[Source, Node]] = []
        fits = True
        for other in everything:
            for use in other.names.get(called, ()):
                place = arguments_of(use)
                if place is None or place is listed:
                    continue
                if index < len(place.members):
                    changes.append(Within(other.literal, Drop(place.members[index])))
                    if place.kind == "argument_list":
                        given.append((other, place.members[index]))
                elif parameter.kind == "parameter_declaration":
                    fits = False
        if not fits:
            continue
        changes += python_arguments(program, called, index)
        what = f"remove parameter {index} of {called}"
        weight = 2 * len(changes)
        if not uses:
            yield Edit(what, tuple(changes), weight=weight)
            continue
        texts = {other.of(each) for other, each in given}
        if len(texts) == 1:
            text = texts.pop()
            kept = [Within(source.literal, Put(use, (text,))) for use in uses]
            yield Edit(f"fix parameter {index} of {called}", (*changes, *kept), weight=weight)
        users = {user for use in uses if (user := statement_of(use)) is not None}
        dropped = [Within(source.literal, Drop(user)) for user in users]
        yield Edit(f"{what} with its uses", (*changes, *dropped), level=1, weight=weight + source.weight(users))


def python_arguments(program: Program, called: str, index: int) -> Iterator[Change]:
    """What the script gives for this parameter: `module.run(x, n)`; of a kernel that it got by its name, too,
    `kernel((1,), (32,), (x, n))` and `launch(stream, config, kernel, x, n)`."""
    calls = [node for node in program.layout.outer if isinstance(node, cst.Call)]
    held = _holders(program, called)
    for node in calls:
        own = node.func.value if isinstance(node.func, cst.Name) else ""
        if isinstance(node.func, cst.Attribute) and node.func.attr.value == called:
            yield from _argument(node.args, index)
        elif own in held or (isinstance(node.func, cst.Call) and _names_kernel(node.func, called)):
            listed = next((arg for arg in node.args if arg.keyword is not None and arg.keyword.value == "args"), None)
            listed = listed or (node.args[2] if len(node.args) > 2 and node.args[2].keyword is None else None)
            if listed is not None and isinstance(listed.value, (cst.Tuple, cst.List)):
                if len(listed.value.elements) > index:
                    yield Remove(listed.value.elements[index])
        else:
            for at, arg in enumerate(node.args):
                if isinstance(arg.value, cst.Name) and arg.value.value in held:
                    yield from _argument(node.args, at + 1 + index)


def _argument(args: Sequence[cst.Arg], index: int) -> Iterator[Change]:
    if len(args) > index and not any(arg.star or arg.keyword for arg in args[: index + 1]):
        yield Remove(args[index])


def _holders(program: Program, called: str) -> set[str]:
    """Variables that hold the kernel of this name: `kernel = module.get_function("fill")`."""
    return {
        target.target.value
        for node in program.layout.outer
        if isinstance(node, cst.Assign) and isinstance(node.value, cst.Call) and _names_kernel(node.value, called)
        for target in node.targets
        if isinstance(target.target, cst.Name)
    }


def _names_kernel(call: cst.Call, called: str) -> bool:
    return any(
        isinstance(arg.value, cst.SimpleString) and str(arg.value.evaluated_value).partition("<")[0] == called
        for arg in call.args
    )


def template_lists(source: Source, node: Node) -> tuple[str, Node, list[Node]] | None:
    """What a template is called, its list of parameters, and the lists of arguments that it is given."""
    listed = node.child("parameters")
    inner = unwrap_definition(node)
    name = inner.child("name")
    if inner.kind == "function_definition":
        name = declarator_name(function_of(inner))
        kind = inner.child("type")
        if kind is not None and kind.kind in ("struct_specifier", "class_specifier"):
            name = kind.child("name")
    elif name is None:
        name = next((each.child("name") for each in inner.walk() if each.kind.endswith("_specifier")), None)
    if name is None or listed is None:
        return None
    lists = []
    for use in source.names[source.of(name)]:
        up = use.parent
        if up is not None and up.kind in ("template_function", "template_type", "template_method"):
            if (given := up.child("arguments")) is not None:
                lists.append(given)
    return source.of(name), listed, lists


def template_parameter(parameter: Node) -> Node | None:
    """Its name."""
    own = declarator_name(parameter) if parameter.kind != "type_parameter_declaration" else None
    return own or next((each for each in reversed(parameter.members) if each.kind in NAMES), None)


def _of_template(source: Source, node: Node) -> Iterator[Edit]:
    found = template_lists(source, node)
    if found is None:
        return
    called, listed, lists = found
    for index, parameter in enumerate(listed.members):
        own = template_parameter(parameter)
        if own is None:
            continue
        uses = source.uses(own, node)
        gone = [given.members[index] for given in lists if index < len(given.members)]
        drops = [Drop(parameter), *map(Drop, gone)]
        if not uses:
            yield source.edit(f"remove template parameter {source.of(own)} of {called}", *drops, weight=4)
            continue
        values = list(dict.fromkeys(source.of(each) for each in gone if not is_inside(each, node)))
        default = parameter.child("default_value") or parameter.child("default_type")
        if default is not None and not values:
            values = [source.of(default)]
        for value in values[:_MOST]:
            fixed = [Put(use, (value,)) for use in uses]
            what = f"fix template parameter {source.of(own)} of {called} to {value}"
            yield source.edit(what, *drops, *fixed, weight=6)

"""Whether a script still has what a reduction looks for in its CUDA C++, by the syntax tree alone."""

from __future__ import annotations

import ast

from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import Source, declarator_name


def loads_a_local_array(text: str) -> bool:
    """A kernel has a WMMA load from an array of its own, a function of the host launches it, and Python calls that."""
    program = Program.from_text(text)
    if not program.parses or not program.literals or any(each.tree.errors for each in program.literals):
        return False
    called = {
        node.func.attr
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    for literal in program.literals:
        source = Source(literal)
        functions = source.tree.nodes("function_definition")
        kernels = {name(source, each) for each in functions if _loads(source, each)}
        for function in functions:
            launches = [each for each in function.walk() if each.kind == "kernel_call_syntax"]
            launched = {source.of(call.parent.children[0]) for call in launches if call.parent is not None}
            if kernels & launched and name(source, function) in called:
                return True
    return False


def name(source: Source, function: Node) -> str:
    declarator = function.child("declarator")
    found = declarator_name(declarator) if declarator is not None else None
    return source.of(found) if found is not None else ""


def _loads(source: Source, function: Node) -> bool:
    body = function.child("body")
    if body is None or "__global__" not in source.text[function.first : body.first]:
        return False
    arrays = set()
    for each in body.walk():
        if each.kind == "array_declarator" and (found := declarator_name(each)) is not None:
            arrays.add(source.of(found))
    for call in body.walk():
        if call.kind == "call_expression" and "load_matrix_sync" in source.of(call)[:24]:
            given = call.child("arguments")
            if given is not None and len(given.members) == 3 and source.of(given.members[1]) in arrays:
                return True
    return False

"""CUDA: what a .cu's `main` reads of its command line, all at once: options keep what they are without it.

Most programs begin with a loop over `argv`, or hand it to a function. Where the run that faults gives no words, that is
a tenth of the text and never runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_change import Drop, NativeChange, Put
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import declarator_name, function_of, is_a_file, is_inside, sources

_STATEMENTS = ("for_statement", "while_statement", "do_statement", "if_statement", "expression_statement")


def find(program: Program) -> Iterator[Edit]:
    for source in sources(program) if is_a_file(program) else ():
        for function in source.tree.nodes("function_definition"):
            declarator, body = function_of(function), function.child("body")
            listed = declarator.child("parameters") if declarator is not None else None
            if body is None or listed is None or source.of(declarator_name(declarator) or listed) != "main":
                continue
            names = [declarator_name(each.child("declarator")) for each in listed.members]
            uses = [use for own in names for use in source.uses(own, body)]
            found = [change for use in uses if (change := _without(uses, body, use)) is not None]
            changes = {change.node: change for change in found}
            if changes:
                all_gone = all(any(is_inside(use, place) for place in changes) for use in uses)
                head: list[NativeChange] = [Put(listed, ("()",))] if all_gone else []
                weight = source.weight(changes)
                yield source.edit("remove what reads the command line", *changes.values(), *head, weight=weight)


def _without(uses: list[Node], body: Node, use: Node) -> Drop | Put | None:
    """What stays where this use is not: the other arm, the variable without its value, or nothing."""
    around = [each for each in use.above() if is_inside(each, body) and each is not body]
    chosen = next((each for each in reversed(around) if each.kind == "conditional_expression"), None)
    condition, otherwise = (chosen.child("condition"), chosen.child("alternative")) if chosen else (None, None)
    if chosen and condition and otherwise and any(is_inside(each, condition) for each in uses):
        return Put(chosen, (otherwise,))
    outer = around[-1] if around else None
    if outer is None:
        return None
    if outer.kind == "declaration":
        initial = next((each for each in around if each.kind == "init_declarator"), None)
        name = initial.child("declarator") if initial is not None else None
        return Put(initial, (name,)) if initial is not None and name is not None else None
    if outer.kind not in _STATEMENTS:
        return None
    other = outer.child("alternative") if outer.kind == "if_statement" else None
    return Drop(outer) if other is None else Put(outer, (other.members[0],))

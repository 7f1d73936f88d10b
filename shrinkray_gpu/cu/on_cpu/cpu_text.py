"""A .cu as a host compiler can read it: launches are calls, and dynamic shared memory has an address."""

from __future__ import annotations

import re
from collections.abc import Mapping

from shrinkray_gpu.reduction.native.native_tree import Node, Tree, parse

_DYNAMIC = re.compile(r"extern\s+__shared__\s+(?:(?:__align__|alignas)\s*\(\d+\)\s*)?([^;()\[\]]*?)(\w+)\s*\[\s*\]\s*;")


def cpu_text(text: str) -> str:
    """For the machine of `prelude.hpp`. A kernel whose template arguments are deduced is called by a lambda."""
    tree = parse(text)
    templates = dict(found for node in tree.nodes("template_declaration") if (found := _parameters(tree, node)))
    out, at = "", 0
    for call in tree.nodes("call_expression"):
        launch = next((each for each in call.children if each.kind == "kernel_call_syntax"), None)
        given = call.child("arguments")
        if launch is not None and given is not None and call.first >= at:
            out += text[at : call.first] + _call(tree, call, launch, given, templates)
            at = call.last
    return _DYNAMIC.sub(r"\1* \2 = (\1*)shrink_cpu::shared_memory;", out + text[at:])


def _parameters(tree: Tree, template: Node) -> tuple[str, int] | None:
    """The name of a template of a kernel, and how many parameters it has."""
    listed, function = template.child("parameters"), template.members[-1]
    declared = next((each for each in function.children if each.kind == "function_declarator"), None)
    name = declared.child("declarator") if declared is not None else None
    if listed is None or name is None or not any(each.kind == "__global__" for each in function.children):
        return None
    return tree.text_of(name), len(listed.members)


def _call(tree: Tree, call: Node, launch: Node, given: Node, templates: Mapping[str, int]) -> str:
    kernel = tree.text[call.first : launch.first].strip()
    name = kernel.partition("<")[0].rpartition("::")[2]
    explicit = next((each for each in call.walk() if each.kind == "template_argument_list"), None)
    told = len(explicit.members) if explicit is not None and explicit.last <= launch.first else 0
    arguments = "".join(f", {tree.text_of(each)}" for each in given.members)
    shape = ", ".join(tree.text_of(each) for each in launch.members)
    deduced = told < templates.get(name, 0)
    how = f"deduced([](auto... given) {{ {kernel}(given...); }}" if deduced else f"run({kernel}"
    return f'shrink_cpu::Launch("{name}", {shape}).{how}{arguments})'

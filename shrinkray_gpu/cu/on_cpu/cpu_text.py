"""A .cu as a host compiler can read it: launches are calls, and dynamic shared memory has an address."""

from __future__ import annotations

import re

from shrinkray_gpu.reduction.native.native_tree import Node, Tree, parse

_DYNAMIC = re.compile(r"extern\s+__shared__\s+(?:(?:__align__|alignas)\s*\(\d+\)\s*)?([^;()\[\]]*?)(\w+)\s*\[\s*\]\s*;")
_KERNEL = re.compile(r"template\s*<.*?\b__global__\b.*?\bvoid\s+(\w+)\s*\(", re.DOTALL)


def cpu_text(text: str) -> str:
    """For the machine of `prelude.hpp`. A kernel whose template arguments are deduced is called by a lambda."""
    tree = parse(text)
    templates = {
        found[1] for node in tree.nodes("template_declaration") if (found := _KERNEL.match(tree.text_of(node)))
    }
    out, at = "", 0
    for call in tree.nodes("call_expression"):
        launch = next((each for each in call.children if each.kind == "kernel_call_syntax"), None)
        given = call.child("arguments")
        if launch is not None and given is not None and call.first >= at:
            out += text[at : call.first] + _call(tree, call, launch, given, templates)
            at = call.last
    return _DYNAMIC.sub(r"\1* \2 = (\1*)shrink_cpu::shared_memory;", out + text[at:])


def _call(tree: Tree, call: Node, launch: Node, given: Node, templates: set[str]) -> str:
    kernel = tree.text[call.first : launch.first].strip()
    name = kernel.partition("<")[0].rpartition("::")[2]
    arguments = "".join(f", {tree.text_of(each)}" for each in given.members)
    shape = ", ".join(tree.text_of(each) for each in launch.members)
    how = f"deduced([](auto... given) {{ {kernel}(given...); }}" if kernel in templates else f"run({kernel}"
    return f'shrink_cpu::Launch("{name}", {shape}).{how}{arguments})'

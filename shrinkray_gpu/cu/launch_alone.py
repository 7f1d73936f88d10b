"""One launch with all that it leads to, and nothing else: the first candidates, before all passes.

`main` becomes the launch with empty arguments (`kernel<Policy><<<1, 32>>>({}, {})`), and what its names do not lead to
goes. A compiler's fault hangs on no value that the host computes. A launch inside a template is written with what the
template is given. And for a program whose run shows the fault: each kernel that it launches without the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shrinkray_gpu.cu.cu_fault import kernels_of, launched_by_main
from shrinkray_gpu.cu.cu_program import program_of
from shrinkray_gpu.passes.cuda import cuda_definitions
from shrinkray_gpu.passes.cuda.cuda_parameters import template_lists, template_parameter
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render
from shrinkray_gpu.source.cuda import Source, enclosing, is_inside, items_of, words

MOST = 8
"""Candidates of each kind."""
_DEPTH = 4
"""Templates around each other through which arguments are followed."""
THREADS = "32"


def launches_alone(program: Program) -> Iterator[str]:
    """The texts of programs, each with one launch and empty arguments."""
    (literal,) = program.literals
    source, path = Source(literal), program.regions[0].path
    items = list(items_of(source.tree.root))
    launched = launched_by_main(source.tree)
    seen: set[str] = set()
    for launch in source.tree.nodes("kernel_call_syntax"):
        call = launch.parent
        given = call.child("arguments") if call is not None else None
        if call is None or given is None:
            continue
        for called in _instances(source, launch, source.text[call.first : launch.first].strip(), _DEPTH):
            name = called.partition("<")[0].rpartition("::")[2]
            owner = next((item for item in items if name in source.declares(item)), None)
            if name not in launched or owner is None:
                continue
            inside = _namespaces(source, owner)
            full = called if "::" in called.partition("<")[0] or not inside else f"{inside}::{called}"
            text = f"int main() {{ {full}<<<1, {THREADS}>>>({', '.join(['{}'] * len(given.members))}); }}\n"
            if text not in seen and len(seen) < MOST:
                seen.add(text)
                yield program_of(_reached(source, items, set(words(full))).rstrip() + f"\n{text}", path).text


def kernels_alone(program: Program) -> Iterator[str]:
    """The texts of programs, each with one of the kernels that `main` launches: what names another one is gone."""
    tree = program.literals[0].tree
    launched, every = launched_by_main(tree), kernels_of(tree)
    found = {
        kernel: edit for edit in cuda_definitions.find(program) for kernel in every if edit.what.endswith(f" {kernel}")
    }
    for kept in sorted(launched & every)[:MOST]:
        others = [edit for kernel, edit in found.items() if kernel != kept]
        if others:
            yield render(program, others).text


def _instances(source: Source, at: Node, called: str, depth: int) -> Iterator[str]:
    """What is called, with what the templates around it are given in place of their parameters."""
    around = enclosing(at, "template_declaration")
    found = template_lists(source, around) if around is not None else None
    if around is None or found is None or not depth:
        yield called
        return
    _, listed, lists = found
    names = [name for each in listed.members if (name := template_parameter(each)) is not None]
    if not {source.of(name) for name in names} & set(words(called)):
        yield from _instances(source, around, called, depth - 1)
        return
    for given in lists:
        if is_inside(given, around):
            continue
        text = called
        for name, value in zip(names, given.members):
            text = _substituted(text, source.of(name), source.of(value))
        yield from _instances(source, given, text, depth - 1)


def _substituted(text: str, name: str, value: str) -> str:
    return re.sub(rf"\b{re.escape(name)}\b", lambda found: value, text)


def _namespaces(source: Source, item: Node) -> str:
    """`a::b` of what is defined in these."""
    names = [up.child("name") for up in item.above() if up.kind == "namespace_definition"]
    return "::".join(source.of(name) for name in reversed(names) if name is not None)


def _reached(source: Source, items: list[Node], names: set[str]) -> str:
    """The text without `main` and the definitions that these names do not lead to."""
    declared = {item: source.declares(item) for item in items}
    mentioned = {item: set(words(source.of(item))) for item in items}
    todo = [item for item in items if declared[item] & names]
    live: set[Node] = set()
    while todo:
        item = todo.pop()
        if item not in live:
            live.add(item)
            todo += [each for each in items if each not in live and declared[each] & mentioned[item]]
    gone = [item for item in items if declared[item] and item not in live or "main" in declared[item]]
    out, at = "", 0
    for item in sorted(gone, key=lambda each: each.first):
        if item.first >= at:
            out += source.text[at : item.first]
            at = item.last
    return out + source.text[at:]

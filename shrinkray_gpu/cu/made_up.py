"""What a reduction may not make up of a program whose fault only a run shows.

A launch that computes its arguments may not get a null or a number for one. Nor may the size of an allocation, or the
shared memory of a launch, become a number of its own: the access would leave memory for another reason.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from shrinkray_gpu.reduction.native.native_tree import Node, Tree

_SIZES = {"cudaMalloc": 1, "cudaMallocAsync": 1, "cudaMallocManaged": 1, "cudaMallocFromPoolAsync": 1}
"""Where an allocation's size stands among its arguments."""
_NAMES = ("identifier", "field_identifier", "this", "qualified_identifier")
_NOTHING = ("NULL", "true", "false", "std")


@dataclass(frozen=True)
class Numbers:
    """What stands as a number, or as nothing, where a program could compute it."""

    arguments: Counter[str]
    """Of launches, by the kernel."""
    unshared: Counter[str]
    """Launches that ask for a number of bytes of shared memory, or for none, by the kernel."""
    sizes: frozenset[str]
    """Sizes of allocations."""

    def added(self, before: Numbers) -> str:
        """What is a number that was computed before; empty where nothing is."""
        for kernel in self.arguments - before.arguments:
            return f"a launch of {kernel} is given a number, or nothing, that the program computed"
        for kernel in self.unshared - before.unshared:
            return f"the shared memory of a launch of {kernel} is a number that the program computed"
        for size in sorted(self.sizes - before.sizes):
            return f"an allocation has another size, {size}"
        return ""


def numbers_of(tree: Tree) -> Numbers:
    arguments: Counter[str] = Counter()
    unshared: Counter[str] = Counter()
    sizes: set[str] = set()
    for call in tree.nodes("call_expression"):
        given = call.child("arguments")
        function = call.child("function")
        launch = next((each for each in call.children if each.kind == "kernel_call_syntax"), None)
        if given is None or function is None:
            continue
        name = tree.text_of(function).partition("<")[0].rpartition("::")[2].strip()
        if launch is not None:
            arguments[name] += sum(_is_number(tree, each) for each in given.members)
            shared = launch.members[2:3]
            unshared[name] += not shared or _is_number(tree, shared[0])
        elif name in _SIZES and len(given.members) > _SIZES[name]:
            size = given.members[_SIZES[name]]
            if _is_number(tree, size):
                sizes.add("".join(tree.text_of(size).split()))
    return Numbers(arguments, unshared, frozenset(sizes))


def _is_number(tree: Tree, node: Node) -> bool:
    """Whether it names nothing that the program computes; the size of a type is a number."""
    if node.kind == "sizeof_expression":
        return True
    if node.kind in _NAMES and tree.text_of(node) not in _NOTHING:
        return False
    return all(_is_number(tree, each) for each in node.children)

"""What a reduction may not make up of a program whose fault only a run shows.

A launch that computes its arguments may not get a null or a number for one. Nor may the size of an allocation, or the
shared memory of a launch, become a number of its own: the access would leave memory for another reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from shrinkray_gpu.reduction.native.native_tree import Node, Tree
from shrinkray_gpu.source.cuda import declarator_name

_SIZES = {"cudaMalloc": 1, "cudaMallocAsync": 1, "cudaMallocManaged": 1, "cudaMallocFromPoolAsync": 1}
"""Where an allocation's size stands among its arguments."""
_COPIES = {"cudaMemcpy": 2, "cudaMemcpyAsync": 2}
"""Where that of a copy does."""
_NAMES = ("identifier", "field_identifier", "this", "qualified_identifier")
_NOTHING = ("NULL", "true", "false", "std")


@dataclass(frozen=True, order=True)
class LaunchNumbers:
    """Which parts of one launch are numbers, or nothing."""

    kernel: str
    arguments: tuple[bool, ...]
    unshared: bool
    """Whether it asks for a number of bytes of shared memory, or for none."""

    def comes_from(self, before: LaunchNumbers) -> bool:
        """Whether it is that launch, or has fewer arguments, or computes more of them."""
        return self.kernel == before.kernel and _is_part(self.arguments, before.arguments)


@dataclass(frozen=True)
class Numbers:
    """What stands as a number, or as nothing, where a program could compute it."""

    launches: frozenset[LaunchNumbers]
    sizes: frozenset[str]
    """Sizes of allocations."""

    def added(self, before: Numbers) -> str:
        """What is a number that was computed before; empty where nothing is."""
        for launch in sorted(self.launches - before.launches):
            known = [each for each in before.launches if launch.comes_from(each)]
            if any(launch.arguments) and not known:
                return f"a launch of {launch.kernel} is given a number, or nothing, that the program computed"
            if launch.unshared and not any(each.unshared for each in known):
                return f"the shared memory of a launch of {launch.kernel} is a number that the program computed"
        for size in sorted(self.sizes - before.sizes):
            return f"an allocation has another size, {size}"
        return ""


def numbers_of(tree: Tree) -> Numbers:
    launches: set[LaunchNumbers] = set()
    sizes: set[str] = set()
    for call in tree.nodes("call_expression"):
        given = call.child("arguments")
        function = call.child("function")
        launch = next((each for each in call.children if each.kind == "kernel_call_syntax"), None)
        if given is None or function is None:
            continue
        name = tree.text_of(function).partition("<")[0].rpartition("::")[2].strip()
        if launch is not None:
            shared = launch.members[2:3]
            numbers = tuple(_is_number(tree, each) for each in given.members)
            launches.add(LaunchNumbers(name, numbers, not shared or _is_number(tree, shared[0])))
        elif name in _SIZES and len(given.members) > _SIZES[name]:
            size = given.members[_SIZES[name]]
            if _is_number(tree, size):
                sizes.add("".join(tree.text_of(size).split()))
    return Numbers(frozenset(launches), frozenset(sizes))


def counted_in_elements(tree: Tree) -> frozenset[str]:
    """Of allocations and copies those kinds of which each call's size is that of so many elements of a type, or has a
    name that stands for one."""
    defined = [*tree.nodes("init_declarator"), *tree.nodes("function_definition")]
    names = (declarator_name(each) for each in defined if _has_sizeof(each))
    named = {tree.text_of(name) for name in names if name is not None}
    kinds = {"an allocation": _SIZES, "a copy": _COPIES}
    return frozenset(kind for kind, calls in kinds.items() if _all_count(tree, calls, named))


def _all_count(tree: Tree, calls: Mapping[str, int], named: Set[str]) -> bool:
    for call in tree.nodes("call_expression"):
        function, given = call.child("function"), call.child("arguments")
        at = calls.get(tree.text_of(function)) if function is not None else None
        if at is None or given is None or len(given.members) <= at:
            continue
        size = given.members[at]
        mentioned = {tree.text_of(each) for each in size.walk() if each.kind in _NAMES}
        if not _has_sizeof(size) and not named & mentioned:
            return False
    return True


def _has_sizeof(node: Node) -> bool:
    return any(each.kind == "sizeof_expression" for each in node.walk())


def _is_part(arguments: Sequence[bool], before: Sequence[bool]) -> bool:
    """Whether they are some of those, in their order, with no number that was none."""
    left = iter(before)
    return all(any(was or not now for was in left) for now in arguments)


def _is_number(tree: Tree, node: Node) -> bool:
    """Whether it names nothing that the program computes; the size of a type is a number."""
    if node.kind == "sizeof_expression":
        return True
    if node.kind in _NAMES and tree.text_of(node) not in _NOTHING:
        return False
    return all(_is_number(tree, each) for each in node.children)

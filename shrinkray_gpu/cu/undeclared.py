"""Names that a candidate still says and no longer declares: no compiler takes it, which costs no build to tell."""

from __future__ import annotations

from collections.abc import Iterator, Set

from shrinkray_gpu.reduction.native.native_tree import Node, Tree
from shrinkray_gpu.source.cuda import declarator_name, declared_names, words

_DECLARING = ("declaration", "parameter_declaration", "optional_parameter_declaration", "for_range_loop")


def declared(tree: Tree) -> frozenset[str]:
    """What the text gives a meaning to, in whatever place: variables, parameters, functions, macros, types."""
    return frozenset(_declared(tree))


def undeclared(tree: Tree, known: Set[str]) -> str:
    """The first name said there of those that were `known` once and have no declaration any more; empty if none."""
    missing = known - declared(tree)
    said = (node for node in tree.nodes("identifier") if tree.text_of(node) in missing and not _is_qualified(node))
    return next(map(tree.text_of, said), "")


def _declared(tree: Tree) -> Iterator[str]:
    for node in tree.root.walk():
        yield from map(tree.text_of, declared_names(node))
        if node.kind in _DECLARING and (name := declarator_name(node.child("declarator"))) is not None:
            yield tree.text_of(name)
        elif node.kind in ("template_parameter_list", "structured_binding_declarator", "lambda_capture_specifier"):
            yield from words(tree.text_of(node))
        elif node.kind == "enumerator" and (name := node.child("name")) is not None:
            yield tree.text_of(name)
        elif node.kind == "ERROR":
            yield from words(tree.text_of(node))


def _is_qualified(node: Node) -> bool:
    return node.parent is not None and node.parent.kind == "qualified_identifier"

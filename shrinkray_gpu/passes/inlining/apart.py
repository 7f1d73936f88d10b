"""Edits that are in each other's way exclude each other.

Inlining `g` copies its body. If another Edit of the same subset inlines `f` inside that body and drops `f`, then the
copy calls a function that is gone: text that was copied does not know what else changes. The same goes for two Edits
that both bring a variable `total` into one scope. The renderer lets two Edits exclude each other if they put different
things in the place of one node, so one of such a pair gets a change that puts a node of the other in its own place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations

import libcst as cst

from shrinkray_gpu.passes.inlining.moved import Rewrite
from shrinkray_gpu.reduction.edit import Edit, Replace
from shrinkray_gpu.source.names_read import Names


def apart(rewrites: Iterable[Rewrite], names: Names) -> Iterator[Edit]:
    """The Edits of the Rewrites, those that copy least first."""
    made = [(each, each.edit()) for each in rewrites if not each.clashes]
    made.sort(key=lambda pair: len(pair[0].copied_calls))
    locks: dict[int, list[cst.CSTNode]] = {}
    for (first, (one, _)), (second, (other, _)) in combinations(enumerate(made), 2):
        if one.long_lived & other.introduced or other.long_lived & one.introduced:
            locks.setdefault(second, []).append(next(iter(one.replaced_roots)))
        elif (node := conflict(one, other, names)) is not None:
            locks.setdefault(second, []).append(node)
        elif (node := conflict(other, one, names)) is not None:
            locks.setdefault(first, []).append(node)
    for index, (rewrite, edit) in enumerate(made):
        found = [
            Replace(node, (node,)) for node in dict.fromkeys(locks.get(index, [])) if node not in rewrite.replaced_roots
        ]
        yield replace(edit, changes=(*edit.changes, *found))


def conflict(one: Rewrite, other: Rewrite, names: Names) -> cst.CSTNode | None:
    """A place changed by `one`, half of whose work is lost since `other` moves or drops the code around the place."""
    if not one.in_several_places:
        return None
    covered = {*other.copied, *other.touched_nodes}
    for node in one.replaced_roots:
        if node in other.replaced_roots:
            return None  # the renderer sees that by itself
        if node in covered or any(above in covered for above in names.around(node)):
            return node
    return None

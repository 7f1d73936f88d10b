"""A function, class or variable together with every statement that uses it.

Taking away a definition alone dies of a NameError, and its uses alone leave it behind; half of all tries of a plain
statement deleter end that way. So the definition goes with its uses, and with the variables that only these uses
defined, and so on: `ref = reference(x)` goes together with `reference`, and `assert_close(out, ref)` with `ref`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.edits import removal
from shrinkray_gpu.source.scoping import Binding, bindings
from shrinkray_gpu.source.tree import ancestors, depth, every, statement


def find(program: Program) -> Iterator[Edit]:
    variables = bindings(program)
    losses = Losses(program, variables)
    offered: set[frozenset[cst.CSTNode]] = set()
    for binding in variables:
        gone = losses.removal(binding)
        if gone is None or frozenset(gone) in offered:
            continue
        offered.add(frozenset(gone))
        yield _outermost_removal(program, f"remove {_kind(binding)} {binding.name} and its uses", gone)
    yield from _attributes(program)


def _outermost_removal(program: Program, what: str, nodes: Sequence[cst.CSTNode]) -> Edit:
    return removal(program, what, *nodes, level=min(depth(program, node) for node in nodes))


class Losses:
    """What has to go with a variable. Knows which variables are bound inside which node, so as not to ask all."""

    def __init__(self, program: Program, variables: Sequence[Binding]) -> None:
        self._program = program
        self._bound_in: dict[cst.CSTNode, dict[Binding, None]] = {}
        for binding in variables:
            for place in binding.places:
                for node in (place, *ancestors(program, place)):
                    if isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Lambda)) and node is not place:
                        break  # what is local to a function that goes, only it could use
                    self._bound_in.setdefault(node, {})[binding] = None

    def removal(self, start: Binding, *, param: cst.Param | None = None) -> list[cst.CSTNode] | None:
        """The nodes to remove, those of the variable itself first; None where something binds it that cannot go alone,
        such as a parameter other than `param`."""
        program = self._program
        gone: dict[cst.CSTNode, None] = {}
        lost: set[Binding] = set()
        todo = [start]
        while todo:
            binding = todo.pop()
            if binding in lost:
                continue
            lost.add(binding)
            nodes = [place if place is param else _maker(program, place) for place in binding.places]
            nodes += [user(program, read) for read in (*binding.reads, *binding.declared)]
            fresh: list[cst.CSTNode] = []
            for node in nodes:
                if node is None:
                    return None
                if node not in gone:
                    fresh.append(node)
                    gone[node] = None
            for node in fresh:
                todo.extend(other for other in self._bound_in.get(node, ()) if self._all_gone(other, gone))
        return _outermost(program, gone)

    def _all_gone(self, binding: Binding, gone: dict[cst.CSTNode, None]) -> bool:
        """Whether nothing is left that binds the name: the rest of its uses would fail."""
        program = self._program
        return all(any(above in gone for above in (place, *ancestors(program, place))) for place in binding.places)


def _maker(program: Program, place: cst.CSTNode) -> cst.CSTNode | None:
    """What to take away so that this place no longer binds."""
    if isinstance(place, (cst.FunctionDef, cst.ClassDef, cst.ImportAlias)):
        return place
    if isinstance(place, cst.Param):
        return None
    owner = statement(program, place)
    return owner if isinstance(owner, (cst.Assign, cst.AnnAssign, cst.AugAssign, cst.For, cst.With)) else None


def user(program: Program, read: cst.CSTNode) -> cst.CSTNode | None:
    """The least that goes with a use: a decorator, a default, an annotation, a handler, else the whole statement."""
    below = read
    for above in ancestors(program, read):
        if isinstance(above, (cst.Decorator, cst.Annotation)):
            return above
        if isinstance(above, cst.ExceptHandler) and not isinstance(below, cst.BaseSuite):
            return above
        if isinstance(above, cst.Param):
            return above.annotation if above.annotation is below else None
        if isinstance(above, cst.ClassDef):
            return below if isinstance(below, cst.Arg) else above
        if isinstance(above, cst.If) and above.test is below and isinstance(program.parents.get(above), cst.If):
            return _whole_chain(program, above)
        if isinstance(above, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
            return above
        below = above
    return None


def _whole_chain(program: Program, arm: cst.CSTNode) -> cst.CSTNode:
    while isinstance(above := program.parents.get(arm), cst.If):
        arm = above
    return arm


def _outermost(program: Program, gone: dict[cst.CSTNode, None]) -> list[cst.CSTNode]:
    return [node for node in gone if not any(above in gone for above in ancestors(program, node))]


def _kind(binding: Binding) -> str:
    kinds = {cst.FunctionDef: "function", cst.ClassDef: "class", cst.ImportAlias: "import"}
    return kinds.get(type(binding.places[0]), "variable")


def _attributes(program: Program) -> Iterator[Edit]:
    """`self.scale = ...` (or a field or method of a class) with the statements that mention `.scale` and the keywords
    `scale=` of calls that make such an object."""
    mentions: dict[str, list[cst.Attribute]] = {}
    for attribute in every(program, cst.Attribute):
        mentions.setdefault(attribute.attr.value, []).append(attribute)
    classes = {definition.name.value: definition for definition in every(program, cst.ClassDef)}
    for name, makers in _made_in_classes(program, mentions).items():
        gone = dict.fromkeys(makers)
        uses = [user(program, attribute) for attribute in mentions.get(name, [])]
        if any(use is None for use in uses):
            continue
        gone.update(dict.fromkeys(use for use in uses if use is not None))
        for call in every(program, cst.Call):
            if isinstance(call.func, cst.Name) and call.func.value in classes:
                gone.update(dict.fromkeys(a for a in call.args if a.keyword is not None and a.keyword.value == name))
        yield _outermost_removal(program, f"remove attribute {name} and its uses", _outermost(program, gone))


def _made_in_classes(program: Program, mentions: dict[str, list[cst.Attribute]]) -> dict[str, list[cst.CSTNode]]:
    made: dict[str, list[cst.CSTNode]] = {}
    for definition in every(program, cst.ClassDef):
        for entry in definition.body.body:
            if isinstance(entry, cst.FunctionDef) and not entry.name.value.startswith("__"):
                made.setdefault(entry.name.value, []).append(entry)
            for small in entry.body if isinstance(entry, cst.SimpleStatementLine) else ():
                target = small.target if isinstance(small, cst.AnnAssign) else None
                if isinstance(small, cst.Assign) and len(small.targets) == 1:
                    target = small.targets[0].target
                if isinstance(target, cst.Name):
                    made.setdefault(target.value, []).append(small)
    for name, attributes in mentions.items():
        for attribute in attributes:
            owner = statement(program, attribute)
            if (
                isinstance(owner, cst.Assign)
                and any(target.target is attribute for target in owner.targets)
                and isinstance(attribute.value, cst.Name)
                and attribute.value.value == "self"
            ):
                made.setdefault(name, []).append(owner)
    return made

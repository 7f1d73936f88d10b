"""CUDA: what nothing reads, all of it in one step: members, variables, parameters with what is given for them.

And what nothing reads then, until no more is found. One by one these are as many builds as there are, and each of them
holds: after the statement that a fault needs has been singled out, most of a source is of this sort.
"""

from __future__ import annotations

from collections.abc import Iterator

from shrinkray_gpu.passes.cuda.cuda_parameters import (
    PARAMETER_KINDS,
    python_arguments,
    template_lists,
    template_parameter,
)
from shrinkray_gpu.reduction.edit import Change, Edit, Within
from shrinkray_gpu.reduction.native.native_change import Drop
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import (
    Source,
    arguments_of,
    declarator_name,
    enclosing,
    function_of,
    is_overloaded,
    outside_words,
    sources,
)

MEMBERS, VARIABLES, PARAMETERS = "members", "variables", "parameters"
_EFFECTS = frozenset({"assignment_expression", "update_expression", "gnu_asm_expression", "new_expression"})
_PURE = ("static_cast", "reinterpret_cast", "const_cast", "min", "max", "std::min", "std::max", "sizeof", "std::strcmp")
_READS = (".size", ".data", ".get", ".begin", ".end", ".front", ".back", ".empty")
"""Methods of containers that change nothing."""
_PUSHES = (".push_back", ".emplace_back")
_FILLS = ("cudaMalloc", "cudaMemcpy", "cudaMemset", "cudaMemcpyAsync", "cudaMemsetAsync", "cudaFree")
"""What gives memory of the device a value, or takes it away: the first argument says which."""


def find(program: Program) -> Iterator[Edit]:
    everything = sources(program)
    if not everything:
        return
    for sorts in ((MEMBERS, VARIABLES, PARAMETERS), (MEMBERS,), (VARIABLES,), (PARAMETERS,)):
        found = _UnreadNodes(program, everything)
        while found.more(sorts):
            pass
        if found.gone:
            changes: list[Change] = [Within(source.literal, Drop(node)) for node, source in found.gone.items()]
            weight = sum(source.weight([node]) for node, source in found.gone.items())
            what = f"remove unread {' and '.join(sorts)}: {len(found.gone)}"
            yield Edit(what, (*changes, *found.python), weight=max(1, weight))


class _UnreadNodes:
    """What goes, as far as it was found."""

    def __init__(self, program: Program, everything: list[Source]) -> None:
        self.program, self.everything = program, everything
        self.outside = set(outside_words(program))
        self.gone: dict[Node, Source] = {}
        self.python: list[Change] = []

    def more(self, sorts: tuple[str, ...]) -> bool:
        before = len(self.gone)
        for source in self.everything:
            for node in source.tree.root.walk():
                if node.kind == "function_definition" and PARAMETERS in sorts:
                    self._parameters(source, node)
                elif node.kind == "template_declaration" and PARAMETERS in sorts:
                    self._template(source, node)
                elif node.kind == "static_assert_declaration" and MEMBERS in sorts:
                    self.gone.setdefault(node, source)
                elif node.kind == "field_declaration" and MEMBERS in sorts:
                    self._declaration(source, node)
                elif node.kind == "declaration" and VARIABLES in sorts and _declares_variables(node):
                    if not any(_has_effects(source, each) for each in node.walk()):
                        self._declaration(source, node)
        return len(self.gone) > before

    def _declaration(self, source: Source, node: Node) -> None:
        declarators = [each for each in node.children if each.field == "declarator"]
        for part in declarators if len(declarators) > 1 else [node]:
            self._part(source, node, part)

    def _part(self, source: Source, node: Node, part: Node) -> None:
        """Of a declaration: one of its declarators, or all of it."""
        own = declarator_name(part)
        names = source.declares(node) if part is node else {source.of(own)} if own is not None else set()
        seen = () if node.kind == "declaration" and enclosing(node, "function_definition") else names & self.outside
        if names and not seen and not self._is_gone(part):
            places = [
                (other, use)
                for name in names
                for other in self.everything
                for use in other.names.get(name, ())
                if _may_read(source, node, use)
            ]
            written = {(other, use): written_by(other, use) for other, use in places}
            inside = {use for _, use in places if use is own or part in use.above()}
            if all(use in inside or self._is_gone(use) or written[other, use] for other, use in places):
                self.gone[part] = source
                self.gone.update((statement, other) for (other, _), statement in written.items() if statement)

    def _parameters(self, source: Source, node: Node) -> None:
        declarator = function_of(node)
        name = declarator_name(declarator)
        listed = declarator.child("parameters") if declarator is not None else None
        if name is None or listed is None or source.of(name) == "PYBIND11_MODULE" or self._is_gone(node):
            return
        called = source.of(name)
        if is_overloaded(source, called):
            return
        lists = [
            (other, place)
            for other in self.everything
            for use in other.names.get(called, ())
            if (place := arguments_of(use)) is not None and place is not listed
        ]
        for index, parameter in enumerate(listed.members):
            if parameter.kind not in PARAMETER_KINDS or parameter in self.gone:
                continue
            uses = source.uses(declarator_name(parameter.child("declarator")), node)
            if not all(map(self._is_gone, uses)):
                continue
            if any(index >= len(place.members) for _, place in lists) and parameter.kind == "parameter_declaration":
                continue
            self.gone[parameter] = source
            self.gone.update((place.members[index], other) for other, place in lists if index < len(place.members))
            self.python += python_arguments(self.program, called, index)

    def _template(self, source: Source, node: Node) -> None:
        found = template_lists(source, node)
        if found is None or self._is_gone(node):
            return
        _, listed, lists = found
        for index, parameter in enumerate(listed.members):
            own = template_parameter(parameter)
            if own is None or parameter in self.gone:
                continue
            if all(map(self._is_gone, source.uses(own, node))):
                self.gone[parameter] = source
                self.gone.update((given.members[index], source) for given in lists if index < len(given.members))

    def _is_gone(self, node: Node) -> bool:
        return node in self.gone or any(up in self.gone for up in node.above())


def _declares_variables(node: Node) -> bool:
    """No functions; in a block `A a(b);` is read as one."""
    return function_of(node) is None or (node.parent is not None and node.parent.kind == "compound_statement")


def _may_read(source: Source, declaration: Node, use: Node) -> bool:
    """Whether this may be what is declared there, and not another thing of that name. A variable of a function is read
    in it, or in a macro; a member is said behind a point, or within its struct; static ones are not."""
    if declaration.kind != "field_declaration":
        own = enclosing(declaration, "function_definition")
        if use.kind == "field_identifier":
            return False
        return own is None or use.kind == "preproc_arg" or any(up is own for up in use.above())
    if "static" in source.of(declaration):
        return True
    return use.kind in ("field_identifier", "preproc_arg") or any(up is declaration.parent for up in use.above())


def written_by(source: Source, use: Node) -> Node | None:
    """The statement, if it does no more than give a value to the variable or member that is named there: an assignment,
    a `push_back`, an allocation, a copy or a clearing of memory of the device. Or the loop that does no more."""
    statement = enclosing(use, "expression_statement")
    if statement is None or len(statement.members) != 1:
        return None
    inner = statement.members[0]
    if inner.kind == "call_expression":
        target, values = _filled(source, inner)
    else:
        target, right = inner.child("left"), inner.child("right")
        values = [right] if right is not None else []
    if target is None or not values or (inner.kind not in ("assignment_expression", "call_expression")):
        return None
    values = [*values, *_indices(target)]
    while target is not None and target is not use and target.child("field") is not use:
        if target.kind == "field_expression" and "->" not in source.of(target):
            target = target.child("argument")
        elif target.kind == "subscript_expression":
            target = target.child("argument")
        else:
            return None
    if target is None or any(_has_effects(source, each) for value in values for each in value.walk()):
        return None
    return _loop_of(source, statement)


def _filled(source: Source, call: Node) -> tuple[Node | None, list[Node]]:
    """What a call fills, and with what."""
    function, given = call.child("function"), call.child("arguments")
    if function is None or given is None or not given.members:
        return None, []
    if function.kind == "field_expression" and source.of(function).endswith(_PUSHES):
        return function.child("argument"), given.members
    if source.of(function) not in _FILLS:
        return None, []
    target: Node | None = given.members[0]
    while target is not None and target.kind in ("cast_expression", "pointer_expression"):
        target = target.child("value") or target.child("argument")
    return target, given.members


def _indices(target: Node) -> list[Node]:
    return [each for each in target.walk() if each.kind == "subscript_argument_list"]


def _loop_of(source: Source, statement: Node) -> Node:
    """The loop around a statement that is all of its body, if it does no more than count."""
    body: Node | None = statement
    if (
        statement.parent is not None
        and statement.parent.kind == "compound_statement"
        and len(statement.parent.members) == 1
    ):
        body = statement.parent
    loop = body.parent if body is not None else None
    if loop is None or loop.child("body") is not body:
        return statement
    counts = (
        loop.kind == "for_statement"
        and (first := loop.child("initializer")) is not None
        and first.kind == "declaration"
    )
    if not counts and loop.kind != "for_range_loop":
        return statement
    heads = [each for each in loop.children if each.field in ("condition", "right")]
    return statement if any(_has_effects(source, each) for head in heads for each in head.walk()) else loop


def _has_effects(source: Source, node: Node) -> bool:
    if node.kind == "call_expression":
        called = node.child("function")
        if called is not None and called.kind == "field_expression":  # torch ends the others with a line
            return source.of(called).endswith(("_", *_PUSHES))
        return called is None or not source.of(called).startswith(_PURE)
    return node.kind in _EFFECTS

"""CUDA: what the constants of a traits struct come to, wherever they are read: `Traits::BLOCK_N` is 64.

Kernels take their tiles from `template <typename Traits>`, and the struct works them out of its own parameters, by
macros and divisions. With the numbers in their places nothing reads the struct any more, nor the template parameter.
An edit for each way in which the struct is instantiated; all members at once. Integers only.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.code import number
from shrinkray_gpu.reduction.native.native_change import Put
from shrinkray_gpu.reduction.native.native_tree import Node, parse
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import Source, declarator_name, is_inside, outermost, sources

_MOST = 6
"""Instances of one struct."""
_DEEPEST = 30
_OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "&&": lambda left, right: bool(left and right),
    "||": lambda left, right: bool(left or right),
    "/": lambda left, right: int(abs(left) // abs(right)) * (1 if left * right >= 0 else -1),
    "%": lambda left, right: abs(left) % abs(right) * (1 if left >= 0 else -1),
}


def find(program: Program) -> Iterator[Edit]:
    for source in sources(program):
        for struct in source.tree.nodes("struct_specifier", "class_specifier"):
            yield from _of_struct(source, struct)


def _of_struct(source: Source, struct: Node) -> Iterator[Edit]:
    name, body = struct.child("name"), struct.child("body")
    if name is None or body is None:
        return
    members = {}
    for each in body.members:
        own, value = each.child("declarator"), each.child("default_value")
        if each.kind == "field_declaration" and own is not None and value is not None and "static" in source.of(each):
            members[source.of(own)] = value
    uses = [use for use in _qualified(source, members) if not is_inside(use, struct)]
    if not uses:
        return
    for known in _instances(source, struct, source.of(name)):
        values = _Values(source, {**_macros(source), **members, **known})
        puts = []
        for use in uses:
            worth = values.of_name(source.of(use).rpartition("::")[2])
            if worth is not None:
                puts.append(Put(use, (str(worth) if worth >= 0 else f"({worth})",)))
        if puts:
            given = " ".join(source.of(each) for each in known.values())
            yield source.edit(f"values of {source.of(name)} {given}".rstrip(), *puts, weight=3 * len(puts))


def _qualified(source: Source, members: Mapping[str, Node]) -> Iterator[Node]:
    """`a::B::NAME`, whatever the scope is called: a template parameter, an alias, or the struct."""
    for member in members:
        for use in source.names[member]:
            up = use.parent
            if up is not None and up.kind == "qualified_identifier" and up.child("name") is use:
                yield outermost(up, "qualified_identifier")


def _instances(source: Source, struct: Node, name: str) -> Iterator[dict[str, Node]]:
    """Each set of arguments that the struct is given, by the names of its parameters; one empty set if it has none."""
    template = struct.parent
    if template is None or template.kind != "template_declaration":
        yield {}
        return
    listed = template.child("parameters")
    names = [declarator_name(each) for each in listed.members] if listed is not None else []
    seen: dict[str, dict[str, Node]] = {}
    for use in source.names[name]:
        up = use.parent
        given = up.child("arguments") if up is not None and up.kind == "template_type" else None
        if given is None or is_inside(use, template):
            continue
        pairs = zip(names, given.members)  # noqa: B905 (the rest has defaults)
        seen.setdefault(source.of(given), {source.of(own): each for own, each in pairs if own is not None})
    yield from list(seen.values())[:_MOST]


def _macros(source: Source) -> dict[str, Node]:
    return {
        source.of(name): node
        for node in source.tree.nodes("preproc_def", "preproc_function_def")
        if (name := node.child("name")) is not None and node.child("value") is not None
    }


class _Values:
    """What expressions over known names come to; None where one is not known."""

    def __init__(self, source: Source, known: Mapping[str, Node]) -> None:
        self.source, self.known, self.depth = source, known, 0

    def of_name(self, name: str, bound: Mapping[str, int] = {}) -> int | None:  # noqa: B006 (never written to)
        if name in bound:
            return bound[name]
        node = self.known.get(name)
        if node is None or node.kind == "preproc_function_def":
            return None
        return self._macro(node, {}) if node.kind == "preproc_def" else self._of(self.source.of, node, {})

    def _macro(self, node: Node, bound: Mapping[str, int]) -> int | None:
        value = node.child("value")
        assert value is not None
        tree = parse(f"int x = {self.source.of(value).split('//')[0]};")
        found = next((each.child("value") for each in tree.nodes("init_declarator")), None)
        return None if found is None or tree.errors else self._of(tree.text_of, found, bound)

    def _of(self, text: Callable[[Node], str], node: Node, bound: Mapping[str, int]) -> int | None:
        self.depth += 1
        try:
            if self.depth > _DEEPEST:
                return None
            value = self._worked_out(text, node, bound)
            return None if value is None else int(value)
        except (ZeroDivisionError, ValueError, OverflowError):
            return None
        finally:
            self.depth -= 1

    def _worked_out(self, text: Callable[[Node], str], node: Node, bound: Mapping[str, int]) -> int | None:
        def part(name: str) -> int | None:
            child = node.child(name)
            return None if child is None else self._of(text, child, bound)

        match node.kind:
            case "number_literal":
                return number(text(node))
            case "true" | "false":
                return int(node.kind == "true")
            case "identifier":
                return self.of_name(text(node), bound)
            case "parenthesized_expression":
                return self._of(text, node.members[0], bound) if len(node.members) == 1 else None
            case "conditional_expression":
                chosen = part("condition")
                return None if chosen is None else part("consequence" if chosen else "alternative")
            case "unary_expression":
                value, sign = part("argument"), text(node)[0]
                return None if value is None else {"-": -value, "+": value, "!": int(not value), "~": ~value}.get(sign)
            case "binary_expression":
                left, right, between = part("left"), part("right"), node.child("operator")
                made = _OPERATORS.get(text(between)) if between is not None else None
                return None if left is None or right is None or made is None else made(left, right)
            case "call_expression":
                return self._call(text, node, bound)
        return None

    def _call(self, text: Callable[[Node], str], node: Node, bound: Mapping[str, int]) -> int | None:
        """Of a macro with parameters."""
        called, given = node.child("function"), node.child("arguments")
        macro = self.known.get(text(called)) if called is not None else None
        listed = macro.child("parameters") if macro is not None else None
        if given is None or macro is None or listed is None or len(listed.members) != len(given.members):
            return None
        values = {}
        for own, each in zip(listed.members, given.members, strict=True):
            value = self._of(text, each, bound)
            if value is None:
                return None
            values[self.source.of(own)] = value
        return self._macro(macro, values)

"""Places in a source: expressions of kernels and of the host, each with its function and its statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper, ParentNodeProvider, PositionProvider

JIT = ("jit", "autotune", "heuristics")


@dataclass(frozen=True)
class Edit:
    """One replacement in a text."""

    start: int
    """In bytes, as `end`."""
    end: int
    old: str
    new: str
    function: str
    """The outermost function that it lies in; empty: none."""
    statement: str
    """The small statement, or the head of the compound one, that it lies in."""
    line: int


@dataclass(frozen=True)
class Place:
    """A node of a source."""

    source: Source
    node: cst.CSTNode
    function: cst.FunctionDef | None

    def code(self, node: cst.CSTNode | None = None) -> str:
        return self.source.module.code_for_node(node or self.node).strip()

    def code_with(self, node: cst.CSTNode, new: str) -> str:
        """The code of this place with another expression for one of those in it."""
        return self.code(self.node.deep_replace(node, cst.parse_expression(new)))  # type: ignore[arg-type]

    @property
    def parent(self) -> cst.CSTNode:
        return self.source.parents[self.node]

    @property
    def in_kernel(self) -> bool:
        return self.function is not None and is_kernel(self.function)

    def edit(self, new: str) -> Edit:
        span, source = self.source.spans[self.node], self.source
        old = source.data[span.start : span.start + span.length].decode()
        name = self.function.name.value if self.function else ""
        line = source.lines[self.node].start.line
        return Edit(span.start, span.start + span.length, old, new, name, source.statement(self.node), line)


class Source:
    """A parsed text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.data = text.encode()
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        self.module = wrapper.module
        self.spans = wrapper.resolve(ByteSpanPositionProvider)
        self.lines = wrapper.resolve(PositionProvider)
        self.parents = wrapper.resolve(ParentNodeProvider)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """All nodes, from the top."""
        return tuple(self._places(self.module, None))

    def _places(self, node: cst.CSTNode, function: cst.FunctionDef | None) -> Iterator[Place]:
        if isinstance(node, cst.FunctionDef) and (function is None or not is_kernel(function)) and is_kernel(node):
            function = node
        elif isinstance(node, cst.FunctionDef) and function is None:
            function = node
        yield Place(self, node, function)
        for child in node.children:
            yield from self._places(child, function)

    @cached_property
    def kernels(self) -> frozenset[str]:
        """Names of the functions with a `@triton.jit` of their own."""
        nodes = [place.node for place in self.places]
        return frozenset(one.name.value for one in nodes if isinstance(one, cst.FunctionDef) and is_kernel(one))

    @property
    def language(self) -> str:
        """What the text calls triton.language."""
        for place in self.places:
            if isinstance(place.node, cst.ImportAlias) and place.code(place.node.name) == "triton.language":
                return place.node.asname.name.value if place.node.asname else "triton.language"  # type: ignore[union-attr]
        return "triton.language" if "import triton\n" in self.text else "tl"

    def statement(self, node: cst.CSTNode) -> str:
        while not isinstance(node, (cst.BaseSmallStatement, cst.BaseCompoundStatement, cst.Module)):
            node = self.parents[node]
        code = self.module.code_for_node(node).strip()
        if isinstance(node, cst.BaseSmallStatement):
            return code
        heads = [line for line in code.splitlines() if not line.lstrip().startswith(("@", "#"))]
        return heads[0].strip() if heads else ""

    def with_edits(self, edits: Sequence[Edit]) -> str:
        """The text with these edits; of two that overlap the later one is left out."""
        data, limit = self.data, len(self.data) + 1
        for edit in sorted(edits, key=lambda one: one.start, reverse=True):
            if edit.end <= limit:
                data, limit = data[: edit.start] + edit.new.encode() + data[edit.end :], edit.start
        return data.decode()


def is_kernel(function: cst.FunctionDef) -> bool:
    return any(last_name(one.decorator) in JIT for one in function.decorators)


def last_name(node: cst.CSTNode) -> str:
    """`tl.load(...)`, `load`: load. Empty for what is no name."""
    if isinstance(node, cst.Call):
        node = node.func
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def called(node: cst.CSTNode, *names: str) -> bool:
    return isinstance(node, cst.Call) and last_name(node) in names


def keyword(call: cst.Call, name: str) -> cst.Arg | None:
    return next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == name), None)


def argument(call: cst.Call, position: int, name: str) -> cst.Arg | None:
    """By its name, else by its position."""
    if (found := keyword(call, name)) is not None:
        return found
    plain = [arg for arg in call.args if arg.keyword is None]
    return plain[position] if position < len(plain) else None

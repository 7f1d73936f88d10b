"""The syntax of one definition: the names that it reads from outside, and where they stand in its text."""

from __future__ import annotations

import ast
from typing import Any, Iterator, List, Set, Tuple


class Reads(ast.NodeVisitor):
    """Names that a definition takes from outside, each with the attributes that follow it."""

    def __init__(self, local: Set[str]) -> None:
        self.local = local
        self.reads: List[Tuple[ast.Name, List[ast.Attribute], bool]] = []
        self.annotations: List[Any] = []
        self.body = False

    def visit_FunctionDef(self, node: Any) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        arguments = node.args
        for default in (*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)):
            self.visit(default)
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if argument.annotation is not None:
                self.annotations.append(argument.annotation)
        if node.returns is not None:
            self.annotations.append(node.returns)
        before, self.body = self.body, True
        for statement in node.body:
            self.visit(statement)
        self.body = before

    def visit_Attribute(self, node: ast.Attribute) -> None:
        chain: List[ast.Attribute] = []
        at: Any = node
        while isinstance(at, ast.Attribute):
            chain.insert(0, at)
            at = at.value
        if isinstance(at, ast.Name):
            self._read(at, chain)
        else:
            self.visit(at)

    def visit_Name(self, node: ast.Name) -> None:
        self._read(node, [])

    def _read(self, node: ast.Name, chain: List[ast.Attribute]) -> None:
        if isinstance(node.ctx, ast.Load) and node.id not in self.local:
            self.reads.append((node, chain, self.body))


def reads_of(node: Any) -> List[Tuple[ast.Name, List[ast.Attribute], bool]]:
    found = Reads(set())
    found.visit(node)
    return found.reads


def names_bound(definition: Any) -> Set[str]:
    """Names that the definition binds itself."""
    return {name for node in ast.walk(definition) if node is not definition for name in _binds(node)}


def _binds(node: Any) -> Iterator[str]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]


def line_starts(text: str) -> List[Tuple[int, str]]:
    starts, at = [], 0
    for line in text.split("\n"):
        starts.append((at, line))
        at += len(line) + 1
    return starts


def _offset(starts: List[Tuple[int, str]], line: int, column: int) -> int:
    """Columns of the syntax tree count bytes."""
    begin, text = starts[line - 1]
    return begin + len(text.encode()[:column].decode())


def start_of(starts: List[Tuple[int, str]], node: Any) -> int:
    return _offset(starts, node.lineno, node.col_offset)


def end_of(starts: List[Tuple[int, str]], node: Any) -> int:
    return _offset(starts, node.end_lineno, node.end_col_offset)


def colon_before(text: str, at: int) -> int:
    """Where the `:` or `->` before an annotation begins, with the blanks before it."""
    head = text[:at].rstrip()
    head = head[:-2] if head.endswith("->") else head[:-1]
    return len(head.rstrip())

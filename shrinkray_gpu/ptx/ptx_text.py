"""PTX to statements and back. One statement is one line of the text that is written, so that a line in a message of
ptxas names a statement.

Operands stay text. What an edit must know of them (registers, labels) is found in it by name: see `operands`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

OPEN, CLOSE, LABEL, HEADER, FUNCTION, SECTION, REGISTERS, VARIABLE, NOTE, CODE = (
    "open", "close", "label", "header", "function", "section", "registers", "variable", "note", "code",
)  # fmt: skip
"""Kinds of statements: `header` is .version and its like, `note` is .loc, .file, .pragma."""
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.S)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|::|[;:{}\n]|[^";:{}\n]+')
_LINES = (".version", ".target", ".address_size", ".loc", ".file")
"""What ends with its line."""
_NAME = re.compile(r"[\w$%.]+\Z")
_FUNCTION = re.compile(r"^(?:\.\w+\s+)*\.(?:entry|func)\b")
_HEAD = re.compile(
    r"(?P<prefix>(?:\.\w+\s+)*\.(?:entry|func)\s*(?:\([^()]*\)\s*)?)(?P<name>[\w$%]+)\s*"
    r"(?:\((?P<parameters>[^()]*)\))?\s*(?P<directives>.*)",
    re.S,
)
_DIRECTIVE = re.compile(r"\.\w+(?:\s+(?!\.)[^.]*)?")


class NotPtx(ValueError):
    """The text is not PTX, as far as this grammar goes."""


@dataclass(frozen=True)
class PtxStatement:
    """One statement. `text` has no semicolon; of a function it is what stands before the parameters."""

    key: int
    kind: str
    text: str
    parameters: tuple[str, ...] = ()
    """Of a function: `.param .b64 a`."""
    directives: tuple[str, ...] = ()
    """Of a function: `.reqntid 128`."""
    body: bool = True
    """Of a function: whether one follows."""

    @property
    def is_entry(self) -> bool:
        return self.kind == FUNCTION and ".entry" in self.text.split()

    @property
    def name(self) -> str:
        """Of a function or a label."""
        return self.text.split()[-1]

    def written(self) -> str:
        if self.kind == FUNCTION:
            parts = [f"{self.text}({', '.join(self.parameters)})", *self.directives]
            return " ".join(parts) + ("" if self.body else ";")
        if self.kind in (REGISTERS, VARIABLE, CODE):
            return f"{self.text};"
        if self.kind == NOTE and self.text.startswith(".pragma"):
            return f"{self.text};"
        return f"{self.text}:" if self.kind == LABEL else self.text


@dataclass(frozen=True)
class PtxModule:
    """Statements in the order of the text."""

    statements: tuple[PtxStatement, ...]

    def __iter__(self) -> Iterator[PtxStatement]:
        return iter(self.statements)

    @cached_property
    def function_of(self) -> Mapping[int, PtxStatement]:
        """The function in whose body a statement stands, by the statement's key."""
        found: dict[int, PtxStatement] = {}
        current, depth = None, 0
        for each in self.statements:
            if each.kind == FUNCTION and each.body:
                current = each
            elif current is not None:
                depth += (each.kind == OPEN) - (each.kind == CLOSE)
                found[each.key] = current
                if not depth:
                    current = None
        return found

    @cached_property
    def closing(self) -> Mapping[int, int]:
        """The key of the bracket that closes a block, by the key of the one that opens it."""
        found, left = {}, []
        for each in self.statements:
            if each.kind == OPEN:
                left.append(each.key)
            elif each.kind == CLOSE and left:
                found[left.pop()] = each.key
        return found

    @property
    def fresh(self) -> int:
        return max((each.key for each in self.statements), default=0) + 1

    def with_statements(self, statements: Sequence[PtxStatement]) -> PtxModule:
        """The same module where nothing changes."""
        return self if tuple(statements) == self.statements else PtxModule(tuple(statements))


def count(module: PtxModule) -> int:
    """Its instructions."""
    return sum(each.kind == CODE for each in module)


def write(module: PtxModule) -> str:
    """One line a statement."""
    return "".join(f"{each.written()}\n" for each in module)


def lines_of(module: PtxModule) -> Mapping[int, int]:
    """The key of the statement in each line of what `write` makes."""
    found, line = {}, 1
    for each in module:
        for _ in range(each.written().count("\n") + 1):
            found[line] = each.key
            line += 1
    return found


def pretty(module: PtxModule) -> str:
    """The same for people: indented, with the parameters of a function in lines of their own."""
    lines, depth = [], 0
    for each in module:
        depth -= each.kind == CLOSE
        text = each.written()
        if each.kind == FUNCTION and len(each.parameters) > 1:
            bare = replace(each, parameters=()).written()
            parameters = ",\n".join(f"    {one}" for one in each.parameters)
            text = bare.replace("()", f"(\n{parameters}\n)", 1)
        lines.append("    " * (depth - (each.kind == LABEL)) + text)
        depth += each.kind == OPEN
    return "\n".join(lines) + "\n"


def read(text: str) -> PtxModule:
    """The module of this text. Raises NotPtx."""
    statements: list[PtxStatement] = []
    for kind, words in _pieces(_COMMENT.sub(lambda found: found[1] or " ", text)):
        words = " ".join(words.split())
        if kind in (FUNCTION, VARIABLE) and _FUNCTION.match(words):
            statements.append(_function(len(statements) + 1, words, body=kind == FUNCTION))
        else:
            statements.append(PtxStatement(len(statements) + 1, kind, words))
    if not any(each.text.startswith(".version") for each in statements):
        raise NotPtx("no .version")
    return PtxModule(tuple(statements))


def _function(key: int, words: str, *, body: bool) -> PtxStatement:
    found = _HEAD.match(words)
    if found is None:
        raise NotPtx(f"a function without a name: {words[:60]}")
    parameters = tuple(each.strip() for each in (found["parameters"] or "").split(",") if each.strip())
    directives = tuple(each.strip() for each in _DIRECTIVE.findall(found["directives"]))
    return PtxStatement(key, FUNCTION, f"{found['prefix']}{found['name']}", parameters, directives, body)


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Kind and text of each statement."""
    left, inside = "", 0
    """`inside` counts the open brackets of operands, of initialisers and of a section."""
    for token in _TOKEN.findall(text):
        bare = left.strip()
        if inside or token == "{" and bare and not _FUNCTION.match(bare):
            inside += (token == "{") - (token == "}")
            left += token if bare.startswith(".section") or token != "\n" else " "
            if not inside and bare.startswith(".section"):
                yield SECTION, left
                left = ""
        elif token == "{":
            if bare:
                yield FUNCTION, bare
            yield OPEN, "{"
            left = ""
        elif token == "}":
            if bare:
                raise NotPtx(f"no ; behind {bare[:60]}")
            yield CLOSE, "}"
        elif token == ";":
            if bare:
                yield _kind(bare), bare
            left = ""
        elif token == ":" and _NAME.match(bare):
            yield LABEL, bare
            left = ""
        elif token == "\n" and bare.startswith(_LINES):
            yield (NOTE if bare.startswith((".loc", ".file")) else HEADER), bare
            left = ""
        else:
            left += token if token != "\n" else " "
    if inside or left.strip():
        raise NotPtx(f"it is cut short at {left.strip()[-60:]}")


def _kind(statement: str) -> str:
    if not statement.startswith("."):
        return CODE
    if statement.startswith(".pragma"):
        return NOTE
    return REGISTERS if statement.startswith(".reg") and not statement.startswith(".reqn") else VARIABLE

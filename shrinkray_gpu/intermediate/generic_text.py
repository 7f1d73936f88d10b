"""MLIR's generic form to an IrModule and back: the one grammar that all dialects share.

%0 = "name"(%a, %b) [^bb1] <{properties}> ({regions}) {attributes} : (types) -> types
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from shrinkray_gpu.intermediate.model import IrModule, IrValue, ModuleBlock, Operation, types

MARK = "llvm.data_layout"
"""The attribute that made `libtriton` print the generic form; see `runner/inside/intermediate/module_text.py`."""
_SPACE = re.compile(r"(?:\s|//[^\n]*)*")
_ALIAS = re.compile(r"^[#!][\w$.-]+ = .*$", re.M)
_RESULT = re.compile(r"%([\w$.-]+)(?::(\d+))?")
_OPERAND = re.compile(r"%([\w$.-]+(?:#\d+)?)")
_LABEL = re.compile(r"\^([\w$.-]+)")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_OPEN, _CLOSE = "([{<", ")]}>"


class NotGeneric(ValueError):
    """The text is not MLIR's generic form, as far as this grammar goes."""


def read(text: str) -> IrModule:
    """The module of this text. Raises NotGeneric."""
    reader = _Reader(text)
    aliases = []
    while True:
        reader.space()
        found = _ALIAS.match(text, reader.at)
        if found is None:
            break
        aliases.append(found[0])
        reader.at = found.end()
    top = reader.operation()
    top = replace(top, attributes=tuple(each for each in top.attributes if each[0] != MARK))
    return IrModule(tuple(each for each in aliases if not each.startswith("#loc")), _resolved(top, reader, {}))


class _Reader:
    """A place in the text. Operands are numbers of their names until all is read: a use may precede its definition."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.keys = iter(range(1, 1 << 40))
        self.names: dict[int, str] = {}
        """Of values by their keys, and of operands by the negative numbers that stand for them."""

    def space(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def has(self, word: str) -> bool:
        self.space()
        if not self.text.startswith(word, self.at):
            return False
        self.at += len(word)
        return True

    def expect(self, word: str) -> None:
        if not self.has(word):
            raise NotGeneric(f"{word!r} is missing before {self.text[self.at : self.at + 40]!r}")

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self.space()
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def balanced(self, stops: str) -> str:
        """The text from here to one of `stops` outside of all brackets and strings."""
        start, depth = self.at, 0
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter == '"':
                found = _STRING.match(self.text, self.at)
                if found is None:
                    break
                self.at = found.end()
                continue
            if not depth and letter in stops:
                return self.text[start : self.at].strip()
            if letter in _OPEN:
                depth += 1
            elif letter in _CLOSE and not (letter == ">" and self.text[self.at - 1] == "-"):
                depth -= 1
            self.at += 1
        if depth or not stops.endswith("\n"):
            raise NotGeneric(f"no end of {self.text[start : start + 40]!r}")
        return self.text[start:].strip()

    def operation(self) -> Operation:
        names: list[str] = []
        while found := self.match(_RESULT):
            names += [found[1]] if found[2] is None else [f"{found[1]}#{at}" for at in range(int(found[2]))]
            if not self.has(","):
                self.expect("=")
                break
        name = self.match(_STRING)
        if name is None:
            raise NotGeneric(f"no operation at {self.text[self.at : self.at + 40]!r}")
        self.expect("(")
        operands = []
        while not self.has(")"):
            if (use := self.match(_OPERAND)) is None:
                raise NotGeneric(f"no operand at {self.text[self.at : self.at + 40]!r}")
            operands.append(self._number(use[1]))
            self.has(",")
        successors = []
        if self.has("["):
            while not self.has("]"):
                if (label := self.match(_LABEL)) is None:
                    raise NotGeneric(f"no block at {self.text[self.at : self.at + 40]!r}")
                successors.append(label[1])
                self.has(",")
        properties = self.dictionary(">") if self.has("<") else ()
        regions = []
        if self.has("("):
            while not self.has(")"):
                regions.append(self.region())
                self.has(",")
        attributes: tuple[tuple[str, str], ...] = ()
        self.space()
        if self.text.startswith("{", self.at):
            attributes = self.dictionary("")
        self.expect(":")
        kinds = self._types(len(names))
        results = []
        for result, kind in zip(names, kinds):
            results.append(IrValue(next(self.keys), kind))
            self.names[results[-1].key] = result
        return Operation(
            next(self.keys), name[1], tuple(results), tuple(operands), tuple(successors), properties, tuple(regions),
            attributes,
        )  # fmt: skip

    def _number(self, name: str) -> int:
        number = -next(self.keys)
        self.names[number] = name
        return number

    def dictionary(self, then: str) -> tuple[tuple[str, str], ...]:
        self.expect("{")
        entries = []
        while not self.has("}"):
            entry = self.balanced(",}")
            name, _, value = entry.partition("=")
            entries.append((name.strip().strip('"'), value.strip()))
            self.has(",")
        if then:
            self.expect(then)
        return tuple(entries)

    def region(self) -> tuple[ModuleBlock, ...]:
        self.expect("{")
        found: list[ModuleBlock] = []
        while not self.has("}"):
            if self.at >= len(self.text):
                raise NotGeneric("a region has no end")
            label, arguments = "", []
            if head := self.match(_LABEL):
                label = head[1]
                if self.has("("):
                    while not self.has(")"):
                        argument = self.match(_OPERAND)
                        if argument is None:
                            raise NotGeneric(f"no argument at {self.text[self.at : self.at + 40]!r}")
                        self.expect(":")
                        self.space()
                        kind = re.sub(r" loc\(.*\)$", "", self.balanced(",)"), flags=re.S)
                        arguments.append(IrValue(next(self.keys), kind))
                        self.names[arguments[-1].key] = argument[1]
                        self.has(",")
                self.expect(":")
            operations = []
            self.space()
            while self.text[self.at : self.at + 1] not in ("}", "^", ""):
                operations.append(self.operation())
                self.space()
            found.append(ModuleBlock(label, tuple(arguments), tuple(operations)))
        return tuple(found)

    def _types(self, results: int) -> list[str]:
        self.expect("(")
        self.balanced(")")
        self.expect(")")
        self.expect("->")
        self.space()
        if self.has("("):
            inside = self.balanced(")")
            self.expect(")")
            kinds = split(inside)
        else:
            kinds = [self.balanced("\n")]
        kinds = [re.sub(r" loc\(.*$", "", kind, flags=re.S) for kind in kinds]
        if results > len(kinds):
            raise NotGeneric("an operation has more results than types")
        self.space()
        if self.has("loc("):
            self.balanced(")")
            self.expect(")")
        return kinds


def split(text: str) -> list[str]:
    """The parts of a list, by the commas outside of brackets and strings."""
    reader, parts = _Reader(f"{text}\0"), []
    while reader.at < len(text):
        parts.append(reader.balanced(",\0"))
        reader.at += 1
    return parts


def _resolved(operation: Operation, reader: _Reader, scope: Mapping[str, int]) -> Operation:
    """With keys for operands; a region sees what stands in and around it."""
    operands = []
    for number in operation.operands:
        name = reader.names[number]
        if name not in scope and f"{name}#0" not in scope:
            raise NotGeneric(f"%{name} is used and never defined")
        operands.append(scope.get(name, scope.get(f"{name}#0", 0)))
    regions = []
    for region in operation.regions:
        inside = dict(scope)
        for block in region:
            inside |= {reader.names[value.key]: value.key for value in block.arguments}
            for each in block.operations:
                inside |= {reader.names[value.key]: value.key for value in each.results}
        regions.append(
            tuple(
                replace(block, operations=tuple(_resolved(each, reader, inside) for each in block.operations))
                for block in region
            )
        )
    return replace(operation, operands=tuple(operands), regions=tuple(regions))


def write(module: IrModule) -> str:
    """The module in generic form, each value named by its key."""
    return "\n".join([*module.aliases, *_lines(module.top, types(module), "")]) + "\n"


def _lines(operation: Operation, kinds: Mapping[int, str], indent: str) -> Iterator[str]:
    made = ", ".join(f"%{value.key}" for value in operation.results)
    used = ", ".join(f"%{key}" for key in operation.operands)
    head = f'{indent}{made} = "{operation.name}"({used})' if made else f'{indent}"{operation.name}"({used})'
    if operation.successors:
        head += "[" + ", ".join(f"^{label}" for label in operation.successors) + "]"
    if operation.properties:
        head += f" <{_dictionary(operation.properties)}>"
    tail = f" {_dictionary(operation.attributes)}" if operation.attributes else ""
    takes = ", ".join(kinds[key] for key in operation.operands)
    gives = ", ".join(value.type for value in operation.results)
    tail += f" : ({takes}) -> ({gives})"
    if not operation.regions:
        yield head + tail
        return
    yield f"{head} ({{"
    for number, region in enumerate(operation.regions):
        if number:
            yield f"{indent}}}, {{"
        for place, block in enumerate(region):
            if place or block.arguments or block.label:
                arguments = ", ".join(f"%{value.key}: {value.type}" for value in block.arguments)
                yield f"{indent}^{block.label or 'bb0'}({arguments}):"
            for each in block.operations:
                yield from _lines(each, kinds, f"{indent}  ")
    yield f"{indent}}}){tail}"


def _dictionary(entries: tuple[tuple[str, str], ...]) -> str:
    return "{" + ", ".join(f'"{name}" = {value}' if value else f'"{name}"' for name, value in entries) + "}"

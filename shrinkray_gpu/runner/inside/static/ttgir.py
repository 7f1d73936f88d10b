"""Triton's GPU IR as nested operations, read from its text: the compiler's own parser needs its own Triton and context.

The printer puts one operation on a line, opens a region with `{` at the line's end and closes it with a line that
starts with `}`. SSA names repeat in sibling regions, so a reader must go in the order of the text.
"""

from __future__ import annotations

import re
from typing import Dict, List, Optional

from ..launches.compilation import without_locations


class IrBlock:
    """Operations in order, entered by a jump (`^bb1`) or at the start of a region."""

    __slots__ = ("label", "args", "ops")

    def __init__(self, label: str, args: List[str]) -> None:
        self.label = label
        self.args = args
        self.ops: List[Op] = []


class IrRegion:
    __slots__ = ("head", "blocks")

    def __init__(self, head: str, args: List[str]) -> None:
        self.head = head
        self.blocks = [IrBlock("", args)]


class Op:
    """One operation: `results = name body`, with its regions. `place`: its location as the text has it, `#loc12`;
    empty if `parse` was not asked for places."""

    __slots__ = ("results", "name", "body", "regions", "tail", "place", "_operands")

    def __init__(self, results: List[str], name: str, body: str) -> None:
        self.results = results
        self.name = name
        self.body = body
        self.tail = ""
        self.place = ""
        self.regions: List[IrRegion] = []
        self._operands: Optional[List[str]] = None

    def operands(self) -> List[str]:
        """The values named before the types."""
        if self._operands is None:  # a loop asks in each of its trips
            self._operands = VALUE.findall(self.body.partition(" : ")[0])
        return self._operands


VALUE = re.compile(r"%[\w.$-]+(?:#\d+)?")
_RESULTS = re.compile(r"^(%[\w.$-]+(?::\d+)?(?:, %[\w.$-]+(?::\d+)?)*) = ")
_NAME = re.compile(r'^"?([\w.]+)"?')
_BLOCK = re.compile(r"^(\^\w+)(?:\((.*)\))?:")
_ARGUMENT = re.compile(r"(%[\w.$-]+): ")
_PART = re.compile(r"^(default|partition\d+)\b")
_PLACE = re.compile(r" loc\((#loc\d*)\)$")


_BITS = {"f64": 64, "i64": 64, "f32": 32, "i32": 32, "tf32": 32, "f16": 16, "bf16": 16, "i16": 16}


def bits(kind: str) -> int:
    """Width of an element type; all the many 8-bit floats are spelled differently."""
    return _BITS.get(kind, 8)


def parse(text: str, *, places: bool = False) -> Dict[str, Op]:
    """The functions of a module by name, the public one (the kernel) first. `places`: operations keep where they come
    from."""
    root = IrRegion("", [])
    stack: List[IrRegion] = [root]
    owners: List[Optional[Op]] = [None]
    for raw in (text if places else without_locations(text)).splitlines():
        line = raw.strip()
        if not line or line.startswith(("#", "//", "{-#")):
            continue
        place = ""
        if places:
            at = _PLACE.search(line)
            line, place = (line[: at.start()], at.group(1)) if at else (without_locations(line), "")
            if "loc(" in line:
                line = without_locations(line)
        block = stack[-1].blocks[-1]
        opens = line.endswith("{")
        if line.startswith("}"):
            owner = owners.pop()
            stack.pop()
            if owner is not None and opens:  # `} else {`, `} do {`, `}, {`
                _open(stack, owners, owner, line)
            elif owner is not None:
                owner.tail = line
                owner.place = place
            if not stack:
                break
        elif _BLOCK.match(line):
            found = _BLOCK.match(line)
            assert found is not None
            fresh = IrBlock(found.group(1), _ARGUMENT.findall(found.group(2) or ""))
            if not block.ops and not block.label and len(stack[-1].blocks) == 1:
                stack[-1].blocks[0] = fresh
            else:
                stack[-1].blocks.append(fresh)
        elif _PART.match(line) and opens and block.ops:
            _open(stack, owners, block.ops[-1], line)
        else:
            op = _op(line)
            op.place = place
            block.ops.append(op)
            if opens:
                _open(stack, owners, op, line)
    return _functions(root)


def _open(stack: List[IrRegion], owners: List[Optional[Op]], owner: Op, line: str) -> None:
    head = _PART.match(line)
    region = IrRegion(head.group(1) if head else "", _ARGUMENT.findall(line) if head else [])
    owner.regions.append(region)
    stack.append(region)
    owners.append(owner)


def _op(line: str) -> Op:
    results: List[str] = []
    found = _RESULTS.match(line)
    if found:
        for each in found.group(1).split(", "):  # `tt.split` names each of its results
            name, _, count = each.partition(":")
            results += ["%s#%d" % (name, i) for i in range(int(count))] if count else [name]
        line = line[found.end() :]
    named = _NAME.match(line)
    name = named.group(1) if named else ""
    return Op(results, name, line[named.end() if named else 0 :].strip())


def _functions(root: IrRegion) -> Dict[str, Op]:
    found: List[Op] = []
    todo = [root]
    while todo:
        for block in todo.pop().blocks:
            for op in block.ops:
                if op.name == "tt.func":
                    found.append(op)
                elif op.name in ("module", "builtin.module"):
                    todo.extend(op.regions)
    found.sort(key=lambda op: not op.body.startswith("public"))
    return {_symbol(op): op for op in found}


def _symbol(op: Op) -> str:
    found = re.search(r'@("[^"]*"|[\w.$-]+)', op.body)
    return found.group(1).strip('"') if found else ""


def parameters(function: Op) -> List[str]:
    """Names of a function's parameters, in order."""
    start = function.body.find("(")
    return _ARGUMENT.findall(function.body[start:]) if start >= 0 else []

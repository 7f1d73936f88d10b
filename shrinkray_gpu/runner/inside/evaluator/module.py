"""A kernel's IR, read once: its functions, and which values addresses, masks, branches and assertions hang on."""

from __future__ import annotations

import functools
import re
from typing import Dict, FrozenSet, Iterator, List, Set

from ..static.ttgir import VALUE, IrRegion, Op, parameters, parse

ACCESSES = {"tt.load": 1, "tt.store": 2, "tt.atomic_rmw": 2, "tt.atomic_cas": 3}
"""Operations that reach memory by a pointer, and the place of the mask among their operands."""
DESCRIBED = (
    "tt.descriptor_load",
    "tt.descriptor_store",
    "tt.descriptor_gather",
    "tt.descriptor_scatter",
    "tt.descriptor_reduce",
    "tt.experimental_descriptor_load",
    "tt.experimental_descriptor_store",
)
MAKES_DESCRIPTOR = "tt.make_tensor_descriptor"
MAKES_BLOCK = "tt.make_tensor_ptr"
REACHING = frozenset((*ACCESSES, *DESCRIBED, MAKES_DESCRIPTOR))
"""All operations that may go beyond a tensor."""
DIVISIONS = frozenset("arith." + name for name in "divsi divui remsi remui ceildivsi ceildivui floordivsi".split())
_CAPTURES = ("ttg.warp_specialize", "ttg.warp_specialize.partitions")
_SYMBOL = re.compile(r'@("[^"]*"|[\w.$-]+)')
_LOOP_HEAD = re.compile(
    r"(?:unsigned )?(%[\w.$-]+) = (%[\w.$#-]+) to (%[\w.$#-]+) step (%[\w.$#-]+)(?: iter_args\((.*?)\) ->)?"
)
_INITIAL = re.compile(r"(%[\w.$-]+) = (%[\w.$#-]+)")


def listed(op: Op) -> List[List[str]]:
    """The values in brackets: of `tt.make_tensor_descriptor %base, [extents], [strides]` two lists."""
    return [VALUE.findall(part) for part in re.findall(r"\[([^\]]*)\]", op.body.partition(" : ")[0])]


class Loop:
    """The head of a `scf.for`: its variable, its bounds, and what it carries from trip to trip."""

    def __init__(self, op: Op) -> None:
        found = _LOOP_HEAD.match(op.body)
        self.known = found is not None and bool(op.regions)
        self.variable, self.low, self.high, self.step = found.groups()[:4] if found else ("", "", "", "")
        pairs = _INITIAL.findall(found.group(5) or "") if found else []
        self.names = [name for name, _ in pairs]
        self.initial = [value for _, value in pairs]


class IrFunction:
    """One function. `returns`, `accesses`: whether what it returns is needed, and by what it reaches memory.
    `definitions`: by name, the operation that makes it (a loop for what it carries)."""

    def __init__(self, op: Op, *, returns: bool, accesses: bool) -> None:
        self.op, self.returns, self.accesses = op, returns, accesses
        self.parameters = parameters(op)
        self.definitions: Dict[str, Op] = {}
        self.loops: Dict[int, Loop] = {}
        self.all = list(self._walk(op))
        for each in self.all:
            for name in each.results:
                self.definitions[name] = each
            if each.name == "scf.for":
                loop = self.loops[id(each)] = Loop(each)
                for name in (loop.variable, *loop.names):
                    self.definitions[name] = each

    def _walk(self, op: Op) -> Iterator[Op]:
        for region in op.regions:
            for block in region.blocks:
                for inner in block.ops:
                    yield inner
                    yield from self._walk(inner)

    @functools.cached_property
    def needed(self) -> FrozenSet[str]:
        """Names of the values that its accesses and its control flow hang on."""
        needed: Set[str] = set()
        while True:
            before = len(needed)
            for op in reversed(self.all):
                self._require(op, needed)
            if len(needed) == before:
                return frozenset(needed)

    def _require(self, op: Op, needed: Set[str]) -> None:
        operands = op.operands()
        wanted = any(name in needed for name in op.results)
        if op.name in ACCESSES and (self.accesses or wanted):
            at = ACCESSES[op.name]
            needed.update(operands[:1])
            needed.update(operands if wanted else operands[at : at + 1])
        elif op.name == "scf.for":
            self._require_loop(op, needed)
        elif op.name == "scf.if":
            needed.update(operands[:1])
            self._hand_on(op, op.results, needed)
        elif op.name == "scf.while":
            needed.update(VALUE.findall(op.body.partition(" : ")[0]))
            for region in op.regions:
                for block in region.blocks:
                    needed.update(block.args)
                    needed.update(block.ops[-1].operands() if block.ops else ())
        elif op.name in ("cf.br", "cf.cond_br"):
            needed.update(VALUE.findall(op.body))
        elif op.name in ("tt.assert", "llvm.intr.assume"):
            needed.update(operands)
        elif op.name in DESCRIBED:
            needed.update(VALUE.findall(op.body.partition("]")[0]))  # not what it stores
        elif op.name == "tt.return":
            needed.update(operands if self.returns else ())
        elif op.name in DIVISIONS:
            needed.update(operands if wanted else operands[1:2])
        elif op.name == "tt.call" or "tma_" in op.name or "tensormap" in op.name or op.name in _CAPTURES or wanted:
            needed.update(operands)  # of a call: its callee may reach memory by them
            for region in op.regions:
                for block in region.blocks:
                    needed.update(block.ops[-1].operands() if block.ops else ())

    def _require_loop(self, op: Op, needed: Set[str]) -> None:
        loop = self.loops[id(op)]
        needed.update((loop.low, loop.high, loop.step))
        if not loop.known:
            return
        for region in op.regions:
            yielded = region.blocks[-1].ops[-1].operands() if region.blocks[-1].ops else []
            for at, name in enumerate(loop.names):
                if name in needed or at < len(op.results) and op.results[at] in needed:
                    needed.add(name)
                    needed.add(loop.initial[at])
                    needed.update(yielded[at : at + 1])

    def _hand_on(self, op: Op, results: List[str], needed: Set[str]) -> None:
        for region in op.regions:
            yielded = region.blocks[-1].ops[-1].operands() if region.blocks[-1].ops else []
            needed.update(value for name, value in zip(results, yielded) if name in needed)


class Module:
    """The functions of one kernel, the kernel first."""

    def __init__(self, text: str, accesses: bool) -> None:
        self.text = text
        found = enumerate(parse(text, places=True).items())
        self.functions = {name: IrFunction(op, returns=at > 0, accesses=accesses) for at, (name, op) in found}
        self._combinations: Dict[int, str] = {}

    @property
    def kernel(self) -> IrFunction:
        return next(iter(self.functions.values()))

    def combination(self, region: IrRegion) -> str:
        """What a reduction's region does with two integers: `addi`, `maxsi`, ...; empty where that is not one such
        operation."""
        if id(region) not in self._combinations:
            found: Set[str] = set()
            self._operations([op for block in region.blocks for op in block.ops], found)
            found -= {"constant", "extsi", "cmpi", "andi"} if "addi" in found else {"constant"}
            self._combinations[id(region)] = found.pop() if len(found) == 1 else ""
        return self._combinations[id(region)]

    def _operations(self, ops: List[Op], found: Set[str]) -> None:
        for op in ops:
            if op.name == "tt.call":
                callee = self.functions.get(called(op))
                if callee is not None:
                    self._operations([each for region in callee.op.regions for each in region.blocks[0].ops], found)
            elif op.name.startswith("arith."):
                found.add(op.name[len("arith.") :])


def called(op: Op) -> str:
    """The name of the function that a `tt.call` calls."""
    found = _SYMBOL.match(op.body)
    return found.group(1).strip('"') if found else ""


@functools.lru_cache(maxsize=64)
def read(text: str, accesses: bool = True) -> Module:
    """The module, read once for each text. `accesses`: whether addresses and masks of loads and stores are needed."""
    return Module(text, accesses)


def family(op: Op) -> str:
    name = op.name.rpartition(".")[2]
    return "atomic" if name.startswith("atomic") else "store" if "store" in name else "load" if "load" in name else name

"""Where each module's top level goes: where Python would run it first, found by going through the imports in order.

An import within `if` or `try` runs or does not; one inside a function runs when that is called. A module that only
defines things is as good before that block or function. Any other stays in the block, if no one else needs it, or
cannot be merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from shrinkray_gpu.lift.bundling.calm import restless
from shrinkray_gpu.lift.bundling.imports import Import, Statement
from shrinkray_gpu.lift.bundling.trouble import Unmergeable
from shrinkray_gpu.lift.bundling.units import Unit, is_main_guard
from shrinkray_gpu.source.tree import ancestors, dotted_text, holds

_THERE = frozenset({"torch", "triton", "numpy"})


@dataclass
class Order:
    """The places of the modules in the one file."""

    before: dict[cst.CSTNode, list[Unit]] = field(default_factory=dict)
    """Modules that run before this statement of another."""
    after: dict[Unit, list[Unit]] = field(default_factory=dict)
    """Modules that run when this one is through."""
    straight: set[cst.CSTNode] = field(default_factory=set)
    """The import statements that surely run, once and in the order of the text."""


@dataclass(frozen=True, eq=False)
class _ConditionalBlock:
    """A statement at the top of a module whose parts may run or not."""

    unit: Unit
    statement: cst.CSTNode
    loop: bool
    units: list[Unit] = field(default_factory=list)


class Walk:
    """One simulation. `merged` are the modules to be placed; `executed(unit, each)` what an import loads."""

    def __init__(self, main: Unit, merged: dict[str, Unit], executed: Callable[[Unit, Import], Iterator[str]]) -> None:
        self.main, self.merged, self.executed = main, merged, executed
        self.order = Order()
        self.seen: dict[Unit, float] = {main: 0.0}
        """When a module was through; those under way have the time at which they began."""
        self.reached: dict[cst.CSTNode, float] = {}
        self.blocks: dict[Unit, _ConditionalBlock] = {}
        self.clock = 0.0
        self.libraries = set(_THERE)

    def run(self) -> Order:
        self._unit(self.main, None)
        self._late()
        self._check()
        return self.order

    def _unit(self, unit: Unit, block: _ConditionalBlock | None) -> None:
        if block is not None:
            self.blocks[unit] = block
            block.units.append(unit)
        self.seen[unit] = self.clock
        self._statements(unit, unit.program.module.body, None, block)
        self.clock += 1
        self.seen[unit] = self.clock

    def _statements(
        self, unit: Unit, body: Sequence[cst.CSTNode], anchor: cst.CSTNode | None, block: _ConditionalBlock | None
    ) -> None:
        for entry in body:
            self.clock += 1
            self.reached[entry] = self.clock
            if isinstance(entry, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
                for small in entry.body:
                    if isinstance(small, (cst.Import, cst.ImportFrom)):
                        place = anchor or (entry if len(entry.body) == 1 else small)
                        self._import(unit, small, place, block)
            elif isinstance(entry, cst.ClassDef):
                self._statements(unit, entry.body.body, anchor or entry, block)
            elif isinstance(entry, cst.With) and not _suppresses(entry):
                self._statements(unit, entry.body.body, anchor, block)
            elif isinstance(entry, cst.If) and unit.main and is_main_guard(entry.test):
                self._statements(unit, entry.body.body, anchor, block)
            elif not isinstance(entry, cst.FunctionDef):
                inner = block or _ConditionalBlock(unit, entry, isinstance(entry, (cst.For, cst.While)))
                for suite in _suites(entry):
                    self._statements(unit, suite.body, anchor, inner)

    def _import(self, unit: Unit, statement: Statement, place: cst.CSTNode, block: _ConditionalBlock | None) -> None:
        if block is None:
            self.order.straight.add(statement)
        for each in unit.imports[statement]:
            for inner in self._new(unit, each):
                where, inside = place, block
                if block is not None and block.unit is unit:
                    trouble = self._restless(inner)
                    if not trouble:
                        where, inside = block.statement, None
                    elif block.loop:
                        raise Unmergeable(inner.name, f"it is imported in a loop, and {trouble}")
                if inner in self.seen:
                    continue
                self.order.before.setdefault(where, []).append(inner)
                self._unit(inner, inside)
            if block is None and not any(name in self.merged for name in each.module_names):
                self.libraries.add(each.module.partition(".")[0])

    def _new(self, unit: Unit, each: Import) -> Iterator[Unit]:
        for name in self.executed(unit, each):
            found = self.merged.get(name)
            if found is not None and found not in self.seen:
                yield found

    def _restless(self, unit: Unit) -> str:
        """Why this module, or one that it would load now, cannot run earlier than it does."""
        for each in self._needed(unit):
            if each not in self.seen and (trouble := restless(each, frozenset({*self.libraries, *self._ours()}))):
                return trouble if each is unit else f"{each.name}: {trouble}"
        return ""

    def _ours(self) -> set[str]:
        return {name.partition(".")[0] for name in self.merged}

    def _needed(self, unit: Unit) -> list[Unit]:
        """The module and all that its own top level loads."""
        found = [unit]
        for each in found:
            for statement, brought in each.imports.items():
                if _inside_function(each, statement):
                    continue
                for name in (name for one in brought for name in self.executed(each, one)):
                    inner = self.merged.get(name)
                    if inner is not None and inner not in found:
                        found.append(inner)
        return found

    def _late(self) -> None:
        """The modules that only functions import: after the module of that function and what they need themselves, or
        before the statement of the script that has the function in it."""
        waiting = [unit for unit in self.seen]
        for unit in waiting:
            for statement, brought in unit.imports.items():
                if not _inside_function(unit, statement):
                    continue
                for each in brought:
                    for inner in self._new(unit, each):
                        if trouble := self._restless(inner):
                            raise Unmergeable(inner.name, f"a function imports it, and {trouble}")
                        self._settle(unit, statement, inner)
                        waiting.append(inner)
                        waiting += [new for new in self.seen if new not in waiting]

    def _settle(self, unit: Unit, statement: cst.CSTNode, inner: Unit) -> None:
        needed = [each for each in self._needed(inner) if each in self.seen and not each.main]
        last = max(needed, key=lambda each: self.seen[each], default=None)
        time = self.seen[last] if last is not None else 0.0
        if unit.main:
            top = _top(unit, statement)
            if time <= self.reached[top]:
                self.clock = self.reached[top] - 0.5
                self.order.before.setdefault(top, []).append(inner)
                self._unit_at(inner, None, self.clock)
                return
        host = unit if last is None or (not unit.main and self.seen[unit] >= time) else last
        self.order.after.setdefault(host, []).append(inner)
        self._unit_at(inner, self.blocks.get(host), self.seen[host])

    def _unit_at(self, unit: Unit, block: _ConditionalBlock | None, time: float) -> None:
        """Placed at a time already past: what it loads comes right before it."""
        before = set(self.seen)
        self._unit(unit, block)
        for each in self.seen:
            if each not in before:
                self.seen[each] = time + 1e-6 * (1 + len(before))

    def _check(self) -> None:
        """What runs only if some block does is of no use to anybody outside of it."""
        for unit, block in self.blocks.items():
            for other in self.seen:
                for statement, brought in other.imports.items():
                    if not any(unit.name in self.executed(other, each) for each in brought):
                        continue
                    within = other is block.unit and holds(other.program, block.statement, statement)
                    if not (within or other in block.units):
                        why = restless(unit, frozenset(self.libraries)) or "so does what it imports"
                        raise Unmergeable(
                            unit.name, f"{block.unit.shown} imports it under a condition, {other.shown} as well; {why}"
                        )


def _suites(statement: cst.CSTNode) -> Iterator[cst.BaseSuite]:
    for child in statement.children:
        if isinstance(child, cst.BaseSuite):
            yield child
        elif isinstance(
            child,
            (cst.If, cst.Else, cst.ExceptHandler, cst.ExceptStarHandler, cst.Finally, cst.MatchCase),
        ):
            yield from _suites(child)


def _suppresses(statement: cst.With) -> bool:
    calls = [item.item.func for item in statement.items if isinstance(item.item, cst.Call)]
    return any(dotted_text(func).rpartition(".")[2] in ("suppress", "raises") for func in calls)


def _inside_function(unit: Unit, node: cst.CSTNode) -> bool:
    return any(isinstance(above, (cst.FunctionDef, cst.Lambda)) for above in ancestors(unit.program, node))


def _top(unit: Unit, node: cst.CSTNode) -> cst.CSTNode:
    """The statement of the module's own level that holds the node."""
    last = node
    for above in ancestors(unit.program, node):
        if isinstance(above, cst.Module):
            break
        last = above
    return last

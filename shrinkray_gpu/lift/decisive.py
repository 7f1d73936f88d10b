"""What a launch takes from memory that decides where it goes: addresses, masks, branches, trip counts, assertions.

Contents that are made up are no harm where they are only computed with. Where they decide, they may show the fault by
themselves: an offset of 1 begins no descriptor, a table of zeros points nowhere. So the text of the kernel is followed,
and of its helpers, by name: which parameters' memory a value comes from, and where that value goes. It finds too many,
never too few for what is written in the language itself.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from shrinkray_gpu.lift.inputs import tensors
from shrinkray_gpu.runner.inside.capture.schema import (
    Argument,
    Definition,
    HistoryLaunch,
    HistoryRecord,
    LaunchRecord,
)

ROUNDS = 4
"""Over the body of a function: a loop hands on to its next trip what it computed last."""
MADE = frozenset({"make_tensor_descriptor", "make_block_ptr", "advance"})
ASKED = frozenset({"device_assert", "assume"})
SEEN_BY_COMPILER = frozenset({"dtype", "element_ty", "type", "shape", "numel", "block_shape"})


class Whence(NamedTuple):
    """Of an expression, by the kernel's parameters."""

    points: frozenset[str] = frozenset()
    """Whose memory it is an address in."""
    holds: frozenset[str] = frozenset()
    """From whose memory it comes."""
    numbers: frozenset[str] = frozenset()
    """Which numbers that are passed it is made of."""

    def joined(self, *others: Whence) -> Whence:
        return Whence(*(frozenset().union(*parts) for parts in zip(self, *others)))


NOTHING = Whence()


@dataclass(frozen=True)
class Decisive:
    """Parameters of a kernel."""

    decide: frozenset[str] = frozenset()
    """What their memory holds decides where the launch goes."""
    read: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    """The kernel writes to their memory."""
    pointers: frozenset[str] = frozenset()
    """What their memory holds, or the number that is passed, is taken as an address: of another process it says
    nothing."""


def decisive(kernel: str, arguments: Iterable[Argument], definitions: Iterable[Definition]) -> Decisive:
    """Of one launch. `definitions`: the texts of the kernel and of its helpers."""
    functions: dict[str, ast.FunctionDef] = {}
    for definition in definitions:
        if definition["kind"] == "function":
            functions |= {each.name: each for each in _functions(definition["text"])}
    reading = _Reading(functions)
    if kernel in functions:
        given = {name: _given(name, each) for each in arguments if (name := each.get("name", ""))}
        reading.result_of(functions[kernel], given)
    found = (reading.decide, reading.read, reading.written, reading.pointers)
    return Decisive(*map(frozenset, found))


def in_launch(launch: LaunchRecord) -> Decisive:
    """Of a launch that was recorded; nothing where it cannot be written down."""
    if launch["trouble"]:
        return Decisive()
    return decisive(launch["kernel"], launch["arguments"], launch["definitions"])


def with_exact(launch: LaunchRecord, known: Decisive) -> LaunchRecord:
    """The launch, in which what decides holds what it held, and not what a recipe makes."""
    if not known.decide:
        return launch
    every = [_exact(each) if each.get("name") in known.decide else each for each in launch["arguments"]]
    return cast("LaunchRecord", {**launch, "arguments": every})


def with_outputs_blank(arguments: Iterable[Argument], known: Decisive) -> list[Argument]:
    """These, in which what is written and never read holds zeros: what was recorded there is what nobody had written
    yet, and made again it would stand in for what the kernel writes."""
    outputs = known.written - known.read
    return [_blank(each) if each.get("name") in outputs else each for each in arguments]


def with_history_blank(history: HistoryRecord) -> HistoryRecord:
    """The same of all launches."""
    launches = []
    for launch in history["launches"]:
        known = decisive(launch["kernel"], launch["arguments"], history["definitions"])
        launches.append({**launch, "arguments": with_outputs_blank(launch["arguments"], known)})
    return cast("HistoryRecord", {**history, "launches": launches})


def made_before(history: HistoryRecord | None, kernel: str) -> bool:
    """Whether what decides in a launch of this kernel was written by one before it."""
    written: set[int] = set()
    for launch, known in _launched(history):
        if launch["kernel"] == kernel and not written.isdisjoint(_storages(launch, known.decide)):
            return True
        written |= _storages(launch, known.written)
    return False


def pointers_in(history: HistoryRecord | None) -> bool:
    """Whether a launch takes numbers as addresses."""
    return any(known.pointers for _, known in _launched(history))


def _launched(history: HistoryRecord | None) -> Iterator[tuple[HistoryLaunch, Decisive]]:
    if history is None:
        return
    known: dict[int, Decisive] = {}
    for event in history["events"]:
        if event["kind"] == "launch":
            at = event["launch"]
            launch = history["launches"][at]
            if at not in known:
                known[at] = decisive(launch["kernel"], launch["arguments"], history["definitions"])
            yield launch, known[at]


def _storages(launch: HistoryLaunch, names: frozenset[str]) -> set[int]:
    every = (each for argument in launch["arguments"] if argument.get("name") in names for each in tensors(argument))
    return {each["storage"] for each in every}


def _exact(argument: Any) -> Any:
    return _with_content(argument, lambda content: content.get("exact") or content)


def _blank(argument: Any) -> Any:
    return _with_content(argument, lambda content: {"kind": "zeros"})


def _with_content(argument: Any, change: Callable[[Any], Any]) -> Any:
    changed = dict(argument)
    if "content" in argument:
        changed["content"] = change(argument["content"])
    if "items" in argument:
        changed["items"] = [_with_content(each, change) for each in argument["items"]]
    if "base" in argument:
        changed["base"] = _with_content(argument["base"], change)
    return changed


def _functions(text: str) -> list[ast.FunctionDef]:
    try:
        return [each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)]
    except SyntaxError:
        return []


def _given(name: str, argument: Argument) -> Whence:
    one = frozenset({name})
    return Whence(numbers=one) if argument["kind"] == "value" else Whence(points=one)


@dataclass
class _Reading:
    """One kernel being read."""

    functions: Mapping[str, ast.FunctionDef]
    decide: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    pointers: set[str] = field(default_factory=set)
    _results: dict[object, Whence] = field(default_factory=dict)

    def result_of(self, function: ast.FunctionDef, given: Mapping[str, Whence]) -> Whence:
        """What a function returns for these arguments; all that its body does is noted."""
        key = (function.name, tuple(sorted(given.items())))
        if key not in self._results:
            self._results[key] = NOTHING  # of one that calls itself
            frame = _Frame(self, dict(given))
            for _ in range(ROUNDS):
                before = dict(frame.variables)
                frame.block(function.body)
                if frame.variables == before:
                    break
            self._results[key] = frame.returned
        return self._results[key]


class _Frame:
    """One call of a function: what its variables hold, whatever the order."""

    def __init__(self, reading: _Reading, variables: dict[str, Whence]) -> None:
        self.reading, self.variables, self.returned = reading, variables, NOTHING

    def block(self, statements: Iterable[ast.stmt]) -> None:
        for each in statements:
            self._statement(each)

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value)
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)) and node.value is not None:
            self._bind(node.target, node.value)
        elif isinstance(node, ast.Return) and node.value is not None:
            self.returned = self.returned.joined(self._value(node.value))
        elif isinstance(node, ast.For):
            self._decides(self._value(node.iter))
            self._bind(node.target, node.iter)
        elif isinstance(node, (ast.While, ast.If, ast.Assert)):
            self._decides(self._value(node.test))
        else:
            for part in ast.iter_child_nodes(node):
                if isinstance(part, ast.expr):
                    self._value(part)
        for name in ("body", "orelse"):
            self.block(getattr(node, name, ()))

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, other in zip(target.elts, value.elts):
                self._bind(one, other)
            return
        found = self._value(value)
        for each in ast.walk(target):
            if isinstance(each, ast.Name):
                self.variables[each.id] = self.variables.get(each.id, NOTHING).joined(found)

    def _value(self, node: ast.expr) -> Whence:
        if isinstance(node, ast.Name):
            return self.variables.get(node.id, NOTHING)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Attribute) and node.attr in SEEN_BY_COMPILER:
            return NOTHING
        if isinstance(node, ast.IfExp):
            self._decides(self._value(node.test))
        parts = [self._value(each) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]
        return NOTHING.joined(*parts)

    def _call(self, node: ast.Call) -> Whence:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        of = self._value(node.func.value) if isinstance(node.func, ast.Attribute) else NOTHING
        args = [self._value(each) for each in node.args]
        words = {each.arg or "": self._value(each.value) for each in node.keywords}
        if name in self.reading.functions and of == NOTHING:
            return self._helper(self.reading.functions[name], args, words)
        every = of.joined(*args, *words.values())
        if "load" in name or "store" in name or name.startswith("atomic_") or name in ("gather", "scatter"):
            if of.points:  # of a descriptor: where comes first
                return self._access(name, of, args[:1], args[1:])
            if args or "pointer" in words:
                base, *rest = args or [words["pointer"]]
                at = 1 if "load" in name else 2 if name != "atomic_cas" else 3
                return self._access(name, base, [*rest[at - 1 : at], words.get("mask", NOTHING)], rest[: at - 1])
        if name in MADE:
            self._decides(every)
            return Whence(points=every.points)
        if name in ASKED and args:
            self._decides(args[0])
        if name in ("to", "cast") and "pointer_type" in ast.unparse(node):
            self.reading.pointers |= every.holds | every.numbers
        return every

    def _access(self, name: str, base: Whence, where: list[Whence], values: list[Whence]) -> Whence:
        self._decides(base)
        for each in where:
            self._decides(each)
        if "load" not in name and name != "gather":
            self.reading.written |= base.points
        if "store" not in name and name != "scatter":
            self.reading.read |= base.points
        return NOTHING.joined(*values)._replace(points=frozenset(), holds=base.points) if base.points else base

    def _helper(self, function: ast.FunctionDef, args: list[Whence], words: Mapping[str, Whence]) -> Whence:
        names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
        given = dict(zip(names, args))
        if function.args.vararg is not None:
            given[function.args.vararg.arg] = NOTHING.joined(*args[len(names) :])
        return self.reading.result_of(function, {**given, **words})

    def _decides(self, value: Whence) -> None:
        self.reading.decide |= value.holds

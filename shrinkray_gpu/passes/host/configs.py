"""The failing configuration pinned: a table of configurations comes down to the one that faults.

Of a list of twelve tuned configurations one faults. As long as all twelve are there every try compiles twelve kernels,
and no tile, stage or warp count can shrink by itself. So this goes first: `@triton.autotune` becomes the arguments of
its failing entry, at the launches; a list that is gone through keeps one entry; a table that is looked into becomes
the entry itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import libcst as cst

from shrinkray_gpu.reduction.edit import Change, Edit, Remove, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.calls import Function, functions
from shrinkray_gpu.source.kernels import in_kernel
from shrinkray_gpu.source.literals import code, is_literal, last_name
from shrinkray_gpu.source.pinning import assigned_value
from shrinkray_gpu.source.scoping import Binding, bindings, readers
from shrinkray_gpu.source.tree import every, weight, within

Display: TypeAlias = "cst.Dict | cst.List | cst.Tuple | cst.Set"
MOST = 24
"""Entries offered of one table; longer ones are first cut to a quarter."""
_PLACES = ("kwargs", "num_warps", "num_stages", "num_ctas")
"""Of `triton.Config`. The next one is `maxnreg` in Triton 3.7, and `num_buffers_warp_spec` in some that are older."""


def find(program: Program) -> Iterable[Edit]:
    return (*_autotuned(program), *_heuristics(program), *_tables(program))


# --- @triton.autotune


def _kernels(program: Program) -> list[Function]:
    return [each for each in functions(program, bindings(program)) if each.is_kernel]


@dataclass(frozen=True)
class Config:
    """One `triton.Config(...)`: keywords for the launch, as source."""

    options: tuple[tuple[str, str], ...]
    text: str


def _autotuned(program: Program) -> Iterator[Edit]:
    for kernel in _kernels(program):
        for decorator in kernel.node.decorators:
            call = decorator.decorator
            if isinstance(call, cst.Call) and last_name(call.func) == "autotune":
                listed = _argument(call, "configs", 0)
                entries = _entries(program, listed) if listed is not None else []
                yield from _pinned(program, kernel, decorator, entries)
                if listed is not None and len(entries) > 1:
                    for chunk in _chunks(entries):
                        text = "[" + ", ".join(code(entry) for entry in chunk) + "]"
                        yield Edit(f"autotune only {text[:60]}", (Replace(listed, (text,)),), level=1)


def _pinned(
    program: Program, kernel: Function, decorator: cst.Decorator, entries: Sequence[cst.BaseExpression]
) -> Iterator[Edit]:
    if not kernel.only_called or not kernel.calls:
        return
    for entry in entries[:MOST]:
        config = _config(entry)
        if config is not None:
            launches = [_with_options(call, config.options) for call in kernel.calls]
            changes: tuple[Change, ...] = (Remove(decorator), *itertools.chain.from_iterable(launches))
            yield Edit(f"pin {config.text[:60]}", changes, weight=weight(program, decorator))


def _config(entry: cst.BaseExpression) -> Config | None:
    """None where the entry is no plain Config: a hook cannot go to the launch, nor what has no certain name."""
    if not isinstance(entry, cst.Call) or last_name(entry.func) != "Config":
        return None
    table, options = _argument(entry, "kwargs", 0), []
    if isinstance(table, cst.Dict):
        for element in table.elements:
            if not isinstance(element, cst.DictElement) or not isinstance(element.key, cst.SimpleString):
                return None
            options.append((str(element.key.evaluated_value), code(element.value)))
    elif isinstance(table, cst.Call) and last_name(table.func) == "dict":
        options.extend((arg.keyword.value, code(arg.value)) for arg in table.args if arg.keyword is not None)
    else:
        return None
    for place, arg in enumerate(entry.args):
        if arg.star or arg.keyword is None and place >= len(_PLACES):
            return None
        name = arg.keyword.value if arg.keyword is not None else _PLACES[place]
        if name in ("pre_hook", "ir_override"):
            return None
        if name != "kwargs":
            options.append((name, code(arg.value)))
    return Config(tuple(options), code(entry))


def _with_options(call: cst.Call, options: Sequence[tuple[str, str]]) -> list[Change]:
    """The launch with these keywords; one that it has already gets the new value."""
    wanted, changes = dict(options), []
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value in wanted:
            changes.append(Replace(arg.value, (wanted.pop(arg.keyword.value),)))
    if not wanted:
        return list(changes)
    added = ", ".join(f"{name}={text}" for name, text in wanted.items())
    if not call.args:
        return [*changes, Replace(call, (call.func, f"({added})"))]
    last = call.args[-1]
    front = f"{last.keyword.value}=" if last.keyword is not None else last.star
    return [*changes, Replace(last, (*((front,) if front else ()), last.value, f", {added}"))]


def _heuristics(program: Program) -> Iterator[Edit]:
    """`@triton.heuristics({"EVEN": lambda args: ...})`: what it computes is given at the launches, True or False."""
    for kernel in _kernels(program):
        for decorator in kernel.node.decorators:
            call = decorator.decorator
            if not isinstance(call, cst.Call) or last_name(call.func) != "heuristics" or not kernel.only_called:
                continue
            table = _argument(call, "values", 0)
            if isinstance(table, cst.Dict) and kernel.calls:
                names = [
                    str(element.key.evaluated_value)
                    for element in table.elements
                    if isinstance(element, cst.DictElement) and isinstance(element.key, cst.SimpleString)
                ]
                for value in ("True", "False", "1"):
                    options = [(name, value) for name in names]
                    launches = [_with_options(launch, options) for launch in kernel.calls]
                    yield Edit(
                        f"heuristics of {kernel.node.name.value} all {value}",
                        (Remove(decorator), *itertools.chain.from_iterable(launches)),
                    )


# --- lists that are gone through, tables that are looked into


def _tables(program: Program) -> Iterator[Edit]:
    known = bindings(program)
    uses: dict[cst.CSTNode, tuple[Binding, cst.CSTNode]] = {}
    for binding in known:
        made = assigned_value(program, binding)
        if made is not None:
            uses[made[1]] = (binding, made[0])
    for display in every(program, cst.Dict, cst.List, cst.Tuple, cst.Set):
        assert isinstance(display, (cst.Dict, cst.List, cst.Tuple, cst.Set))
        if len(display.elements) < 2 or in_kernel(program, display):
            continue
        bound = uses.get(display)
        lookups = _lookups(program, bound[0]) if bound is not None else []
        if bound is not None and not all(is_literal(_index(lookup)) for lookup in lookups):  # else constants.py knows
            yield from _looked_into(program, display, bound, lookups)
        if _gone_through(program, display) or (
            bound is not None and any(_gone_through(program, read) for read in bound[0].reads)
        ):
            for chunk in _chunks(display.elements):
                yield Edit(f"only {_joined(chunk)[:60]}", (Replace(display, (_display(display, chunk),)),), level=1)


def _looked_into(
    program: Program,
    display: Display,
    bound: tuple[Binding, cst.CSTNode],
    lookups: Sequence[cst.Subscript],
) -> Iterator[Edit]:
    """All of `CONFIGS[name]` become one entry; the table goes, if nothing else reads it."""
    binding, assignment = bound
    only_lookups = len(lookups) == len(binding.reads)
    for element in display.elements[:MOST]:
        if isinstance(element, (cst.StarredElement, cst.StarredDictElement)):
            continue
        text = code(element.value).strip()
        rest: Change = Remove(assignment) if only_lookups else Replace(display, (_display(display, [element]),))
        changes = tuple(Replace(lookup, (f"({text})" if "\n" in text else text,)) for lookup in lookups)
        yield Edit(f"{binding.name}[...] is {text[:60]}", (*changes, rest), weight=weight(program, display))


def _lookups(program: Program, binding: Binding) -> list[cst.Subscript]:
    """`TABLE[x]` with one index that is no slice, read and not stored to."""
    found = []
    for read in binding.reads:
        up = program.parents[read]
        if isinstance(up, cst.Subscript) and up.value is read and len(up.slice) == 1:
            around = program.parents[up]
            stored = isinstance(around, (cst.AssignTarget, cst.AugAssign, cst.Del))
            if isinstance(up.slice[0].slice, cst.Index) and not stored:
                found.append(up)
    return found


def _index(lookup: cst.Subscript) -> cst.CSTNode:
    index = lookup.slice[0].slice
    return index.value if isinstance(index, cst.Index) else index


def _gone_through(program: Program, node: cst.CSTNode) -> bool:
    """`for x in node`, `for x in node.items()`, `for i, x in enumerate(node)`, `zip(node, ...)`, parametrised tests."""
    up = program.parents[node]
    if isinstance(up, (cst.For, cst.CompFor)):
        return up.iter is node
    if isinstance(up, cst.Attribute) and up.attr.value in ("items", "values", "keys"):
        return _gone_through(program, program.parents[up])
    if isinstance(up, cst.Arg) and up.star == "":
        call = program.parents[up]
        return isinstance(call, cst.Call) and last_name(call.func) in (
            "enumerate",
            "sorted",
            "list",
            "tuple",
            "zip",
            "product",
            "iter",
            "reversed",
            "parametrize",
            "map",
        )
    return False


# --- entries


def _entries(program: Program, listed: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The entries of a list, of the list a name stands for, that a function returns or a comprehension makes."""
    if isinstance(listed, (cst.List, cst.Tuple)):
        return [element.value for element in listed.elements if not isinstance(element, cst.StarredElement)]
    if isinstance(listed, cst.ListComp):
        return _unrolled(program, listed)
    if isinstance(listed, cst.BinaryOperation):
        return [*_entries(program, listed.left), *_entries(program, listed.right)]
    if isinstance(listed, cst.Call) and last_name(listed.func) in ("list", "tuple") and listed.args:
        return _entries(program, listed.args[0].value)
    name = listed.func if isinstance(listed, cst.Call) else listed
    binding = readers(program, bindings(program)).get(name) if isinstance(name, cst.Name) else None
    if binding is None or len(binding.places) != 1:
        return []
    if name is listed:
        made = assigned_value(program, binding)
        return _entries(program, made[1]) if made is not None else []
    found: list[cst.BaseExpression] = []
    for returned in within(program, binding.places[0], cst.Return):
        if returned.value is not None:
            found.extend(_entries(program, returned.value))
    return found


def _unrolled(program: Program, comp: cst.ListComp) -> list[cst.BaseExpression]:
    """`[Config({"B": b}) for b in (16, 32)]` written out, where the loops go through literals."""
    loops: list[tuple[str, list[str]]] = []
    clause: cst.CompFor | None = comp.for_in
    while clause is not None:
        if not isinstance(clause.target, cst.Name) or not isinstance(clause.iter, (cst.List, cst.Tuple)):
            return []
        values = [code(element.value) for element in clause.iter.elements]
        if not all(is_literal(element.value) for element in clause.iter.elements):
            return []
        loops.append((clause.target.value, values))
        clause = clause.inner_for_in
    made = []
    for choice in itertools.islice(itertools.product(*(values for _, values in loops)), MOST):
        made.append(substitute(comp.elt, {name: value for (name, _), value in zip(loops, choice)}))
    return made


def substitute(expression: cst.BaseExpression, values: dict[str, str]) -> cst.BaseExpression:
    """The expression with these variables replaced by source text."""

    class _Put(cst.CSTTransformer):
        def visit_Attribute_attr(self, node: cst.Attribute) -> None:
            self.attributes.add(node.attr)

        def visit_Arg_keyword(self, node: cst.Arg) -> None:
            if node.keyword is not None:
                self.attributes.add(node.keyword)

        def __init__(self) -> None:
            super().__init__()
            self.attributes: set[cst.CSTNode] = set()

        def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
            text = values.get(original_node.value)
            if text is None or original_node in self.attributes:
                return updated_node
            return cst.parse_expression(text)

    new = expression.visit(_Put())
    assert isinstance(new, cst.BaseExpression)
    return new


def _argument(call: cst.Call, name: str, place: int) -> cst.BaseExpression | None:
    for index, arg in enumerate(call.args):
        if arg.keyword.value == name if arg.keyword is not None else index == place and not arg.star:
            return arg.value
    return None


def _chunks(elements: Sequence[cst.CSTNode]) -> list[Sequence[cst.CSTNode]]:
    """Single entries; for a long list first its quarters."""
    if len(elements) <= MOST:
        return [[element] for element in elements]
    step = -(-len(elements) // 4)
    return [elements[start : start + step] for start in range(0, len(elements), step)]


def _joined(elements: Iterable[cst.CSTNode]) -> str:
    return ", ".join(code(element).strip().rstrip(",") for element in elements)


def _display(display: Display, elements: Sequence[cst.CSTNode]) -> str:
    inner = _joined(elements)
    if isinstance(display, cst.List):
        return f"[{inner}]"
    if isinstance(display, cst.Tuple):
        return f"({inner},)" if len(elements) == 1 else f"({inner})"
    return "{" + inner + "}"

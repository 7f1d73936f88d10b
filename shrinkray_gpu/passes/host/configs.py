"""The failing configuration pinned: a table of configurations comes down to the one that faults.

Of a list of twelve tuned configurations one faults. As long as all twelve are there every try compiles twelve kernels,
and no tile, stage or warp count can shrink by itself. So this goes first: `@triton.autotune` becomes the arguments of
its failing entry, at the launches; a list that is gone through keeps one entry; a table that is looked into becomes
the entry itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import libcst as cst

from shrinkray_gpu.reduction.edit import Change, Edit, Remove, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.calls import Function, argument, functions
from shrinkray_gpu.source.kernels import in_kernel
from shrinkray_gpu.source.literals import code, entries_of, is_literal, last_name
from shrinkray_gpu.source.pinning import assigned_value
from shrinkray_gpu.source.scoping import Binding, bindings, variables_by_read
from shrinkray_gpu.source.tree import every, source, weight, within

Display: TypeAlias = "cst.Dict | cst.List | cst.Tuple | cst.Set"
MOST = 24
"""Entries offered of one table; longer ones are first cut to a quarter."""
_PLACES = ("kwargs", "num_warps", "num_stages", "num_ctas")
"""Of `triton.Config`. The next one is `maxnreg` in Triton 3.7, and `num_buffers_warp_spec` in some that are older."""
_ITERATE = frozenset("enumerate sorted list tuple zip product iter reversed parametrize map".split())
"""Functions that go through what they are given."""


def find(program: Program) -> Iterable[Edit]:
    return (*_autotuned(program), *_heuristics(program), *_tables(program))


# --- @triton.autotune


def _decorated(program: Program, name: str) -> Iterator[tuple[Function, cst.Decorator, cst.Call]]:
    """The kernels under a decorator of this name that is called, with that decorator and its call."""
    for kernel in functions(program):
        for decorator in kernel.node.decorators if kernel.is_kernel else ():
            call = decorator.decorator
            if isinstance(call, cst.Call) and last_name(call.func) == name:
                yield kernel, decorator, call


def _autotuned(program: Program) -> Iterator[Edit]:
    for kernel, decorator, call in _decorated(program, "autotune"):
        listed = argument(call, "configs", 0)
        entries = _entries(program, listed) if listed is not None else []
        for entry in entries[:MOST]:
            options = _options(entry)
            if options is not None and kernel.only_called and kernel.calls:
                changes = _changes_to_launches(kernel, decorator, options)
                yield Edit(f"pin {code(entry)[:60]}", changes, weight=weight(program, decorator))
        if listed is not None and len(entries) > 1:
            for chunk in _chunks(entries):
                text = f"[{_list_text(chunk)}]"
                yield Edit(f"autotune only {text[:60]}", (Replace(listed, (text,)),), level=1)


def _options(entry: cst.BaseExpression) -> dict[str, str] | None:
    """The keywords for the launch that a `triton.Config(...)` stands for, as source. None where the entry is no plain
    Config: a hook cannot go to the launch, nor what has no certain name."""
    if not isinstance(entry, cst.Call) or last_name(entry.func) != "Config":
        return None
    table = argument(entry, "kwargs", 0)
    options = entries_of(table) if table is not None else None
    if options is None or not all(isinstance(name, str) for name in options):
        return None
    for place, arg in enumerate(entry.args):
        if arg.star or arg.keyword is None and place >= len(_PLACES):
            return None
        name = arg.keyword.value if arg.keyword is not None else _PLACES[place]
        if name in ("pre_hook", "ir_override"):
            return None
        if name != "kwargs":
            options[name] = arg.value
    return {str(name): code(value) for name, value in options.items()}


def _changes_to_launches(kernel: Function, decorator: cst.Decorator, options: Mapping[str, str]) -> tuple[Change, ...]:
    """The decorator gone, and its options given at each launch."""
    return (Remove(decorator), *(change for call in kernel.calls for change in _with_options(call, options)))


def _with_options(call: cst.Call, options: Mapping[str, str]) -> list[Change]:
    """The launch with these keywords; one that it has already gets the new value."""
    wanted, changes = dict(options), list[Change]()
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value in wanted:
            changes.append(Replace(arg.value, (wanted.pop(arg.keyword.value),)))
    if not wanted:
        return changes
    added = ", ".join(f"{name}={text}" for name, text in wanted.items())
    if not call.args:
        return [*changes, Replace(call, (call.func, f"({added})"))]
    last = call.args[-1]
    front = f"{last.keyword.value}=" if last.keyword is not None else last.star
    return [*changes, Replace(last, (*((front,) if front else ()), last.value, f", {added}"))]


def _heuristics(program: Program) -> Iterator[Edit]:
    """`@triton.heuristics({"EVEN": lambda args: ...})`: what it computes is given at the launches, True or False."""
    for kernel, decorator, call in _decorated(program, "heuristics"):
        table = argument(call, "values", 0)
        if isinstance(table, cst.Dict) and kernel.calls and kernel.only_called:
            keys = [element.key for element in table.elements if isinstance(element, cst.DictElement)]
            names = [str(key.evaluated_value) for key in keys if isinstance(key, cst.SimpleString)]
            for value in ("True", "False", "1"):
                changes = _changes_to_launches(kernel, decorator, dict.fromkeys(names, value))
                yield Edit(f"heuristics of {kernel.node.name.value} all {value}", changes)


# --- lists that are gone through, tables that are looked into


def _tables(program: Program) -> Iterator[Edit]:
    uses: dict[cst.CSTNode, tuple[Binding, cst.CSTNode]] = {}
    for binding in bindings(program):
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
            yield from _one_entry(program, display, bound, lookups)
        places = (display, *(bound[0].reads if bound is not None else ()))
        if any(_is_iterated(program, place) for place in places):
            for chunk in _chunks(display.elements):
                what = f"only {_list_text(chunk)[:60]}"
                yield Edit(what, (Replace(display, (_display_text(display, chunk),)),), level=1)


def _one_entry(
    program: Program, display: Display, bound: tuple[Binding, cst.CSTNode], lookups: Sequence[cst.Subscript]
) -> Iterator[Edit]:
    """All of `CONFIGS[name]` become one entry; the table goes, if nothing else reads it."""
    binding, assignment = bound
    only_lookups = len(lookups) == len(binding.reads)
    for element in display.elements[:MOST]:
        if isinstance(element, (cst.StarredElement, cst.StarredDictElement)):
            continue
        text = code(element.value).strip()
        rest: Change = Remove(assignment) if only_lookups else Replace(display, (_display_text(display, [element]),))
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


def _is_iterated(program: Program, node: cst.CSTNode) -> bool:
    """`for x in node`, `for x in node.items()`, `for i, x in enumerate(node)`, `zip(node, ...)`, parametrised tests."""
    up = program.parents[node]
    if isinstance(up, (cst.For, cst.CompFor)):
        return up.iter is node
    if isinstance(up, cst.Attribute) and up.attr.value in ("items", "values", "keys"):
        return _is_iterated(program, program.parents[up])
    call = program.parents[up] if isinstance(up, cst.Arg) and up.star == "" else None
    return isinstance(call, cst.Call) and last_name(call.func) in _ITERATE


# --- entries


def _entries(program: Program, listed: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The entries of a list, of the list a name stands for, that a function returns or a comprehension makes."""
    if isinstance(listed, (cst.List, cst.Tuple)):
        return [element.value for element in listed.elements if not isinstance(element, cst.StarredElement)]
    if isinstance(listed, cst.ListComp):
        return _comprehension_entries(program, listed)
    if isinstance(listed, cst.BinaryOperation):
        return [*_entries(program, listed.left), *_entries(program, listed.right)]
    if isinstance(listed, cst.Call) and last_name(listed.func) in ("list", "tuple") and listed.args:
        return _entries(program, listed.args[0].value)
    name = listed.func if isinstance(listed, cst.Call) else listed
    binding = variables_by_read(program).get(name) if isinstance(name, cst.Name) else None
    if binding is None or len(binding.places) != 1:
        return []
    if name is listed:
        made = assigned_value(program, binding)
        return _entries(program, made[1]) if made is not None else []
    returned = (each.value for each in within(program, binding.places[0], cst.Return) if each.value is not None)
    return [entry for value in returned for entry in _entries(program, value)]


def _comprehension_entries(program: Program, comp: cst.ListComp) -> list[cst.BaseExpression]:
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
        text, value_of = source(program, comp.elt), {name: value for (name, _), value in zip(loops, choice)}
        for read in reversed(within(program, comp.elt, cst.Name)):
            if read.value in value_of and read in variables_by_read(program):
                first, last = (place - program.spans[comp.elt][0] for place in program.spans[read])
                text = text[:first] + value_of[read.value] + text[last:]
        made.append(cst.parse_expression(f"({text})").with_changes(lpar=(), rpar=()))
    return made


def _chunks(elements: Sequence[cst.CSTNode]) -> list[Sequence[cst.CSTNode]]:
    """Single entries; for a long list first its quarters."""
    if len(elements) <= MOST:
        return [[element] for element in elements]
    step = -(-len(elements) // 4)
    return [elements[start : start + step] for start in range(0, len(elements), step)]


def _list_text(elements: Iterable[cst.CSTNode]) -> str:
    return ", ".join(code(element).strip().rstrip(",") for element in elements)


def _display_text(display: Display, elements: Sequence[cst.CSTNode]) -> str:
    inner = _list_text(elements)
    if isinstance(display, cst.List):
        return f"[{inner}]"
    if isinstance(display, cst.Tuple):
        return f"({inner},)" if len(elements) == 1 else f"({inner})"
    return "{" + inner + "}"

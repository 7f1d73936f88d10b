"""Constants into their uses: a name that only stands for a value goes, and the value stands in its place.

`BLOCK = 64` at the top, `Cfg.BLOCK` in a class, `CFG["jsd"]["BLOCK"]` in a table and a `tl.constexpr` parameter that
gets the same 64 at every launch are all a detour for the reader, a line more, and a knot between parts that other
passes want to take apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.reduction.edit import Edit, Remove, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.calls import Function, all_parameters, decorator_name, functions, matches
from shrinkray_gpu.source.literals import code, entries_of, is_literal, is_scalar, last_name, value_of
from shrinkray_gpu.source.names_read import is_target
from shrinkray_gpu.source.pinning import assigned_value, pin_parameter, replace_reads
from shrinkray_gpu.source.scoping import Binding, bindings, modules, variables_by_read
from shrinkray_gpu.source.tree import (
    ancestors,
    dotted_text,
    every,
    function,
    holds,
    is_member,
    once,
    source,
    statements,
    weight,
    within,
)

_TENSOR = {"shape", "dtype", "device", "grad", "size", "stride", "data", "T", "ndim", "real", "is_cuda", "value"}
_PURE = (cst.Name, cst.Attribute, cst.BinaryOperation, cst.UnaryOperation, cst.Comparison, cst.Tuple)


def find(program: Program) -> Iterator[Edit]:
    yield from _variables(program)
    yield from _tables(program)
    yield from _attributes(program)
    yield from _fields(program)
    yield from _parameters(program)


# --- names


def _variables(program: Program) -> Iterator[Edit]:
    for binding in bindings(program):
        made = assigned_value(program, binding)
        if made is None or not binding.reads or is_member(program, made[0]):
            continue
        line, value = made[0], _without_constexpr(made[1])
        changes = replace_reads(program, binding.reads, (value,))
        if changes is not None and _may_move(program, binding, line, value):
            yield Edit(f"inline {binding.name} = {_short_text(value)}", (*changes, Remove(line)), weight=3)


def _without_constexpr(value: cst.BaseExpression) -> cst.BaseExpression:
    """`64` of `tl.constexpr(64)`."""
    if isinstance(value, cst.Call) and last_name(value.func) == "constexpr" and len(value.args) == 1:
        return value.args[0].value
    return value


def _may_move(program: Program, binding: Binding, line: cst.CSTNode, value: cst.BaseExpression) -> bool:
    """Whether the value means the same in all its uses, or nearly (the oracle decides), and makes nothing larger."""
    uses = len(binding.reads)
    if (weight(program, value) - 1) * uses >= weight(program, value) + 2:
        return False
    if not _means_the_same(program, binding, value):
        return False
    if is_literal(value) and (uses == 1 or is_scalar(value) or isinstance(value, cst.Tuple)):
        return True
    if uses > 1:
        parts = within(program, value, cst.BaseExpression)  # type: ignore[type-abstract]
        return all(isinstance(part, _PURE) or is_literal(part) for part in parts)
    use = binding.reads[0]
    return function(program, line) is function(program, use) and not _is_repeated(program, line, use)


def _means_the_same(program: Program, binding: Binding, value: cst.BaseExpression) -> bool:
    """Whether each name of the value is visible at all uses: a module's name, or one of the very same scope."""
    for name in within(program, value, cst.Name):
        other = variables_by_read(program).get(name)
        if other is None:
            continue
        if other is binding or (len(binding.reads) > 1 and len(other.places) > 1):
            return False
        shadowed = _read_variables(program)[other.name] > 1
        here = all(function(program, read) is function(program, name) for read in binding.reads)
        if not here and (shadowed or any(function(program, place) is not None for place in other.places)):
            return False
    return True


@once
def _read_variables(program: Program) -> Counter[str]:
    """How many variables of each name are read."""
    return Counter(binding.name for binding in bindings(program) if binding.reads)


def _is_repeated(program: Program, line: cst.CSTNode, use: cst.CSTNode) -> bool:
    """Whether the use is repeated (a loop, a lambda, a comprehension) where the binding was made once."""
    repeats = (cst.For, cst.While, cst.Lambda, cst.BaseComp, cst.FunctionDef, cst.ClassDef)
    return any(isinstance(up, repeats) and not holds(program, up, line) for up in ancestors(program, use))


# --- tables


def _tables(program: Program) -> Iterator[Edit]:
    """`CFG["jsd"]["BLOCK"]` and `**CFG["jsd"]`, where CFG is a dict written out, bound once and only read so."""
    for binding in bindings(program):
        made = assigned_value(program, binding)
        if made is None or not isinstance(made[1], (cst.Dict, cst.Call)):
            continue
        found = [_lookup_value(program, read, made[1]) for read in binding.reads]
        changes = [change for change in found if change is not None]
        if len(changes) == len(found) and changes:
            yield Edit(f"inline table {binding.name}", (*changes, Remove(made[0])), weight=weight(program, made[0]))
        else:
            for change in changes:
                yield Edit(f"look up {source(program, change.node)}", (change,), level=1)


def _lookup_value(program: Program, read: cst.CSTNode, table: cst.BaseExpression) -> Replace | None:
    """The whole lookup that begins at this read, replaced by what it finds."""
    node, found = read, table
    while True:
        up = program.parents[node]
        entries = entries_of(found)
        if isinstance(up, cst.Subscript) and up.value is node and len(up.slice) == 1 and entries is not None:
            index = up.slice[0].slice
            if not isinstance(index, cst.Index) or not is_literal(index.value):
                return None
            key = value_of(index.value)
        elif isinstance(up, cst.Attribute) and up.value is node and isinstance(found, cst.Call) and entries is not None:
            key = up.attr.value
        else:
            break
        if isinstance(key, (list, dict)) or key not in entries:
            return None
        node, found = up, entries[key]
    if isinstance(program.parents[node], (cst.AssignTarget, cst.AugAssign, cst.Del)):
        return None
    arg = program.parents[node]
    if isinstance(arg, cst.Arg) and arg.star == "**" and isinstance(found, cst.Dict):
        entries = entries_of(found)
        if entries is None or not entries or not all(isinstance(key, str) and key.isidentifier() for key in entries):
            return None
        return Replace(arg, (", ".join(f"{key}={code(value)}" for key, value in entries.items()),))
    if node is read or not (is_literal(found) or dotted_text(found)):
        return None
    return Replace(node, (found,))


# --- attributes


def _attributes(program: Program) -> Iterator[Edit]:
    """`Cfg.BLOCK` and `self.beta`: an attribute name that the whole program gives one literal, once."""
    loads, stores = _attribute_uses(program)
    in_classes: dict[str, list[Binding]] = {}
    for binding in bindings(program):
        line = assigned_value(program, binding)
        if line is not None and is_member(program, line[0]):
            in_classes.setdefault(binding.name, []).append(binding)
    for name, (binding, *others) in in_classes.items():
        made = assigned_value(program, binding)
        owner = next(up for up in ancestors(program, binding.places[0]) if isinstance(up, cst.ClassDef))
        if made is not None and not others and not stores.get(name) and not _is_record(owner):
            if is_scalar(_without_constexpr(made[1])):
                reads = [*binding.reads, *loads.get(name, [])]
                yield from _pinned_attribute(program, name, reads, made[0], made[1])
    for name, places in stores.items():
        if len(places) != 1 or name in in_classes:
            continue
        target = program.parents[places[0]]
        store = program.parents[target]
        if isinstance(target, cst.AssignTarget) and isinstance(store, cst.Assign) and len(store.targets) == 1:
            if is_scalar(store.value):
                yield from _pinned_attribute(program, name, loads.get(name, []), store, store.value)


def _pinned_attribute(
    program: Program, name: str, reads: list[cst.CSTNode], line: cst.CSTNode, value: cst.BaseExpression
) -> Iterator[Edit]:
    value = _without_constexpr(value)
    called = any(isinstance(up := program.parents[read], cst.Call) and up.func is read for read in reads)
    changes = replace_reads(program, reads, (value,))
    if reads and not called and changes is not None and name not in _TENSOR:
        what = f"inline attribute {name} = {_short_text(value)}"
        yield Edit(what, (*changes, Remove(line)), weight=3 + 2 * len(reads))


def _attribute_uses(program: Program) -> tuple[dict[str, list[cst.CSTNode]], dict[str, list[cst.CSTNode]]]:
    """All attributes by name, those read and those written; `torch.float32` and the like left out."""
    loads: dict[str, list[cst.CSTNode]] = {}
    stores: dict[str, list[cst.CSTNode]] = {}
    for node in every(program, cst.Attribute):
        if node.value in modules(program) or any(
            isinstance(up, (cst.ImportFrom, cst.ImportAlias)) for up in ancestors(program, node)
        ):
            continue
        (stores if is_target(node, program.parents) else loads).setdefault(node.attr.value, []).append(node)
    return loads, stores


def _is_record(owner: cst.ClassDef) -> bool:
    """Whether it is a dataclass or NamedTuple: its class attributes are defaults of the constructor."""
    makers = {decorator_name(each).rpartition(".")[2] for each in owner.decorators}
    return "dataclass" in makers or any(last_name(base.value) == "NamedTuple" for base in owner.bases)


# --- fields of dataclasses


def _fields(program: Program) -> Iterator[Edit]:
    """A field that has the same literal in every instance: reads, arguments and the field in one edit."""
    loads, stores = _attribute_uses(program)
    for binding in bindings(program):
        owner = binding.places[0]
        if not isinstance(owner, cst.ClassDef) or not _is_record(owner) or len(binding.places) != 1:
            continue
        fields = [line for line in statements(owner.body) if isinstance(line, cst.AnnAssign)]
        names = [field.target.value for field in fields if isinstance(field.target, cst.Name)]
        instances = [
            program.parents[read]
            for read in binding.reads
            if not any(isinstance(up, cst.Annotation) for up in ancestors(program, read))
        ]
        made = [call for call in instances if isinstance(call, cst.Call) and dotted_text(call.func) == binding.name]
        if not made or len(made) != len(instances) or len(names) != len(fields):
            continue
        given = [arguments for call in made if (arguments := _arguments_by_field(call, names)) is not None]
        for field, name in zip(fields, names, strict=True):
            values = [arguments[name].value if name in arguments else field.value for arguments in given]
            value, reads = values[0] if values else None, loads.get(name, [])
            if len(given) < len(made) or stores.get(name) or value is None or not is_scalar(value):
                continue
            if reads and name not in _TENSOR and all(each is not None and code(each) == code(value) for each in values):
                gone = [Remove(arguments[name]) for arguments in given if name in arguments]
                puts = [Replace(read, (value,)) for read in reads]
                what = f"inline field {name} = {_short_text(value)}"
                yield Edit(what, (*puts, *gone, Remove(field)), weight=5 + 2 * len(reads))


def _arguments_by_field(call: cst.Call, names: list[str]) -> dict[str, cst.Arg] | None:
    """The arguments of a record's call; None where a star or too many hide which field is given what."""
    given: dict[str, cst.Arg] = {}
    for place, arg in enumerate(call.args):
        if arg.star or (arg.keyword is None and place >= len(names)):
            return None
        given[arg.keyword.value if arg.keyword is not None else names[place]] = arg
    return given


# --- parameters


def _parameters(program: Program) -> Iterator[Edit]:
    """A parameter that gets the same literal at every call, above all a `tl.constexpr` at every launch."""
    for each in functions(program):
        for param in all_parameters(each.node):
            value = _one_literal(each, param)
            changes = pin_parameter(program, each, param, (code(value),)) if value is not None else None
            if value is not None and changes is not None:
                what = f"parameter {param.name.value} of {each.node.name.value} is {_short_text(value)}"
                yield Edit(what, tuple(changes), level=1, weight=2 + 2 * len(each.calls))


def _one_literal(each: Function, param: cst.Param) -> cst.BaseExpression | None:
    """The literal that the parameter gets from all calls, its default included."""
    values = []
    for call in each.calls:
        given = matches(call, each)
        if given is None:
            return None
        values.append(given[param].value if param in given else param.default)
    first = values[0] if values else None
    if first is None or not is_scalar(first):
        return None
    return first if all(value is not None and code(value) == code(first) for value in values) else None


def _short_text(value: cst.CSTNode) -> str:
    return " ".join(code(value).split())[:40]

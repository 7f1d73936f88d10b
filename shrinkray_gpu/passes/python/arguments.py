"""A parameter together with its argument at every call.

Taking away the one without the other dies of a TypeError at once, so they go in one edit: parameters that the body does
not read; those that have one literal argument everywhere (the body then says the literal); those that get the same as
another one; those whose default serves; and, with the statements that read them, all others. `kernel[grid](...)` and
methods count as calls; `*args` stays. So do the tables of types and constants of `ASTSource`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

import libcst as cst

from shrinkray_gpu.passes.python.definitions import Losses
from shrinkray_gpu.reduction.edit import Change, Edit, Insert, Remove, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.calls import Function, all_parameters, argument, functions, matches, takes_any_option
from shrinkray_gpu.source.compilations import is_source
from shrinkray_gpu.source.edits import removal
from shrinkray_gpu.source.masking import always_holds
from shrinkray_gpu.source.pinning import maker, replace_reads
from shrinkray_gpu.source.scoping import Binding, bindings, modules, variables_by_place
from shrinkray_gpu.source.tree import dotted_text, every, source, statements, weight, within

_FILLED_BY_SHAPE = frozenset({"zeros", "ones", "rand", "randn", "empty"})


@dataclass(frozen=True, eq=False)
class _GivenParameter:
    """A parameter of a function of the program, and the arguments that its calls give for it."""

    program: Program
    function: Function
    node: cst.Param
    given: tuple[cst.Arg, ...]

    @property
    def variable(self) -> Binding:
        return variables_by_place(self.program)[self.node]

    @property
    def name(self) -> str:
        return f"{self.node.name.value} of {self.function.node.name.value}"

    @property
    def always_given(self) -> bool:
        """Whether each call gives it, and nothing else binds it."""
        return bool(self.given) and len(self.given) == len(self.function.calls) and len(self.variable.names) == 1

    def read_as(self, other: _GivenParameter, verb: str) -> Edit:
        """The other parameter in its place, everywhere."""
        gone = (Remove(self.node), *map(Remove, self.given), *_gradients(self))
        put = (Replace(read, (other.node.name.value,)) for read in self.variable.reads)
        what = f"{other.node.name.value} {verb} parameter {self.name}"
        return Edit(what, (*gone, *put), 1, weight(self.program, self.node, *self.given))


def find(program: Program) -> Iterator[Edit]:
    return _find(program, one_for_two=True, uses=True)


def find_apart(program: Program) -> Iterator[Edit]:
    """The same, but what a kernel gets twice it goes on getting twice: one of the two may be the mistake."""
    return _find(program, one_for_two=False, uses=True)


def find_spare(program: Program) -> Iterator[Edit]:
    """Of these, what changes no value: no statement goes with its parameter."""
    return _find(program, one_for_two=False, uses=False)


def _find(program: Program, *, one_for_two: bool, uses: bool) -> Iterator[Edit]:
    losses = Losses(program, bindings(program))
    for function in functions(program):
        arguments = [taken for call in function.calls if (taken := matches(call, function)) is not None]
        if len(arguments) < len(function.calls):
            continue  # one of them is hidden behind a star
        parameters = []
        for param in all_parameters(function.node)[1 if function.bound else 0 :]:
            given = tuple(taken[param] for taken in arguments if param in taken)
            parameters.append(_GivenParameter(program, function, param, given))
            unseen = [call for call, taken in zip(function.calls, arguments) if param not in taken]
            if not any(map(takes_any_option, unseen)):
                yield from _edits(parameters[-1], losses if uses else None)
        if one_for_two or not function.is_kernel:
            yield from _one_for_two(parameters)
        if one_for_two and function.is_kernel:
            yield from _roomier_tensors(parameters)


def _edits(parameter: _GivenParameter, losses: Losses | None) -> Iterator[Edit]:
    program, param, given, variable = parameter.program, parameter.node, parameter.given, parameter.variable
    entries, moved = _entries(parameter), _positions(parameter)
    gone: tuple[Change, ...] = (*map(Remove, (param, *given, *entries)), *moved, *_gradients(parameter))
    gain = weight(program, param, *given, *entries)
    rivals = (_positions, parameter.function.node) if moved else None
    name, calls = parameter.name, parameter.function.calls
    if not variable.reads and len(variable.names) == 1:
        yield Edit(f"remove parameter {name}", gone, 0, gain, rivals)
        return
    value = _one_value(parameter)
    put = _value_in_reads(parameter, value) if value is not None else None
    if value is not None and put is not None:
        yield Edit(f"put {source(program, value)} for parameter {name}", (*gone, *put), 0, gain, rivals)
    if param.default is not None and given:
        yield removal(program, f"leave {name} to its default", *given, level=1)
        for arg in given if len(given) > 1 else ():
            yield removal(program, f"leave {name} to its default, once", arg, level=2)
    elif param.default is not None and len(given) == len(calls):
        yield removal(program, f"no default for {name}", param.default, level=2)
    lost = losses.removal(variable, param=param) if losses is not None else None
    if lost is not None and parameter.function.node not in lost:
        rest = [node for node in lost if node is not param]
        everything = (*gone, *map(Remove, rest))
        yield Edit(f"remove parameter {name} and its uses", everything, 1, gain + weight(program, *rest), rivals)


def _one_for_two(parameters: Iterable[_GivenParameter]) -> Iterator[Edit]:
    """One parameter instead of two, where each call gives both the same, or two tensors made alike: of one shape, so
    that no access leaves its tensor for it."""
    before: dict[tuple[str, ...], _GivenParameter] = {}
    for each in parameters:
        if each.always_given and not each.variable.declared:
            kind = source(each.program, each.node.annotation) if each.node.annotation is not None else ""
            made = (source(each.program, maker(each.program, arg.value)) for arg in each.given)
            other = before.setdefault((kind, *("".join(text.split()) for text in made)), each)
            if other is not each:
                yield each.read_as(other, "for")


def _roomier_tensors(parameters: Iterable[_GivenParameter]) -> Iterator[Edit]:
    """One pointer instead of two of a kernel, where the tensor behind it has as many elements at each launch: it may be
    of another type, but no access leaves it for that."""
    rooms: dict[_GivenParameter, list[int]] = {}
    for each in parameters:
        room = [_elements(each.program, arg.value) for arg in each.given]
        if each.always_given and None not in room:
            rooms[each] = [count or 0 for count in room]
    for each, needed in rooms.items():
        fits = (other for other, room in rooms.items() if other is not each and all(map(int.__ge__, room, needed)))
        if (other := next(fits, None)) is not None:
            yield each.read_as(other, "serves for")


def _elements(program: Program, value: cst.BaseExpression) -> int | None:
    """The elements of a tensor that torch makes here, of a shape written out."""
    call = maker(program, value)
    if not isinstance(call, cst.Call) or dotted_text(call.func).rpartition(".")[2] not in _FILLED_BY_SHAPE:
        return None
    shape: list[cst.BaseExpression] = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
    if shape and isinstance(shape[0], (cst.Tuple, cst.List)):
        shape = [element.value for element in shape[0].elements]
    if not shape or not all(isinstance(extent, cst.Integer) for extent in shape):
        return None
    return prod(extent.evaluated_value for extent in shape if isinstance(extent, cst.Integer))


def _gradients(parameter: _GivenParameter) -> list[Change]:
    """What `backward` returns for this parameter of an autograd function's `forward`."""
    program, function = parameter.program, parameter.function
    suite = program.parents[function.node]
    if function.node.name.value != "forward" or not function.bound or not isinstance(suite, cst.BaseSuite):
        return []
    position = all_parameters(function.node).index(parameter.node) - 1
    found: list[Change] = []
    for method in statements(suite):
        if isinstance(method, cst.FunctionDef) and method.name.value == "backward":
            for result in within(program, method.body, cst.Return):
                if isinstance(result.value, cst.Tuple) and position < len(result.value.elements):
                    found.append(Remove(result.value.elements[position]))
    return found


def _entries(parameter: _GivenParameter) -> list[cst.DictElement]:
    """What is said of a kernel's parameter where it is compiled without a launch: `ASTSource(kernel, signature={"x":
    "*fp32"}, constexprs={"BLOCK": 64})`. A table that names anything else is not one of this kernel."""
    function, name = parameter.function, parameter.node.name.value
    if not function.is_kernel or function.calls:
        return []
    names = {each.name.value for each in all_parameters(function.node)}
    found = []
    for table in every(parameter.program, cst.Dict):
        keyed = {
            str(each.key.evaluated_value): each
            for each in table.elements
            if isinstance(each, cst.DictElement) and isinstance(each.key, cst.SimpleString)
        }
        if name in keyed and len(keyed) == len(table.elements) and keyed.keys() <= names:
            found.append(keyed[name])
    return found


def _compiled(parameter: _GivenParameter, name: str, place: int) -> Iterator[cst.Dict]:
    """What is said at this place of `ASTSource(kernel, types, constants, attributes)`, where it stands there."""
    function = parameter.function
    for call in every(parameter.program, cst.Call) if function.is_kernel and not function.calls else ():
        if is_source(call):
            kernel, table = argument(call, "fn", 0), argument(call, name, place)
            if (
                isinstance(kernel, cst.Name)
                and kernel.value == function.node.name.value
                and isinstance(table, cst.Dict)
            ):
                yield table


def _positions(parameter: _GivenParameter) -> list[Change]:
    """What is divisible by 16 is told by a parameter's number, `{(2,): [["tt.divisibility", 16]]}`: those behind this
    parameter move up."""
    place = all_parameters(parameter.function.node).index(parameter.node)
    found: list[Change] = []
    for table in _compiled(parameter, "attrs", 3):
        for entry in table.elements:
            key = entry.key if isinstance(entry, cst.DictElement) else None
            number = key.elements[0].value if isinstance(key, cst.Tuple) and key.elements else None
            if isinstance(number, cst.Integer) and number.evaluated_value == place:
                found.append(Remove(entry))
            elif isinstance(number, cst.Integer) and number.evaluated_value > place:
                found.append(Replace(number, (str(number.evaluated_value - 1),)))
    return found


def _constants(parameter: _GivenParameter) -> list[cst.BaseExpression]:
    """The values of a parameter whose kernel is compiled without a launch."""
    tables = [*_compiled(parameter, "constexprs", 2)]
    return [entry.value for table in tables for entry in _entries(parameter) if entry in table.elements]


def _one_value(parameter: _GivenParameter) -> cst.BaseExpression | None:
    """What the parameter always is, if that is a value that means the same inside the function."""
    program, function, given = parameter.program, parameter.function, parameter.given
    if constants := _constants(parameter):
        return constants[0] if len(constants) == 1 and _is_literal(constants[0]) else None
    values = [arg.value for arg in given]
    if len(given) < len(function.calls) or not function.calls:
        if parameter.node.default is None:
            return None
        values.append(parameter.node.default)
    texts = {"".join(source(program, value).split()) for value in values}
    if len(texts) != 1 or not (function.only_called or not given):
        return None
    value = values[0]
    if _is_literal(value):
        return value
    root = dotted_text(value).partition(".")[0]
    if root and isinstance(value, cst.Attribute) and not (function.is_kernel and root == "torch"):
        first = next(name for name in within(program, value, cst.Name) if name.value == root)
        return value if first in modules(program) else None
    return None


def _is_literal(value: cst.BaseExpression) -> bool:
    if isinstance(value, cst.UnaryOperation):
        return isinstance(value.expression, (cst.Integer, cst.Float))
    if isinstance(value, cst.Name):
        return value.value in ("True", "False", "None")
    return isinstance(value, (cst.Integer, cst.Float, cst.SimpleString))


def _value_in_reads(parameter: _GivenParameter, value: cst.BaseExpression) -> Sequence[Change] | None:
    """The value in the place of each read; a variable that is assigned to as well starts out with it instead. None
    where that would make a mask that always holds."""
    variable, suite = parameter.variable, parameter.function.node.body
    if any(always_holds(parameter.program, read, (value,)) for read in variable.reads):
        return None
    if len(variable.names) == 1 and not variable.declared:
        if (changes := replace_reads(parameter.program, variable.reads, (value,))) is not None:
            return changes
    body = statements(suite)
    if not body or isinstance(suite, cst.SimpleStatementSuite):
        return None
    return (Insert(body[0], ((variable.name, " = ", value),)),)

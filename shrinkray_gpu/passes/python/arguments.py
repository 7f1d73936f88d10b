"""A parameter together with its argument at every call.

Taking away the one without the other dies of a TypeError at once, so they go in one edit: parameters that the body does
not read; those that have one literal argument everywhere (the body then says the literal); those that get the same as
another one; those whose default serves; and, with the statements that read them, all others. `kernel[grid](...)` and
methods count as calls; `*args` stays. So do the tables of types and constants of `ASTSource`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import libcst as cst

from shrinkray_gpu.passes.python.definitions import Losses
from shrinkray_gpu.reduction.edit import Change, Edit, Insert, Remove, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.calls import Function, all_parameters, functions, matches, takes_any_option
from shrinkray_gpu.source.masking import always_holds
from shrinkray_gpu.source.pinning import maker
from shrinkray_gpu.source.scoping import Binding, bindings, readers
from shrinkray_gpu.source.tree import ancestors, dotted_text, every, source, statements, weight, within

_FILLED_BY_SHAPE = frozenset({"zeros", "ones", "rand", "randn", "empty"})


def find(program: Program) -> Iterator[Edit]:
    variables = bindings(program)
    stands_for = readers(program, variables)
    losses = Losses(program, variables)
    variable_of = {place: binding for binding in variables for place in binding.places if isinstance(place, cst.Param)}
    for function in functions(program, variables):
        arguments = _arguments(function)
        if arguments is None:
            continue
        for param in all_parameters(function.node)[1 if function.bound else 0 :]:
            given = [call[param] for call in arguments if param in call]
            unseen = [call for call, taken in zip(function.calls, arguments) if param not in taken]
            if not any(map(takes_any_option, unseen)):
                yield from _edits(program, function, param, variable_of[param], given, losses, stands_for)
        yield from _same(program, function, arguments, variable_of, stands_for)
        if function.is_kernel:
            yield from _roomier(program, function, arguments, variable_of, stands_for)


def _arguments(function: Function) -> list[Mapping[cst.Param, cst.Arg]] | None:
    """The arguments of each call; None if one of them is hidden behind a star."""
    found = [matches(call, function) for call in function.calls]
    known = [each for each in found if each is not None]
    return known if len(known) == len(found) else None


def _edits(
    program: Program,
    function: Function,
    param: cst.Param,
    variable: Binding,
    given: Sequence[cst.Arg],
    losses: Losses,
    stands_for: Mapping[cst.Name, Binding],
) -> Iterator[Edit]:
    name = f"{param.name.value} of {function.node.name.value}"
    entries = _entries(program, function, param)
    gone: tuple[Change, ...] = (
        *(Remove(param), *map(Remove, given), *map(Remove, entries)),
        *_gradients(program, function, param),
    )
    gain = weight(program, param, *given, *entries)
    if not variable.reads and len(variable.names) == 1:
        yield Edit(f"remove parameter {name}", gone, 0, gain)
        return
    value = _one_value(program, function, param, given, stands_for)
    if value is not None:
        put = _put(program, function, variable, value)
        if put is not None:
            yield Edit(f"put {source(program, value)} for parameter {name}", (*gone, *put), 0, gain)
    if param.default is not None and given:
        yield Edit(f"leave {name} to its default", tuple(map(Remove, given)), 1, weight(program, *given))
        for arg in given if len(given) > 1 else ():
            yield Edit(f"leave {name} to its default, once", (Remove(arg),), 2, weight(program, arg))
    elif param.default is not None and len(given) == len(function.calls):
        yield Edit(f"no default for {name}", (Remove(param.default),), 2, weight(program, param.default))
    lost = losses.removal(variable, param=param)
    if lost is not None and function.node not in lost:
        rest = [node for node in lost if node is not param]
        everything = (*gone, *map(Remove, rest))
        yield Edit(f"remove parameter {name} and its uses", everything, 1, gain + weight(program, *rest))


def _same(
    program: Program,
    function: Function,
    arguments: Sequence[Mapping[cst.Param, cst.Arg]],
    variable_of: Mapping[cst.Param, Binding],
    stands_for: Mapping[cst.Name, Binding],
) -> Iterator[Edit]:
    """One parameter instead of two, where each call gives both the same, or two tensors made alike: of one shape, so
    that no access leaves its tensor for it."""
    before: dict[tuple[str, ...], cst.Param] = {}
    for param in all_parameters(function.node)[1 if function.bound else 0 :]:
        variable = variable_of[param]
        given = [call[param] for call in arguments if param in call]
        if not given or len(given) < len(function.calls) or len(variable.names) != 1 or variable.declared:
            continue
        kind = source(program, param.annotation) if param.annotation is not None else ""
        key = (kind, *(_made(program, arg.value, stands_for) for arg in given))
        other = before.setdefault(key, param)
        if other is not param:
            gone = (Remove(param), *map(Remove, given), *_gradients(program, function, param))
            put = tuple(Replace(read, (other.name.value,)) for read in variable.reads)
            what = f"{other.name.value} for parameter {param.name.value} of {function.node.name.value}"
            yield Edit(what, (*gone, *put), 1, weight(program, param, *given))


def _roomier(
    program: Program,
    function: Function,
    arguments: Sequence[Mapping[cst.Param, cst.Arg]],
    variable_of: Mapping[cst.Param, Binding],
    stands_for: Mapping[cst.Name, Binding],
) -> Iterator[Edit]:
    """One pointer instead of two of a kernel, where the tensor behind it has as many elements at each launch: it may be
    of another type, but no access leaves it for that."""
    rooms = {}
    for param in all_parameters(function.node):
        given = [call[param] for call in arguments if param in call]
        if given and len(given) == len(function.calls) and len(variable_of[param].names) == 1:
            room = [_elements(program, arg.value, stands_for) for arg in given]
            if None not in room:
                rooms[param] = [each or 0 for each in room], given
    for param, (needed, given) in rooms.items():
        fits = [
            other for other, (room, _) in rooms.items() if other is not param and all(map(int.__ge__, room, needed))
        ]
        if fits:
            gone = (Remove(param), *map(Remove, given))
            put = tuple(Replace(read, (fits[0].name.value,)) for read in variable_of[param].reads)
            what = f"{fits[0].name.value} serves for parameter {param.name.value} of {function.node.name.value}"
            yield Edit(what, (*gone, *put), 1, weight(program, param, *given))


def _elements(program: Program, value: cst.BaseExpression, stands_for: Mapping[cst.Name, Binding]) -> int | None:
    """The elements of a tensor that torch makes here, of a shape written out."""
    call = maker(program, value, stands_for)
    if not isinstance(call, cst.Call) or dotted_text(call.func).rpartition(".")[2] not in _FILLED_BY_SHAPE:
        return None
    shape: list[cst.BaseExpression] = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
    if shape and isinstance(shape[0], (cst.Tuple, cst.List)):
        shape = [element.value for element in shape[0].elements]
    if not shape or not all(isinstance(extent, cst.Integer) for extent in shape):
        return None
    return prod(extent.evaluated_value for extent in shape if isinstance(extent, cst.Integer))


def _made(program: Program, value: cst.BaseExpression, stands_for: Mapping[cst.Name, Binding]) -> str:
    """An argument's text; for a variable that holds a new tensor, the text that makes it."""
    return "".join(source(program, maker(program, value, stands_for)).split())


def _gradients(program: Program, function: Function, param: cst.Param) -> list[Change]:
    """What `backward` returns for this parameter of an autograd function's `forward`."""
    suite = program.parents[function.node]
    if function.node.name.value != "forward" or not function.bound or not isinstance(suite, cst.BaseSuite):
        return []
    position = all_parameters(function.node).index(param) - 1
    found: list[Change] = []
    for method in statements(suite):
        if isinstance(method, cst.FunctionDef) and method.name.value == "backward":
            for result in within(program, method.body, cst.Return):
                if isinstance(result.value, cst.Tuple) and position < len(result.value.elements):
                    found.append(Remove(result.value.elements[position]))
    return found


def _entries(program: Program, function: Function, param: cst.Param) -> list[cst.DictElement]:
    """What is said of a kernel's parameter where it is compiled without a launch: `ASTSource(kernel, signature={"x":
    "*fp32"}, constexprs={"BLOCK": 64})`. A table that names anything else is not one of this kernel."""
    if not function.is_kernel or function.calls:
        return []
    names = {each.name.value for each in all_parameters(function.node)}
    found = []
    for table in every(program, cst.Dict):
        keyed = {
            str(each.key.evaluated_value): each
            for each in table.elements
            if isinstance(each, cst.DictElement) and isinstance(each.key, cst.SimpleString)
        }
        if param.name.value in keyed and len(keyed) == len(table.elements) and keyed.keys() <= names:
            found.append(keyed[param.name.value])
    return found


def _one_value(
    program: Program,
    function: Function,
    param: cst.Param,
    given: Sequence[cst.Arg],
    stands_for: Mapping[cst.Name, Binding],
) -> cst.BaseExpression | None:
    """What the parameter always is, if that is a value that means the same inside the function."""
    values = [arg.value for arg in given]
    if len(given) < len(function.calls) or not function.calls:
        if param.default is None:
            return None
        values.append(param.default)
    texts = {"".join(source(program, value).split()) for value in values}
    if len(texts) != 1 or not (function.only_called or not given):
        return None
    value = values[0]
    if isinstance(value, (cst.Integer, cst.Float, cst.SimpleString)):
        return value
    if isinstance(value, cst.UnaryOperation) and isinstance(value.expression, (cst.Integer, cst.Float)):
        return value
    if isinstance(value, cst.Name):
        return value if value.value in ("True", "False", "None") else None
    root = dotted_text(value).partition(".")[0]
    if root and isinstance(value, cst.Attribute) and not (function.is_kernel and root == "torch"):
        first = next(name for name in within(program, value, cst.Name) if name.value == root)
        binding = stands_for.get(first)
        return value if binding is not None and binding.is_import else None
    return None


def _put(
    program: Program, function: Function, variable: Binding, value: cst.BaseExpression
) -> tuple[Change, ...] | None:
    """The value in the place of each read; a variable that is assigned to as well starts out with it instead. None
    where that would make a mask that always holds."""
    if any(always_holds(program, read, (value,)) for read in variable.reads):
        return None
    if len(variable.names) == 1 and not variable.declared:
        if all(_takes(program, read, value) for read in variable.reads):
            return tuple(Replace(read, (value,)) for read in variable.reads)
    body = statements(function.node.body)
    if not body or isinstance(function.node.body, cst.SimpleStatementSuite):
        return None
    return (Insert(body[0], ((variable.name, " = ", value),)),)


def _takes(program: Program, read: cst.Name, value: cst.BaseExpression) -> bool:
    """`del x` wants a name, and an f-string takes no string with its own quotes before Python 3.12."""
    around = list(ancestors(program, read))
    if isinstance(value, cst.SimpleString) and any(isinstance(above, cst.FormattedString) for above in around):
        return False
    return not any(isinstance(above, cst.Del) for above in around)

"""Repairs: small edits of a program that may end an access out of bounds, by the kind of its cause.

Each only proposes. Whether one is enough is asked of the virtual GPU (`healthy_twin`), so a kind offers generously what
a programmer would write there. What a clamp or a mask would only hide has no repair here: an index that is wrong in
memory, an assertion that does not hold, a tensor without an element.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.inside.static import cause as kinds
from shrinkray_gpu.runner.inside.static.cause import Cause
from shrinkray_gpu.same_fault.cures import Cured, cured
from shrinkray_gpu.source import kernels, spelling
from shrinkray_gpu.source.calls import Function, all_parameters, functions, matches
from shrinkray_gpu.source.literals import is_literal, last_name
from shrinkray_gpu.source.masking import mask_arguments
from shrinkray_gpu.source.pinning import assigned_value
from shrinkray_gpu.source.scoping import variables_by_read
from shrinkray_gpu.source.tree import every, line_number, within

_SUMS = (cst.Add, cst.Subtract, cst.Multiply, cst.LeftShift)
_ATOMS = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)
_STRICT = {cst.LessThanEqual: "<", cst.GreaterThanEqual: ">"}
_ADDED = (cst.Add, cst.Multiply)
Repairs = Iterator[Cured]


@dataclass(frozen=True)
class FaultPlace:
    """A cause, and where it lies in a program's text."""

    program: Program
    cause: Cause
    kernel: str
    """Name of the one that is launched."""
    file: str
    """What the IR calls the program's file."""

    def code(self, node: cst.CSTNode) -> str:
        """The text of an expression, for any place."""
        first, last = self.program.spans[node]
        text = self.program.text[first:last]
        return text if isinstance(node, _ATOMS) or is_literal(node) else f"({text})"

    def plain(self, node: cst.CSTNode) -> str:
        first, last = self.program.spans[node]
        return self.program.text[first:last]

    def edit(self, shown: cst.CSTNode, *changes: tuple[cst.CSTNode, str]) -> Cured:
        return cured(self.program, shown, [(*self._whole(node), new) for node, new in changes])

    def with_argument(self, call: cst.Call, text: str) -> Cured:
        end = self.program.spans[call][1] - 1
        before = self.program.text[:end].rstrip()
        more = text if before.endswith(("(", ",")) else f", {text}"
        return cured(self.program, call, [(end, end, more)], f"{text} in {self.plain(call.func)}(...)")

    def _whole(self, node: cst.CSTNode) -> tuple[int, int]:
        """With its own parentheses, and no comma."""
        own = isinstance(node, cst.BaseExpression) and node.lpar
        return self.program.layout.outer[node] if own else self.program.spans[node]

    def at(self, place: str, *kinds: type[cst.CSTNode]) -> list[cst.CSTNode]:
        """The nodes of kernels over the line of a place, inner ones first."""
        file, _, rest = place.partition(":")
        number = int(rest.partition(":")[0] or 0) if file == self.file else 0
        if not number:
            return []
        spans, text = self.program.spans, self.program.text
        over = [
            node
            for node in every(self.program, *kinds)
            if line_number(self.program, node) <= number <= text.count("\n", 0, spans[node][1]) + 1
            and kernels.in_kernel(self.program, node)
        ]
        return sorted(over, key=lambda node: spans[node][1] - spans[node][0])

    @cached_property
    def function(self) -> Function | None:
        """The kernel that is launched."""
        return next((one for one in functions(self.program) if one.node.name.value == self.kernel), None)

    @property
    def launches(self) -> Sequence[cst.Call]:
        return self.function.calls if self.function is not None else ()

    def arguments(self, name: str) -> Iterator[tuple[cst.Call, Mapping[str, cst.Arg], cst.Arg]]:
        """Of each launch that gives this parameter a value: the launch, its arguments by parameter, and that one."""
        for call in self.launches:
            assert self.function is not None
            given = matches(call, self.function)
            named = {param.name.value: arg for param, arg in given.items()} if given is not None else {}
            if name in named:
                yield call, named, named[name]


def repairs(program: Program, cause: Cause, kernel: str, file: str) -> Repairs:
    """What may end the fault whose cause this is, in no order. Nothing for kinds that no small edit mends."""
    place = FaultPlace(program, cause, kernel, file)
    if cause.overwritten:
        return _waited_for(place)
    return itertools.chain.from_iterable(offer(place) for offer in _BY_KIND.get(cause.kind, ()))


def _waited_for(place: FaultPlace) -> Repairs:
    """A copy that the host waits for."""
    for call in every(place.program, cst.Call):
        for arg in call.args:
            named = arg.keyword is not None and arg.keyword.value == "non_blocking"
            if named and isinstance(arg.value, cst.Name) and arg.value.value == "True":
                yield place.edit(call, (arg.value, "False"))


def _widened(place: FaultPlace) -> Repairs:
    """An operand of the arithmetic that wraps, as int64: there, or where it is made."""
    for node in place.at(place.cause.place, cst.BinaryOperation):
        assert isinstance(node, cst.BinaryOperation)
        wide = _int64(place, node)
        if not isinstance(node.operator, _SUMS) or not wide:
            continue
        for operand in (node.left, node.right):
            if not is_literal(operand):
                yield place.edit(node, (operand, f"{place.code(operand)}.to({wide})"))
            variable = variables_by_read(place.program).get(operand) if isinstance(operand, cst.Name) else None
            made = assigned_value(place.program, variable) if variable is not None else None
            if made is not None and kernels.in_kernel(place.program, made[0]):
                yield place.edit(made[0], (made[1], f"{place.code(made[1])}.to({wide})"))


def _not_narrowed(place: FaultPlace) -> Repairs:
    for call in place.at(place.cause.place, cst.Call):
        assert isinstance(call, cst.Call)
        wide = _int64(place, call)
        if last_name(call.func) == "to" and len(call.args) == 1 and wide:
            yield place.edit(call, (call.args[0].value, wide))


def _int64(place: FaultPlace, node: cst.CSTNode) -> str | None:
    return spelling.name_for(place.program, kernels.kernel_around(place.program, node), "int64")


def _masked(place: FaultPlace) -> Repairs:
    """A mask for an access that has none: one of the kernel's others, or its index below a bound that it is given."""
    for call in place.at(place.cause.at, cst.Call):
        assert isinstance(call, cst.Call)
        known = spelling.access(place.program, call.func)
        if known is None or known[1].mask is None or _mask_of(place, call) is not None or not call.args:
            continue
        for mask in (*_other_masks(place, call), *_bounds(place, call)):
            yield place.with_argument(call, f"mask={mask}")


def _strict(place: FaultPlace) -> Repairs:
    """A mask that lets too much through: strict where it is not, or without what is added to its bound."""
    program = place.program
    for compared in every(program, cst.Comparison):
        if not kernels.in_kernel(program, compared):
            continue
        for target in compared.comparisons:
            strict = _STRICT.get(type(target.operator))
            if strict is not None:
                yield place.edit(compared, (target.operator, strict))
            yield from _without_added(place, compared, target.comparator)
    for node in every(program, cst.BinaryOperation):
        if isinstance(node.operator, cst.BitOr) and kernels.in_kernel(program, node):
            yield place.edit(node, (node.operator, "&"))


def _masked_more(place: FaultPlace) -> Repairs:
    """A mask that lets too much through, with one condition more."""
    for call in place.at(place.cause.at, cst.Call):
        assert isinstance(call, cst.Call)
        mask = _mask_of(place, call)
        if mask is not None:
            for more in (*_other_masks(place, call), *_bounds(place, call)):
                yield place.edit(mask, (mask, f"{place.code(mask)} & ({more})"))


def _fewer_trips(place: FaultPlace) -> Repairs:
    """A loop without what is added to its end."""
    for call in every(place.program, cst.Call):
        if spelling.is_range(place.program, call.func) and kernels.in_kernel(place.program, call):
            for arg in call.args:
                yield from _without_added(place, call, arg.value)


def _without_added(place: FaultPlace, shown: cst.CSTNode, node: cst.BaseExpression) -> Repairs:
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, _ADDED):
        for kept, other in ((node.left, node.right), (node.right, node.left)):
            if is_literal(other):
                yield place.edit(shown, (node, place.code(kept)))


def _mask_of(place: FaultPlace, call: cst.Call) -> cst.BaseExpression | None:
    return next((arg.value for arg in mask_arguments(place.program) if arg in call.args), None)


def _other_masks(place: FaultPlace, call: cst.Call) -> Iterator[str]:
    """The masks of the same function's other accesses, also spread over a second axis."""
    around = kernels.kernel_around(place.program, call)
    found = [arg.value for arg in mask_arguments(place.program)]
    mine = [mask for mask in found if kernels.kernel_around(place.program, mask) is around]
    for text in dict.fromkeys(place.plain(mask) for mask in mine if mask is not _mask_of(place, call)):
        yield text
        yield f"({text})[:, None]"
        yield f"({text})[None, :]"


def _bounds(place: FaultPlace, call: cst.Call) -> Iterator[str]:
    """The index below a parameter of the kernel, or below the number of elements that there are."""
    address, kernel = call.args[0].value, kernels.kernel_around(place.program, call)
    if kernel is None or not isinstance(address, cst.BinaryOperation):
        return
    base = address
    while isinstance(base.left, cst.BinaryOperation) and isinstance(base.operator, cst.Add):
        base = base.left
    if not (isinstance(base.operator, cst.Add) and isinstance(base.left, cst.Name)):
        return
    names = [param.name.value for param in all_parameters(kernel)]
    index = place.plain(address).partition(place.plain(base.left))[2].strip().removeprefix("+").strip()
    used = dict.fromkeys(name.value for name in within(place.program, address, cst.Name) if name.value not in names)
    given = [name for name in names if name != base.left.value and f"{name} " not in f"{index} "]
    for name, bound in itertools.product([*used, index], given):
        yield f"{name if name in used else f'({name})'} < {bound}"
    count = math.prod(place.cause.shape)
    if count:
        yield f"({index}) < {count}"
        yield f"(({index}) >= 0) & (({index}) < {count})"


def _own_value(place: FaultPlace) -> Repairs:
    """The tensor's own stride, extent or count for the argument that contradicts it; nothing for an offset."""
    cause = place.cause
    wanted = cause.values[1] if len(cause.values) > 1 else {kinds.OFFSET: 0, kinds.ZERO: 1}.get(cause.kind)
    if wanted is None:
        return
    for _, named, arg in place.arguments(cause.name):
        tensor = named[cause.tensor].value if cause.tensor in named else None
        yield place.edit(arg.value, (arg.value, _written(place, tensor, wanted)))
        if isinstance(arg.value, cst.BinaryOperation):
            for kept in (arg.value.left, arg.value.right):
                if not is_literal(kept):
                    yield place.edit(arg.value, (arg.value, place.code(kept)))


def _written(place: FaultPlace, tensor: cst.BaseExpression | None, wanted: int) -> str:
    """As the tensor's own where that has a name, else as a number."""
    cause = place.cause
    if isinstance(tensor, (cst.Name, cst.Attribute)):
        own = place.plain(tensor)
        if cause.kind == kinds.STRIDE and wanted in cause.strides:
            return f"{own}.stride({cause.strides.index(wanted)})"
        elif cause.kind == kinds.EXTENT and wanted in cause.shape:
            return f"{own}.shape[{cause.shape.index(wanted)}]"
        elif cause.kind == kinds.EXTENT and wanted == math.prod(cause.shape):
            return f"{own}.numel()"
    return str(wanted)


def _swapped_back(place: FaultPlace) -> Repairs:
    """Two arguments of the launch in the other order, or two strides that stand side by side on their way to it.
    Triton makes a constant of a stride that is 1, of which the IR then has no name."""
    values = {str(value) for value in place.cause.values}
    for name in place.cause.name.split(" and "):
        for call, named, one in place.arguments(name):
            for other in (arg.value for arg in named.values() if arg is not one):
                if _is_stride(other) or place.plain(other) in values:
                    yield place.edit(call, (one.value, place.plain(other)), (other, place.plain(one.value)))
    for outer in every(place.program, cst.Tuple, cst.List):
        for one, other in itertools.pairwise(element.value for element in outer.elements):  # type: ignore[attr-defined]
            if _is_stride(one) and _is_stride(other):
                yield place.edit(outer, (one, place.plain(other)), (other, place.plain(one)))


def _is_stride(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Call) and last_name(node.func) == "stride"


def _smaller_grid(place: FaultPlace) -> Repairs:
    """One program instance less, where one has nothing to do in the tensor."""
    if not place.cause.whole:
        return
    for call in place.launches:
        if not isinstance(call.func, cst.Subscript):
            continue
        grid = call.func.slice[0].slice
        value = grid.value if isinstance(grid, cst.Index) else None
        variable = variables_by_read(place.program).get(value) if isinstance(value, cst.Name) else None
        made = assigned_value(place.program, variable) if variable is not None else None
        value = made[1] if made is not None else value
        for extent in within(place.program, value, cst.Element) if value is not None else ():
            if isinstance(extent.value, cst.Integer) and int(extent.value.value) > 1:
                yield place.edit(value or call, (extent.value, str(int(extent.value.value) - 1)))
            yield from _without_added(place, value or call, extent.value)


def _own_shape(place: FaultPlace) -> Repairs:
    """A descriptor with the shape and the strides of its tensor."""
    shape, strides = place.cause.shape, place.cause.strides
    for call in every(place.program, cst.Call):
        if last_name(call.func) not in ("TensorDescriptor", "make_tensor_descriptor"):
            continue
        for at, own, told in ((1, shape, "shape"), (2, strides, "strides")):
            given = next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == told), None)
            given = given or next(iter(call.args[at : at + 1]), None)
            if given is None or not isinstance(given.value, (cst.List, cst.Tuple)):
                continue
            elements = given.value.elements
            for element, number in zip(elements, own) if len(elements) == len(own) else ():
                if place.plain(element.value) != str(number):
                    yield place.edit(call, (element.value, str(number)))


Offer = Callable[[FaultPlace], Repairs]
_UNMASKED: tuple[Offer, ...] = (_masked, _fewer_trips, _smaller_grid)
_BY_KIND: Mapping[str, tuple[Offer, ...]] = {
    kinds.WRAPPED: (_widened, _not_narrowed),
    kinds.NO_MASK: _UNMASKED,
    kinds.WRONG_MASK: (_strict, _masked_more, _fewer_trips, _smaller_grid),
    kinds.STRIDE: (_own_value,),
    kinds.SWAPPED: (_swapped_back,),
    kinds.EXTENT: (_own_value, _strict, _fewer_trips, _smaller_grid),
    kinds.OFFSET: (_own_value, _smaller_grid),
    kinds.ZERO: (_own_value,),
    kinds.DESCRIPTOR: (_own_shape,),
}

"""Operations that move lanes about and compute nothing: splat, broadcast, reshape, reduce, and block pointers."""

from __future__ import annotations

import functools
import re
from typing import Any, Callable, Container, List, Sequence, Tuple

import torch

from ..static.ttgir import Op
from .memory import Address, BlockPointer
from .numbers import Algebra, Both, Lanes, Number, Pair, Sum, Unfollowed, bounded, exact, pair, wrapped
from .types import extents, integer_bits, signature


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with each of its tensors changed, lane for lane."""
    if isinstance(value, (int, Unfollowed)) or value is None:
        if isinstance(value, Unfollowed) and value.bound is not None:
            return Unfollowed(value.why, mapped(value.bound, change))
        return value
    if isinstance(value, Pair):
        return Pair(mapped(value.wrapped, change), mapped(value.exact, change))
    if isinstance(value, Address):
        return Address(value.buffer, mapped(value.offset, change))
    if isinstance(value, Sum):
        return Sum(tuple(mapped(term, change) for term in value.terms), value.constant)
    if isinstance(value, Both):
        return Both(tuple(mapped(factor, change) for factor in value.factors))
    if isinstance(value, Lanes):
        return Lanes(change(value.data), value.low, value.high)
    return Unfollowed("a value that cannot be moved")


def raised(value: Any, rank: int) -> Any:
    """A scalar as a block of so many dimensions."""
    return mapped(value, lambda data: data.reshape(data.shape + (1,) * rank)) if rank else value


def transformed(algebra: Algebra, op: Op, operands: Sequence[Any]) -> List[Any]:
    """The results of an operation that is neither arithmetic, control nor memory; Unfollowed where nobody knows."""
    handler = _HANDLERS.get(op.name)
    if handler is None:
        return [Unfollowed(op.name)] * len(op.results)
    unknown = next((value for value in operands if isinstance(value, Unfollowed)), None)
    if unknown is not None and op.name not in ("tt.splat", "tt.expand_dims", "tt.broadcast", "ttg.convert_layout"):
        return [Unfollowed(unknown.why)] * len(op.results)
    return handler(algebra, op, operands)


def _same(algebra: Algebra, op: Op, operands: Sequence[Any]) -> List[Any]:
    return [operands[0]]


def _splat(algebra: Algebra, op: Op, operands: Sequence[Any]) -> List[Any]:
    return [raised(operands[0], len(extents(signature(op.body))))]


def _expand(algebra: Algebra, op: Op, operands: Sequence[Any]) -> List[Any]:
    found = re.search(r"axis = (\d+)", op.body)
    rank = len(extents(signature(op.body)))
    from_right = rank - int(found.group(1)) if found else 1  # of the new dimension, from 1
    return [mapped(operands[0], lambda data: _padded(data, from_right - 1).unsqueeze(-from_right))]


def _range(algebra: Algebra, op: Op, operands: Sequence[Any]) -> List[Any]:
    start, end = (re.search(word + r" = (-?\d+)", op.body) for word in ("start", "end"))
    if start is None or end is None:
        return [Unfollowed(op.name)]
    low, high = int(start.group(1)), int(end.group(1))
    return [low if high - low == 1 else Lanes(torch.arange(low, high), low, high - 1, tight=True)]


def _padded(data: Any, rank: int) -> Any:
    """At least so many dimensions."""
    return data.reshape((1,) * (rank - data.dim()) + tuple(data.shape)) if data.dim() < rank else data


def _types(op: Op) -> Tuple[str, str]:
    """The types from which and to which an operation goes."""
    text = signature(op.body) if not op.tail else op.tail.rpartition(" : ")[2]
    before, _, after = text.rpartition(" -> ")
    return before, after


def _each(algebra: Algebra, value: Any, change: Callable[[Any], Any]) -> Any:
    """A change of one whole tensor, for the value as computed and for the exact one."""
    if isinstance(value, Address):
        return Address(value.buffer, _each(algebra, value.offset, change))

    def changed(number: Number) -> Number:
        found = algebra.lanes(number)
        return found if isinstance(found, int) else Lanes(change(found.data), found.low, found.high)

    return pair(changed(wrapped(value)), changed(exact(value)))


def _full(data: Any, block: Sequence[int]) -> Any:
    """With each dimension of the block at its full extent."""
    data = _padded(data, len(block))
    lead = tuple(data.shape)[: data.dim() - len(block)]
    return data.expand(*lead, *block)


def _reshape(algebra: Algebra, op: Op, operands: Sequence[Any]) -> List[Any]:
    before, after = (extents(types) for types in _types(op))

    def change(data: Any) -> Any:
        full = _full(data, before)
        return full.reshape(*tuple(full.shape)[: full.dim() - len(before)], *after)

    return [_each(algebra, operands[0], change)]


def _transpose(algebra: Algebra, op: Op, operands: Sequence[Any]) -> List[Any]:
    found = re.search(r"order = array<i32: ([\d, ]+)>", op.body)
    if found is None:
        return [Unfollowed(op.name)]
    order = [int(n) for n in found.group(1).split(",")]

    def change(data: Any) -> Any:
        data = _padded(data, len(order))
        lead = data.dim() - len(order)
        return data.permute(*range(lead), *(lead + n for n in order))

    return [mapped(operands[0], change)]


def _join(algebra: Algebra, op: Op, operands: Sequence[Any]) -> List[Any]:
    def joined(view: Callable[[Any], Any]) -> Number:
        one, other = torch.broadcast_tensors(*(algebra.tensor(view(value)) for value in operands))
        return bounded(torch.stack((one, other), dim=-1))

    if any(isinstance(value, Address) for value in operands):
        return [Unfollowed("joined pointers")]
    return [pair(joined(wrapped), joined(exact))]


def _split(algebra: Algebra, op: Op, operands: Sequence[Any]) -> List[Any]:
    if isinstance(operands[0], int):
        return [operands[0], operands[0]]
    return [_each(algebra, operands[0], functools.partial(_half, at)) for at in (0, 1)]


def _half(at: int, data: Any) -> Any:
    return _full(data, (2,))[..., at]


_REDUCTIONS = {
    "addi": lambda data, dim: data.sum(dim),
    "maxsi": lambda data, dim: data.amax(dim),
    "minsi": lambda data, dim: data.amin(dim),
}
_SCANS = {
    "addi": lambda data, dim: data.cumsum(dim),
    "maxsi": lambda data, dim: data.cummax(dim).values,
    "minsi": lambda data, dim: data.cummin(dim).values,
}


def folded(algebra: Algebra, op: Op, value: Any, combination: str, block: Tuple[int, ...], scan: bool) -> Any:
    """A `tt.reduce` or `tt.scan` of one block of integers."""
    table = _SCANS if scan else _REDUCTIONS
    found = re.search(r"axis = (\d+)", op.body)
    if found is None or combination not in table or "reverse = true" in op.body:
        return Unfollowed(op.name)
    axis, bits = int(found.group(1)), integer_bits(_types(op)[1] or signature(op.body)) or 32

    def change(number: Number) -> Number:
        data = _full(algebra.tensor(number), block)
        algebra.check([data.shape])
        if data.dtype == torch.bool:
            data = data.to(torch.int64)
        return bounded(table[combination](data, axis - len(block)))

    as_computed = change(wrapped(value))
    in_exact = change(exact(value)) if isinstance(value, Pair) else as_computed
    return pair(algebra.wrap(as_computed, bits), in_exact)


def block_access(algebra: Algebra, pointer: BlockPointer, width: int, checked: Container[int]) -> Tuple[Any, Any]:
    """The address and the mask of an access through a block pointer to elements of `width` bytes. `checked`: dimensions
    whose bounds clip it."""
    if not isinstance(pointer.base, Address):
        return Unfollowed("a block pointer of an unknown pointer"), 1
    rank = len(pointer.block)
    offset: Any = raised(pointer.base.offset, rank)
    mask: Number = 1
    for at, extent in enumerate(pointer.block):
        parts = [pointer.offsets[at], pointer.strides[at], pointer.shape[at]]
        if any(isinstance(part, Unfollowed) for part in (*parts, offset)):
            return Unfollowed("a block pointer whose extents are not known"), 1
        start, stride, bound = (raised(wrapped(part), rank) for part in parts)
        lanes: Number = 0
        if extent > 1:
            lanes = Lanes(torch.arange(extent).reshape((extent,) + (1,) * (rank - 1 - at)), 0, extent - 1, tight=True)
        index = algebra.add(start, lanes)
        offset = algebra.add(wrapped(offset), algebra.multiply(algebra.multiply(index, stride), width))
        if at in checked:
            for test, other in ((torch.ge, 0), (torch.lt, bound)):
                if isinstance(index, int) and isinstance(other, int):
                    inside: Number = int(index >= other if test is torch.ge else index < other)
                else:
                    inside = algebra.elementwise(test, index, other, (0, 1))
                mask = algebra.both(mask, inside)
    return Address(pointer.base.buffer, offset), mask


_HANDLERS: Any = {
    **dict.fromkeys(("tt.broadcast", "tt.bitcast", "ttg.convert_layout", "gpu.barrier"), _same),
    "tt.splat": _splat,
    "tt.expand_dims": _expand,
    "tt.make_range": _range,
    "tt.reshape": _reshape,
    "tt.trans": _transpose,
    "tt.join": _join,
    "tt.split": _split,
}

__all__ = ["block_access", "folded", "mapped", "raised", "transformed"]

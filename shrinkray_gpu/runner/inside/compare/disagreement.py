"""How two tensors of one dtype disagree, given their bytes: by what kind, in how many elements, and how much.

    nan         finite in one run only (or a number in one and not in the other)
    wrong       further apart than rounding takes them: than `TOLERANCE` of the largest magnitude in the tensor, in
                the run where that is smaller, so that garbage of 1e30 in one run does not excuse itself; integers: any
    tolerance   not equal, but nearer than that

Equal is what compares equal: 0.0 and -0.0, two NaNs whatever their bits.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, Optional, Tuple

Record = Dict[str, Any]

KINDS = ("tolerance", "wrong", "nan")
"""From weak to strong."""
TOLERANCE = {"float64": 1e-9, "float32": 1e-3, "float16": 1e-2, "bfloat16": 3e-2}
"""Float32 covers TensorFloat-32, which keeps ten bits of each factor: the interpreter multiplies without it."""
NARROW = 0.3
"""For floats of eight bits and fewer, which keep one to three bits of the fraction."""
COMPLEX = {"complex64": "float32", "complex128": "float64", "complex32": "float16"}
WIDTHS = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}
CHUNK = 1 << 20
"""Elements looked at together: they take eight bytes each and more."""


def measure(torch: Any, one: Any, other: Any, dtype: str) -> Optional[Record]:
    """The strongest kind in which two equally long byte tensors disagree, with `elements`, `total` and `largest`.
    None if they are equal."""
    dtype = COMPLEX.get(dtype, dtype)
    kind = getattr(torch, dtype, None)
    if one.numel() != other.numel():
        raise ValueError("they differ in length")
    if kind is None or not kind.is_floating_point or one.numel() % kind.itemsize:
        return _whole_numbers(torch, one, other, kind)
    try:
        return _floats(torch, one, other, kind, TOLERANCE.get(dtype, NARROW))
    except (RuntimeError, NotImplementedError):  # float4, say: packed, and convertible to nothing
        return _whole_numbers(torch, one, other, None)


def _floats(torch: Any, one: Any, other: Any, kind: Any, tolerance: float) -> Optional[Record]:
    scale = tolerance * min(_magnitude(torch, one, kind), _magnitude(torch, other, kind))
    counts, largest, total = dict.fromkeys(KINDS, 0), 0.0, 0
    for x, y in _chunks(one, other, kind):
        x, y = x.to(torch.float64), y.to(torch.float64)
        finite = x.isfinite() & y.isfinite()
        apart = torch.where(finite, (x - y).abs(), torch.zeros_like(x))
        lost = (x.isfinite() != y.isfinite()) | (x.isnan() != y.isnan())
        flipped = ~finite & ~lost & ~x.isnan() & (x != y)  # plus and minus infinity
        counts["nan"] += int(lost.sum())
        counts["wrong"] += int((apart > scale).sum()) + int(flipped.sum())
        counts["tolerance"] += int(((apart > 0) & (apart <= scale)).sum())
        largest = max(largest, float(apart.max()))
        total += x.numel()
    for found in reversed(KINDS):
        if counts[found]:
            return {"kind": found, "elements": counts[found], "total": total, "largest": largest}
    return None


def _magnitude(torch: Any, tensor: Any, kind: Any) -> float:
    """The largest finite absolute value."""
    largest = 0.0
    for x, _ in _chunks(tensor, tensor, kind):
        x = x.to(torch.float64)
        largest = max(largest, float(torch.where(x.isfinite(), x.abs(), torch.zeros_like(x)).max()))
    return largest


def _whole_numbers(torch: Any, one: Any, other: Any, kind: Any) -> Optional[Record]:
    if kind is None or one.numel() % kind.itemsize or kind.itemsize not in WIDTHS:
        kind = torch.uint8
    like = getattr(torch, WIDTHS[kind.itemsize])  # unsigned types cannot be compared in every torch
    elements, largest, total = 0, 0.0, 0
    for x, y in _chunks(one, other, like):
        differ = x != y
        elements += int(differ.sum())
        apart = x.view(kind).to(torch.float64) - y.view(kind).to(torch.float64)
        largest = max(largest, float(apart.abs().max()))
        total += x.numel()
    return {"kind": "wrong", "elements": elements, "total": total, "largest": largest} if elements else None


def _chunks(one: Any, other: Any, kind: Any) -> Iterator[Tuple[Any, Any]]:
    step = CHUNK * kind.itemsize
    for start in range(0, one.numel(), step):
        yield one[start : start + step].view(kind), other[start : start + step].view(kind)

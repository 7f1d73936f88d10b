"""How a launch argument reads in a record: everything that a kernel can tell apart, and no address.

`f32[8, 64] s(64, 1) +0 @0%128` is a tensor: dtype, shape, strides, storage offset in elements, and where its first
byte lies modulo 128 (so also modulo 16, which Triton specialises on). The virtual GPU adds `#` and a hash of the
content. Device memory is never read here: that would wait for the device.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

ContentDigest = Optional[Callable[[Any], str]]

_SHORT = {
    **{"bfloat16": "bf16", "uint8": "u8", "bool": "i1"},
    **{"float%d" % bits: "f%d" % bits for bits in (16, 32, 64)},
    **{"int%d" % bits: "i%d" % bits for bits in (8, 16, 32, 64)},
}


def describe(value: Any, content: ContentDigest = None) -> str:
    """One argument in words. With `content` (only the virtual GPU can read for nothing) a word on what a tensor
    holds."""
    if value is None or isinstance(value, (bool, float, str)):
        return "%s %r" % (type(value).__name__, value)
    if isinstance(value, int):
        return "%s %d" % ("i32" if -(2**31) <= value < 2**31 else "i64" if value < 2**63 else "u64", value)
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(describe(v, content) for v in value) + ")"
    if hasattr(value, "data_ptr") and hasattr(value, "dtype"):
        return _tensor(value, content)
    base = getattr(value, "base", None)
    if hasattr(base, "data_ptr") and hasattr(value, "block_shape"):  # a host-made TensorDescriptor
        return "desc%r s%r b%r %s" % (
            list(value.shape),
            tuple(value.strides),
            list(value.block_shape),
            _tensor(base, content),
        )
    if hasattr(base, "data_ptr"):  # triton.reinterpret's TensorWrapper
        return "as %s %s" % (getattr(value, "dtype", "?"), _tensor(base, content))
    if hasattr(value, "value") and type(value).__name__ == "constexpr":
        return "constexpr " + describe(value.value, content)
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    text = str(name) if name else str(value)
    return "%s %s" % (type(value).__name__, text if " at 0x" not in text else "")


def _tensor(value: Any, content: ContentDigest) -> str:
    name = str(value.dtype).rsplit(".", 1)[-1]
    try:
        shape, strides = list(value.shape), tuple(value.stride())
    except (AttributeError, TypeError):
        return "%s*" % _SHORT.get(name, name)
    offset = value.storage_offset() if hasattr(value, "storage_offset") else 0
    # A virtual tensor lies in CPU memory, aligned to 64: what counts is where a GPU, whose allocations start at 512,
    # has it.
    at = (value.data_ptr() if content is None else offset * value.element_size()) % 128
    text = "%s%r s%r +%d @%d%%128" % (_SHORT.get(name, name), shape, strides, offset, at)
    return text if content is None else text + " " + content(value)

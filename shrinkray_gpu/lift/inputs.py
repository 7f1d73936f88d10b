"""The tensors of a lifted launch, made by the simplest recipe with the shape, strides, offset and aliasing they had."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

Recipe = Literal["zeros", "randn"]
Argument = Mapping[str, Any]

_NO_RANDN = ("float8", "float4")
_BITS = re.compile(r"\d+")


class Inputs:
    """Collects the lines that make the inputs. `text(argument)` is what stands for it in the call, or None if nothing
    can."""

    def __init__(self, recipe: Recipe, taken: set[str]) -> None:
        self.recipe, self.taken = recipe, set(taken)
        self.lines: list[str] = []
        self.imports: list[str] = []
        self._made: dict[tuple[Any, ...], str] = {}
        self._buffers: dict[int, str] = {}
        self._shared: dict[int, list[Argument]] | None = None

    def plan(self, arguments: Sequence[Argument]) -> None:
        """See which tensors lie in one storage: that must be known before the first is made."""
        self._shared = {}
        for tensor in (t for argument in arguments for t in tensors(argument)):
            users = self._shared.setdefault(tensor["storage"], [])
            if all(_view(tensor) != _view(other) for other in users):
                users.append(tensor)

    def text(self, argument: Argument) -> str | None:
        kind = argument["kind"]
        if kind == "value":
            return str(argument["text"])
        if kind == "tensor":
            return self._tensor(argument, argument["name"] if "name" in argument else "x")
        if kind == "tuple":
            items = [self.text({"name": argument.get("name", "x"), **item}) for item in argument["items"]]
            if None in items:
                return None
            return f"({', '.join(str(item) for item in items)}{',' if len(items) == 1 else ''})"
        if kind == "descriptor":
            return self._descriptor(argument)
        if kind == "reinterpreted":
            name = self._tensor(argument["base"], argument.get("name", "x"))
            return f"triton.reinterpret({name}, {argument['text']})"
        return None

    def _descriptor(self, argument: Argument) -> str:
        self.imports.append("from triton.tools.tensor_descriptor import TensorDescriptor\n")
        base = argument["base"]
        name = self._tensor(base, argument.get("name", "x"))
        more = "".join(
            f", {key}={argument[key]!r}"
            for key, usual in (("padding", "zero"), ("round_f32_to_tf32", False))
            if argument[key] != usual
        )
        if argument["shape"] == base["shape"] and argument["strides"] == base["strides"]:
            return f"TensorDescriptor.from_tensor({name}, {argument['block_shape']}{more})"
        fields = ", ".join(str(argument[key]) for key in ("shape", "strides", "block_shape"))
        return f"TensorDescriptor({name}, {fields}{more})"

    def _tensor(self, tensor: Argument, wish: str) -> str:
        key = (tensor["storage"], *_view(tensor))
        if key not in self._made:
            users = (self._shared or {}).get(tensor["storage"], [tensor])
            expression = self._alone(tensor) if len(users) < 2 else self._within(tensor, users)
            self._made[key] = self._free(wish)
            self.lines.append(f"{self._made[key]} = {expression}\n")
        return self._made[key]

    def _alone(self, tensor: Argument) -> str:
        """A tensor that shares its storage with no other."""
        shape, strides, dtype, device = (tensor[key] for key in ("shape", "strides", "dtype", "device"))
        offset = tensor["offset"] + tensor["residue"] // _itemsize(dtype)
        odd = offset * _itemsize(dtype) % 16  # only that can be told from outside
        if odd == 0 and _contiguous(shape, strides):
            return self._new(shape, dtype, device)
        if odd == 0 and len(shape) == 2 and strides[1] == 1 and strides[0] > shape[1] > 0:
            return f"{self._new([shape[0], strides[0]], dtype, device)}[:, :{shape[1]}]"
        if odd == 0 and len(shape) == 2 and _contiguous(shape[::-1], strides[::-1]):
            return f"{self._new(shape[::-1], dtype, device)}.T"
        start = odd // _itemsize(dtype)
        extent = start + _extent(shape, strides)
        if len(shape) == 1 and strides == [1]:
            return f"{self._new([extent], dtype, device)}[{start}:]"
        return f"{self._new([extent], dtype, device)}.as_strided({_tuple(shape)}, {_tuple(strides)}, {start})"

    def _within(self, tensor: Argument, users: Sequence[Argument]) -> str:
        """A view of a storage that other arguments lie in as well."""
        dtypes = {user["dtype"] for user in users}
        raw = len(dtypes) > 1
        dtype = tensor["dtype"]
        if tensor["storage"] not in self._buffers:
            ends = [(u["offset"] + _extent(u["shape"], u["strides"])) * _itemsize(u["dtype"]) for u in users]
            largest = max(_itemsize(name) for name in dtypes)
            size = -(-(max(ends) + tensor["residue"]) // largest) * largest  # so that it can be seen as any of them
            name = self._free("buffer")
            count, kind = (size, "uint8") if raw else (size // largest, dtype)
            self.lines.append(f"{name} = {self._new([count], kind, tensor['device'])}\n")
            self._buffers[tensor["storage"]] = name
        buffer = self._buffers[tensor["storage"]] + (f".view(torch.{dtype})" if raw else "")
        start = tensor["offset"] + tensor["residue"] // _itemsize(dtype)
        shape, strides = tensor["shape"], tensor["strides"]
        if len(shape) == 1 and strides == [1]:
            return f"{buffer}[{start or ''}:{start + shape[0]}]"
        end = f", {start}" if start else ""
        return f"{buffer}.as_strided({_tuple(shape)}, {_tuple(strides)}{end})"

    def _new(self, shape: Sequence[int], dtype: str, device: str) -> str:
        size = ", ".join(map(str, shape)) if shape else "()"
        floats = dtype.startswith(("float", "bfloat", "complex"))
        name = "randn" if self.recipe == "randn" and floats else "zeros"
        if name == "randn" and dtype.startswith(_NO_RANDN):
            return f'torch.randn({size}, device="{device}").to(torch.{dtype})'
        words = [size, *([] if dtype == "float32" else [f"dtype=torch.{dtype}"]), f'device="{device}"']
        return f"torch.{name}({', '.join(words)})"

    def _free(self, wish: str) -> str:
        """A short name that nothing else has: a kernel's `x_ptr` is the host's `x`."""
        stem = wish.removesuffix("_ptr") if wish.removesuffix("_ptr") not in self.taken else wish
        found, number = stem, 1
        while found in self.taken:
            number += 1
            found = f"{stem}_{number}"
        self.taken.add(found)
        return found


def tensors(argument: Argument) -> list[Argument]:
    """All tensors that an argument stands on."""
    if argument["kind"] == "tensor":
        return [argument]
    if argument["kind"] == "tuple":
        return [t for item in argument["items"] for t in tensors(item)]
    return [argument["base"]] if "base" in argument else []


def _view(tensor: Argument) -> tuple[Any, ...]:
    return (tensor["dtype"], tuple(tensor["shape"]), tuple(tensor["strides"]), tensor["offset"])


def _itemsize(dtype: str) -> int:
    """Bytes of an element, from its type's name: `bfloat16`, `float8_e4m3fn`, `bool`."""
    bits = _BITS.search(dtype)
    return max(1, int(bits[0]) // 8) if bits else 1


def _contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size != 1 and stride != expected:
            return 0 in shape
        expected *= size
    return True


def _extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Elements from the first to the last."""
    if math.prod(shape) == 0:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))


def _tuple(values: Sequence[int]) -> str:
    return f"({', '.join(map(str, values))}{',' if len(values) == 1 else ''})"

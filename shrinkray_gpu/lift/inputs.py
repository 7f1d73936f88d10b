"""The tensors of a lifted launch, by the fewest words that a kernel cannot tell from the real ones.

A kernel sees of a tensor the address, its type and its alignment, and what lies behind it. So shape and strides of a
view need not be made again, only as much memory as it spans; those of a descriptor's tensor are part of the launch.
Arguments in one storage stay in one, unless asked for apart.
"""

from __future__ import annotations

import ast
import keyword
import math
from collections.abc import Mapping, Sequence
from typing import Any

from shrinkray_gpu.lift.values import RANDOM, UNIFORM, ZEROS, Choice, Content, comment, itemsize, new, tuple_text

Argument = Mapping[str, Any]

_ALIGNED = 512
"""Where allocations of torch on a GPU start."""


class Inputs:
    """Collects the lines that make the inputs. `text(argument)` is what stands for it in the call, or None if nothing
    can.

    `apart`: each view has memory of its own. `whole`: as much memory as there was behind each, not what it spans.
    """

    def __init__(self, choice: Choice, taken: set[str], *, apart: bool = False, whole: bool = False) -> None:
        self.choice, self.taken = choice, set(taken)
        self.apart, self.whole = apart, whole
        self.imports: list[str] = []
        self.lines: list[str] = []
        self._random = False
        self._made: dict[tuple[Any, ...], str] = {}
        self._buffers: dict[int, tuple[str, int, Content]] = {}
        self._shared: dict[int, list[Argument]] = {}

    @property
    def seed(self) -> str:
        """What must stand before the lines."""
        return "torch.manual_seed(0)\n" if self._random else ""

    def plan(self, arguments: Sequence[Argument]) -> None:
        """See which tensors lie in one storage: that must be known before the first is made."""
        for tensor in (t for argument in arguments for t in tensors(argument)):
            users = self._shared.setdefault(tensor["storage"], [])
            if all(_view(tensor) != _view(other) for other in users):
                users.append(tensor)

    def text(self, argument: Argument) -> str | None:
        kind = argument["kind"]
        if kind == "value":
            return str(argument["text"])
        if kind == "tensor":
            return self._tensor(argument, argument.get("name", "x"))
        if kind == "tuple":
            items = [self.text({"name": argument.get("name", "x"), **item}) for item in argument["items"]]
            if None in items:
                return None
            named = argument.get("named", "")  # its type
            return f"{named}({', '.join(str(item) for item in items)}{',' if len(items) == 1 and not named else ''})"
        if kind == "descriptor":
            return self._descriptor(argument)
        if kind == "reinterpreted":
            name = self._tensor(argument["base"], argument.get("name", "x"))
            return f"triton.reinterpret({name}, {argument['text']})"
        return None

    def _descriptor(self, argument: Argument) -> str:
        module = argument.get("module", "triton.tools.tensor_descriptor")
        self.imports.append(f"from {module} import TensorDescriptor\n")
        base = argument["base"]
        name = self._tensor(base, argument.get("name", "x"), viewed=True)
        fields = [name, *(str(argument[key]) for key in ("shape", "strides", "block_shape"))]
        method = ""
        if argument["shape"] == base["shape"] and argument["strides"] == base["strides"]:
            method, fields = ".from_tensor", [name, str(argument["block_shape"])]
        if "layout" in argument:  # Gluon's
            fields.append(argument["layout"])
        for key, usual in (("padding", "zero"), ("round_f32_to_tf32", False)):
            if argument[key] != usual:
                fields.append(f"{key}={argument[key]!r}")
        return f"TensorDescriptor{method}({', '.join(fields)})"

    def _tensor(self, tensor: Argument, wish: str, *, viewed: bool = False) -> str:
        """`viewed`: its shape and strides are seen."""
        key = (tensor["storage"], *_view(tensor))
        if key not in self._made:
            users = self._shared.get(tensor["storage"], [tensor])
            content = self.choice(tensor)
            alone = len(users) < 2 or self.apart
            expression, whole = self._alone(tensor, content, viewed) if alone else self._within(tensor, users, content)
            name = self._made[key] = self.free(wish)
            self.lines.append(f"{name} = {_bare(expression)}{comment(content) if whole else ''}\n")
            if not whole:
                filled = self._new(tensor["shape"], tensor["dtype"], tensor["device"], content)
                self.lines.append(f"{name}.copy_({filled}){comment(content)}\n")
            elif content.get("nan"):
                at = ", ".join("0" for _ in tensor["shape"]) or "..."
                if alone and _contiguous(tensor["shape"], tensor["strides"]):
                    self.lines.append(f'{name}[{at}] = float("nan")\n')
        return self._made[key]

    def _alone(self, tensor: Argument, content: Content, viewed: bool) -> tuple[str, bool]:
        """A tensor that shares its storage with no other, and whether it holds its content already."""
        shape, strides, dtype, device = (tensor[key] for key in ("shape", "strides", "dtype", "device"))
        size = itemsize(dtype)
        odd = (tensor["offset"] * size + tensor["residue"]) % 16  # only that can be told from outside
        if not odd and not self.whole and _contiguous(shape, strides):
            return self._new(shape, dtype, device, content), True
        ordered = content["kind"] not in UNIFORM
        if ordered and any(n > 1 and stride == 0 for n, stride in zip(shape, strides)):
            content, ordered = ZEROS, False  # repeated elements cannot be copied to
        viewed = viewed or ordered
        filling = ZEROS if ordered else content
        start = odd // size
        if not odd and not self.whole:
            padded = _padded(shape, strides)
            if padded and not viewed:
                return self._new(padded, dtype, device, filling), True
            if len(shape) == 2 and strides[1] == 1 and strides[0] > shape[1] > 0:
                return f"{self._new([shape[0], strides[0]], dtype, device, filling)}[:, :{shape[1]}]", not ordered
            if len(shape) == 2 and _contiguous(shape[::-1], strides[::-1]):
                return f"{self._new(shape[::-1], dtype, device, filling)}.T", not ordered
        extent = start + _extent(shape, strides)
        if self.whole:
            extent = max(extent, start + (tensor["bytes"] // size - tensor["offset"]))
        flat = self._new([extent], dtype, device, filling)
        if not viewed:
            return (f"{flat}[{start}:]" if start else flat), True
        if len(shape) == 1 and strides == [1] and not self.whole:
            return (f"{flat}[{start}:]" if start else flat), not ordered
        return f"{flat}.as_strided({tuple_text(shape)}, {tuple_text(strides)}, {start})", not ordered

    def _within(self, tensor: Argument, users: Sequence[Argument], content: Content) -> tuple[str, bool]:
        """A view of a storage that other arguments lie in as well, and whether it holds its content already."""
        dtypes = {user["dtype"] for user in users}
        raw = len(dtypes) > 1
        dtype, size = tensor["dtype"], itemsize(tensor["dtype"])
        if tensor["storage"] not in self._buffers:
            self._buffers[tensor["storage"]] = self._buffer(users, raw)
        name, begin, filled = self._buffers[tensor["storage"]]
        buffer = name + (f".view(torch.{dtype})" if raw else "")
        start = tensor["offset"] + (tensor["residue"] - begin) // size
        shape, strides = tensor["shape"], tensor["strides"]
        whole = content == filled or any(n > 1 and stride == 0 for n, stride in zip(shape, strides))
        if len(shape) == 1 and strides == [1]:
            return f"{buffer}[{start or ''}:{start + shape[0]}]", whole
        end = f", {start}" if start else ""
        return f"{buffer}.as_strided({tuple_text(shape)}, {tuple_text(strides)}{end})", whole

    def _buffer(self, users: Sequence[Argument], raw: bool) -> tuple[str, int, Content]:
        """The memory that these views lie in: its name, where it begins in the storage, and what it holds."""
        ends = [(u["offset"] + _extent(u["shape"], u["strides"])) * itemsize(u["dtype"]) for u in users]
        begin = min(u["offset"] * itemsize(u["dtype"]) for u in users) // _ALIGNED * _ALIGNED
        if self.whole:
            begin, ends = 0, [u["bytes"] for u in users]
        largest = max(itemsize(u["dtype"]) for u in users)
        size = -(-(max(ends) - begin + users[0]["residue"]) // largest) * largest  # to be seen as any of the types
        contents = [self.choice(user) for user in users]
        alike = contents[0]["kind"] in UNIFORM and all(content == contents[0] for content in contents)
        filled = contents[0] if alike and not raw else ZEROS
        name = self.free("buffer")
        count, kind = (size, "uint8") if raw else (size // largest, users[0]["dtype"])
        self.lines.append(f"{name} = {_bare(self._new([count], kind, users[0]['device'], filled))}\n")
        return name, begin, filled

    def _new(self, shape: Sequence[int], dtype: str, device: str, content: Content) -> str:
        self._random = self._random or content["kind"] in RANDOM
        return new(shape, dtype, device, content)

    def free(self, wish: str) -> str:
        """A short name that nothing else has: a kernel's `x_ptr` is the host's `x`."""
        stem = wish.removesuffix("_ptr")
        if stem in self.taken or keyword.iskeyword(stem):  # `in_ptr`
            stem = wish
        found, number = stem, 1
        while found in self.taken:
            number += 1
            found = f"{stem}_{number}"
        self.taken.add(found)
        return found


def _bare(expression: str) -> str:
    """Without parentheses around the whole of it."""
    if expression.startswith("(") and expression.endswith(")"):
        try:
            ast.parse(expression[1:-1], mode="eval")
            return expression[1:-1]
        except SyntaxError:
            pass
    return expression


def tensors(argument: Argument) -> list[Argument]:
    """All tensors that an argument stands on."""
    if argument["kind"] == "tensor":
        return [argument]
    if argument["kind"] == "tuple":
        return [t for item in argument["items"] for t in tensors(item)]
    return [argument["base"]] if "base" in argument else []


def modules(argument: Argument) -> list[str]:
    """The modules that an argument's descriptors are imported from."""
    inner = [module for item in argument.get("items", ()) for module in modules(item)]
    return [argument["module"], *inner] if "module" in argument else inner


def share_memory(every: Sequence[Argument]) -> bool:
    """Whether two different views lie in one storage."""
    views: dict[int, set[tuple[Any, ...]]] = {}
    for tensor in every:
        views.setdefault(tensor["storage"], set()).add(_view(tensor))
    return any(len(found) > 1 for found in views.values())


def more_behind(tensor: Argument) -> bool:
    """Whether the storage goes on for long after what the tensor spans."""
    spanned = (tensor["offset"] + _extent(tensor["shape"], tensor["strides"])) * itemsize(tensor["dtype"])
    padded = _padded(tensor["shape"], tensor["strides"])
    if padded:
        spanned = max(spanned, (tensor["offset"] + math.prod(padded)) * itemsize(tensor["dtype"]))
    return bool(tensor["bytes"] - spanned > _ALIGNED)


def _view(tensor: Argument) -> tuple[Any, ...]:
    return (tensor["dtype"], tuple(tensor["shape"]), tuple(tensor["strides"]), tensor["offset"])


def _contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size != 1 and stride != expected:
            return 0 in shape
        expected *= size
    return True


def _padded(shape: Sequence[int], strides: Sequence[int]) -> list[int]:
    """The contiguous shape that spans the same memory: rows as wide as they lie apart, dimensions in the order of
    memory, repeated ones left out. Empty if there is none."""
    if 0 in shape:
        return []
    dims = sorted(((t, n) for n, t in zip(shape, strides) if n > 1 and t != 0), reverse=True)
    if not dims or dims[-1][0] != 1:
        return [] if dims else [1]
    sizes = [dims[0][1]]
    for (outer, _), (inner, count) in zip(dims, dims[1:]):
        if outer % inner or outer // inner < count:
            return []
        sizes.append(outer // inner)
    return sizes


def _extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Elements from the first to the last."""
    if math.prod(shape) == 0:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))

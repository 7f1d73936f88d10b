"""Bounds: in Triton's interpreter, whether a kernel stays inside of the tensors that it was given.

A candidate that lost its mask reads what happens to lie behind a tensor. That differs between the device and the
interpreter, and between one process and another, so it looks like the very disagreement that is asked for. Such a
launch is not compared. Nor does it get at that memory: a write there would end this process, sooner or later.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Iterator, List, Optional, Tuple

OUTSIDE = "it reads or writes outside of its tensors"
DOORS = ("create_masked_load", "create_masked_store", "create_atomic_rmw", "create_atomic_cas")

PutAttribute = Callable[[Any, str, Callable[[Any], Any]], None]


class Bounds:
    """Of the launch that is under way in the interpreter, which runs one at a time."""

    def __init__(self, confine: bool = True, nobodys: Optional[int] = None) -> None:
        """`confine`: what is outside is not touched. `nobodys`: in each byte of memory that nobody wrote. To load such
        an element counts as being outside."""
        self.confine, self.nobodys = confine, nobodys
        self.ranges: List[Tuple[int, int]] = []
        self.left = False
        """Whether an access was outside."""

    def install(self, interpreter: Any, put: PutAttribute) -> None:
        """Wrap, by `put`, what the interpreter of this Triton has of the doors that memory is reached by."""
        if not hasattr(interpreter.GridExecutor, "_init_args_hst"):
            return
        put(interpreter.GridExecutor, "_init_args_hst", self._arguments)
        builder = type(interpreter.interpreter_builder)
        for name in DOORS:
            if hasattr(builder, name):
                put(builder, name, self._access)

    def begin(self) -> None:
        self.ranges, self.left = [], False

    def _arguments(self, original: Any) -> Any:
        @functools.wraps(original)
        def init(*args: Any) -> Any:
            positional, named = original(*args)
            for storage in _storages((*positional, *named.values())):
                self.ranges.append((storage.data_ptr(), storage.data_ptr() + storage.nbytes()))
            return positional, named

        return init

    def _access(self, original: Any) -> Any:
        parameters = inspect.signature(original)
        pointers = next((name for name in parameters.parameters if name in ("ptr", "ptrs")), "")

        @functools.wraps(original)
        def access(*args: Any, **kwargs: Any) -> Any:
            given = parameters.bind(*args, **kwargs).arguments
            if not self.ranges or pointers not in given:
                return original(*args, **kwargs)
            inside, mask = self._inside(given[pointers].data), given.get("mask")
            if (inside if mask is None else inside | ~mask.data.astype(bool)).all():
                found = original(*args, **kwargs)
                self.left = self.left or self._is_nobodys(found)
                return found
            self.left = True
            if not self.confine:
                return original(*args, **kwargs)
            if mask is not None:
                given["mask"] = type(mask)(mask.data.astype(bool) & inside, mask.dtype)
            return original(*given.values())

        return access

    def _is_nobodys(self, found: Any) -> bool:
        data = getattr(found, "data", None)  # of a load, or of what an atomic operation gives back
        if self.nobodys is None or data is None:
            return False
        return bool((data.reshape(-1, 1).view("uint8") == self.nobodys).all(axis=1).any())

    def _inside(self, addresses: Any) -> Any:
        inside = addresses != addresses
        for start, end in self.ranges:
            inside = inside | ((addresses >= start) & (addresses < end))
        return inside


def _storages(values: Any) -> Iterator[Any]:
    for value in values:
        base = getattr(value, "base", value)
        if isinstance(value, (tuple, list)):
            yield from _storages(value)
        elif hasattr(base, "untyped_storage"):
            yield base.untyped_storage()

"""NaN and Inf in Triton's interpreter: the operation that makes the first one, where one is written then."""

from __future__ import annotations

import ast
import contextlib
import linecache
import os
import sys
from functools import partial
from typing import Any, Callable, Dict, Optional

OPERATIONS = ("unary_op", "binary_op", "ternary_op", "create_dot")
LOADS = ("create_load", "create_masked_load")
STORES = ("create_store", "create_masked_store")
NAMES = {"nan": "NaN", "inf": "infinity"}
_LEFT_OUT = "which a later operation may leave out"


class NonFiniteWatch:
    """Of launches that the interpreter runs, one program instance after another."""

    def __init__(self) -> None:
        self.origin = ""
        """Of the first such value in the program instance that first wrote one, in words; empty: there was none, or it
        is not known. What is written may be another one, where a `tl.where` leaves the first one out."""
        self._made: Dict[str, str] = {}
        """What made the first `nan` and the first `inf` of the program instance that runs."""

    def install(self, module: Any, wrap: Callable[[Any, str, Any], None]) -> None:
        builder = module.InterpreterBuilder
        for names, watched in ((OPERATIONS, self._computes), (LOADS, self._loads), (STORES, self._stores)):
            for name in names:
                if hasattr(builder, name):
                    wrap(builder, name, partial(watched, name))
        if hasattr(builder, "set_grid_idx"):
            wrap(builder, "set_grid_idx", self._begins)

    def _begins(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def begin(*args: Any, **kwargs: Any) -> Any:
            self._made.clear()
            return original(*args, **kwargs)

        return begin

    def _computes(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def compute(builder: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(builder, *args, **kwargs)
            if not self.origin and len(self._made) < len(NAMES):
                given = set().union(*map(_kinds, args))
                for kind in _kinds(result) - given - set(self._made):
                    called = next((getattr(each, "__name__", "") for each in args if callable(each)), "") or name
                    of = f", of the {NAMES['inf']} {self._made['inf']}" if "inf" in given & set(self._made) else ""
                    self._made[kind] = f"of {called.replace('create_', '')}{_place()}{of}"
            return result

        return compute

    def _loads(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def load(builder: Any, pointers: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(builder, pointers, *args, **kwargs)
            others = set().union(*map(_kinds, args))  # what a mask leaves out
            for kind in () if self.origin else _kinds(result) - others:
                self._made.setdefault(kind, f"that is loaded from memory{_place()}")
            return result

        return load

    def _stores(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def store(builder: Any, pointers: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.origin:
                mask = args[0].data if name == "create_masked_store" and hasattr(args[0], "data") else None
                kinds = _kinds(value, mask)
                found = next((kind for kind in NAMES if kind in kinds and kind in self._made), "")
                if found:
                    self.origin = f"the first {NAMES[found]} in the kernel, {_LEFT_OUT}, is the one {self._made[found]}"
            return original(builder, pointers, value, *args, **kwargs)

        return store


def _kinds(value: Any, mask: Optional[Any] = None) -> "set[str]":
    """Which of `NAMES` a value of the interpreter's holds, where the mask does not leave it out."""
    data = getattr(value, "data", None)
    if getattr(getattr(data, "dtype", None), "kind", "") != "f":
        return set()
    numpy = sys.modules["numpy"]
    assert data is not None
    data = data if mask is None else data[numpy.broadcast_to(mask, data.shape).astype(bool)]
    if numpy.isfinite(data).all():
        return set()
    return {kind for kind, has in (("nan", numpy.isnan(data)), ("inf", numpy.isinf(data))) if has.any()}


def _place() -> str:
    """` at FILE:LINE` of the kernel's own line."""
    frame: Any = sys._getframe(2)
    ours = os.path.dirname(os.path.abspath(__file__))
    while frame is not None:
        file = frame.f_code.co_filename
        if not (file.startswith(ours) or f"{os.sep}triton{os.sep}" in file or f"{os.sep}numpy{os.sep}" in file):
            inside = file.startswith("<") or f"{os.sep}lib{os.sep}python" in file
            if not inside:
                return f" at {os.path.basename(file)}:{_line(file, frame)}"
        frame = frame.f_back
    return ""


def _line(file: str, frame: Any) -> int:
    """Of the file. A kernel's own lines may count from its first one: see `launches.kernelline`."""
    begins = set()
    with contextlib.suppress(SyntaxError, ValueError):
        for node in ast.walk(ast.parse("".join(linecache.getlines(file)))):
            if isinstance(node, ast.FunctionDef) and node.name == frame.f_code.co_name:
                begins.add(node.lineno)
    within: int = frame.f_lineno - frame.f_code.co_firstlineno
    return begins.pop() + within if len(begins) == 1 else int(frame.f_lineno)

"""Zeros in the place of what kernels write, where Triton's interpreter runs them.

It stores zeros wherever it would have stored anything. What an atomic operation takes is zero, too.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, Tuple

_DOORS = {"create_store": 1, "create_masked_store": 1, "create_atomic_rmw": 2, "create_atomic_cas": 2}
"""Of each method of the interpreter's builder, the place of the value among its arguments."""


def patches(interpreter: Any) -> Iterator[Tuple[Any, str, Callable[..., Any]]]:
    """What to wrap in this Triton's interpreter: the owner, the name, and what makes the new method of the old one."""
    builder = type(interpreter.interpreter_builder)
    for name, place in _DOORS.items():
        if name in vars(builder):
            yield builder, name, lambda original, place=place: _zeroed(original, place)


def _zeroed(original: Callable[..., Any], place: int) -> Callable[..., Any]:
    import numpy  # the interpreter has imported it

    def store(builder: Any, *args: Any, **kwargs: Any) -> Any:
        value: Any = args[place] if len(args) > place else None
        data = getattr(value, "data", None)
        if data is None:
            return original(builder, *args, **kwargs)
        zeros = type(value)(numpy.zeros_like(data), value.dtype)
        return original(builder, *args[:place], zeros, *args[place + 1 :], **kwargs)

    return store

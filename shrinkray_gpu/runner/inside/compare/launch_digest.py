"""A launch as a digest: the same for two runs whose kernels do the same with the same arguments.

What a kernel makes of values of ours hangs on nothing else, so it need not be asked again. A name, a number or a type
more makes another digest, and so does what has an address in its words: then it is asked.
"""

from __future__ import annotations

import hashlib
from types import CodeType, FunctionType, ModuleType
from typing import Any, Callable, Dict, Iterator, Sequence, Set, Tuple

from .sides import SAMPLE, sample

Given = Sequence[Tuple[str, Any]]
_INSTALLED = ("torch", "triton", "numpy", "math", "builtins", "sys", "os")
"""Modules that no reduction changes."""


def digest(torch: Any, function: Any, grid: Any, given: Given, sources: Callable[[Any], str]) -> str:
    """Of a launch of this function of Python's. `given`: its arguments by name. `sources`: what the values of a tensor
    come from."""
    words = [*_function(function, set()), *(_function(grid, set()) if callable(grid) else [repr(grid)])]
    storages: Dict[int, int] = {}
    for name, value in given:
        words += [name, *_argument(torch, value, sources, storages)]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


def _argument(torch: Any, value: Any, sources: Callable[[Any], str], storages: Dict[int, int]) -> Iterator[str]:
    if isinstance(value, (tuple, list)):
        for each in value:
            yield from _argument(torch, each, sources, storages)
        return
    if not isinstance(value, torch.Tensor):
        yield repr(value)
        return
    storage = value.untyped_storage()
    which = storages.setdefault(storage._cdata, len(storages))
    place = (value.dtype, tuple(value.shape), value.stride(), value.storage_offset(), storage.nbytes(), which)
    yield "%r %s" % (place, sources(value))
    if not value.is_floating_point():  # it is given as it is
        seen = sample(value.detach().reshape(-1), SAMPLE).to("cpu").contiguous()
        yield hashlib.sha256(seen.view(torch.uint8).numpy().tobytes()).hexdigest()


def function(of: Any) -> Iterator[str]:
    """The words of a function's digest."""
    return _function(of, set())


def _function(function: Any, seen: Set[int]) -> Iterator[str]:
    """Its code, and of the functions and values of its module that this names theirs."""
    while not isinstance(function, FunctionType) and hasattr(function, "fn"):
        yield type(function).__qualname__  # a helper without its decorator is another one
        function = function.fn
    if id(function) in seen:
        return
    seen.add(id(function))
    if not isinstance(function, FunctionType):
        yield repr(function)
        return
    # By these a kernel's parameter is a constant, without which `tl.arange` takes none.
    yield repr((function.__defaults__, function.__kwdefaults__, function.__annotations__))
    named: Set[str] = set()
    for code in codes(function.__code__):
        yield repr((code.co_code, code.co_names, code.co_varnames, [c for c in code.co_consts if not _is_code(c)]))
        named.update(code.co_names)
    held = {name: function.__globals__[name] for name in sorted(named) if name in function.__globals__}
    held.update(zip(function.__code__.co_freevars, (cell.cell_contents for cell in function.__closure__ or ())))
    yield from _values(held, named, seen)


def _values(held: Dict[str, Any], named: Set[str], seen: Set[int]) -> Iterator[str]:
    """What these names stand for; of a module what `named` may take of it."""
    for name, value in held.items():
        yield name
        if isinstance(value, ModuleType):
            yield value.__name__
            # The program may have it, and then its helpers change. One may have itself, too.
            if value.__name__.partition(".")[0] not in _INSTALLED and id(value) not in seen:
                seen.add(id(value))
                taken = {each: vars(value)[each] for each in sorted(named) if each in vars(value)}
                yield from _values(taken, named, seen)
        elif isinstance(value, FunctionType) or hasattr(value, "fn"):
            yield from _function(value, seen)
        else:
            # The interpreter puts an object of its own into the module of each kernel.
            of_triton = type(value).__module__.startswith("triton.") and " object at 0x" in repr(value)
            yield type(value).__qualname__ if of_triton else repr(value)


def codes(code: CodeType) -> Iterator[CodeType]:
    """Of a function, and of those that are defined in it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes(each)


def _is_code(constant: Any) -> bool:
    return isinstance(constant, CodeType)

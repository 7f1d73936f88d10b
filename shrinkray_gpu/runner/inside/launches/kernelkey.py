"""A kernel's cache key, completed by what its global names stand for.

Triton's key holds the kernel's text and the constexprs among its globals. It holds nothing of a name that does not
resolve, of what `tl` is, of a dtype, a class attribute, a constexpr of another module, or the default value of a
helper's parameter: a candidate that lost `import triton.language as tl` found the kernel of the one that had it, and
"faulted", where a cold process raises NameError. With all of them in the key, a kernel that must fail to compile does.
What a helper refers to comes in through the helper's own key, which Triton mixes into its callers'.

While knobs are turned (`knobs.py`) they are part of every kernel's key too: one text, but another kernel.
"""

from __future__ import annotations

import ast
import builtins
import enum
import hashlib
import threading
import types
from typing import Any, Callable, Dict, Iterator, List, Tuple

_MADE = "_key_with_names"
_NOTHING = object()
_asked = threading.local()
_turned = ""


def turn(knobs: str) -> None:
    """From here on all kernels are compiled with these knobs turned; the empty text: as they are."""
    global _turned
    _turned = knobs


def complete() -> None:
    """Install the completed key on the class that Triton keeps it on. Idempotent."""
    owner = jit_class()
    plain = owner.__dict__.get("cache_key")
    if isinstance(plain, property) and plain.fget is not None and not hasattr(plain.fget, "completed"):
        owner.cache_key = property(_completed(plain.fget))


def jit_class() -> Any:
    """The class that Triton keeps a kernel's key and its start line on."""
    from triton.runtime import jit

    return getattr(jit, "JITCallable", jit.JITFunction)  # JITCallable came with 3.5


def _completed(plain: Callable[[Any], str]) -> Callable[[Any], str]:
    def cache_key(self: Any) -> str:
        depth = _asked.__dict__.setdefault("depth", 0)
        _asked.depth = depth + 1
        try:
            key = plain(self)
        finally:
            _asked.depth = depth
        if not isinstance(key, str) or key.startswith("recursion:"):  # Triton's placeholder while it computes the key
            return key
        made = self.__dict__.get(_MADE)
        if made is None or made[0] != key:
            said = "\n".join("%s = %s" % pair for pair in meanings(self))
            made = self.__dict__[_MADE] = (key, hashlib.sha256((key + said).encode()).hexdigest())
        if not _turned or depth:  # a caller keeps what its helpers' keys were, so knobs must not be in those
            return made[1]
        return hashlib.sha256((made[1] + _turned).encode()).hexdigest()

    cache_key.completed = True  # type: ignore[attr-defined]
    return cache_key


def meanings(fn: Any) -> List[Tuple[str, str]]:
    """What each global name of a jit function (`tl`, `tl.arange`) stands for, in words without addresses."""
    tree = fn.parse()
    arguments = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    scope = _scope(fn.fn)
    found: Dict[str, str] = {}
    for chain in sorted(set(_chains(tree))):
        if chain[0] in arguments:
            continue
        value = scope.get(chain[0], _NOTHING)
        # A name that is assigned too is a local one, unless the assignment is in a branch not taken: then Triton does
        # look for a global one, but a host variable that just has the same name is none that it would take.
        if chain[0] in stored and not _usable(value):
            continue
        for i in range(1, len(chain) + 1):
            found[".".join(chain[:i])] = _words(value)
            value = _member(value, chain[i]) if i < len(chain) else value
    for name, parameter in fn.signature.parameters.items():
        if parameter.default is not parameter.empty:
            found["%s by default" % name] = _words(parameter.default)
    return sorted(found.items())


def referred_to(fn: Any) -> Iterator[Any]:
    """The jit functions that one refers to by a global name."""
    scope = _scope(fn.fn)
    for chain in set(_chains(fn.parse())):
        value = scope.get(chain[0], _NOTHING)
        for name in chain[1:]:
            value = _member(value, name)
        if isinstance(value, jit_class()):
            yield value


def _scope(function: Any) -> Dict[str, Any]:
    scope = {**vars(builtins), **function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            scope[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            scope[name] = _NOTHING
    return scope


def _chains(node: ast.AST) -> Iterator[Tuple[str, ...]]:
    """The names read, each with the attributes asked of it: `("tl", "arange")`."""
    attributes: List[str] = []
    inner = node
    while isinstance(inner, ast.Attribute):
        attributes.insert(0, inner.attr)
        inner = inner.value
    if isinstance(inner, ast.Name):
        if isinstance(inner.ctx, ast.Load):
            yield (inner.id, *attributes)
        return
    for child in ast.iter_child_nodes(inner):
        yield from _chains(child)


def _member(value: Any, name: str) -> Any:
    try:
        return _NOTHING if value is _NOTHING else getattr(value, name)
    except Exception:
        return _NOTHING


def _usable(value: Any) -> bool:
    """Whether a kernel may refer to such a global by name."""
    return isinstance(value, (types.ModuleType, type, jit_class())) or _module(type(value)).startswith("triton.")


def _module(thing: Any) -> str:
    return str(getattr(thing, "__module__", ""))


def _words(value: Any) -> str:
    """What a value is, as far as a kernel can tell. Reads no tensor: that could wait for a device."""
    if value is _NOTHING:
        return "nothing"
    if value is None or isinstance(value, (bool, int, float, str, bytes, complex, enum.Enum)):
        return "%s %r" % (type(value).__name__, value)
    if isinstance(value, (tuple, list)):
        return "%s (%s)" % (type(value).__name__, ", ".join(_words(v) for v in value[:64]))
    if isinstance(value, types.ModuleType):
        return "module %s" % value.__name__
    if isinstance(value, jit_class()):  # not its key: a kernel that calls itself would ask for its own
        return "jit %s" % hashlib.sha256(str(getattr(value, "src", "")).encode()).hexdigest()
    kind = "%s.%s" % (_module(type(value)), type(value).__qualname__)
    if type(value).__name__ == "constexpr" and hasattr(value, "value"):
        return "constexpr %s" % _words(value.value)
    if isinstance(value, type) or callable(value):
        return "%s %s.%s" % (kind, _module(value), getattr(value, "__qualname__", ""))
    text = str(value) if kind.startswith("triton.") else ""
    return kind if " at 0x" in text else "%s %s" % (kind, text)

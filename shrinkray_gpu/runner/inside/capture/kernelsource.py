"""The source of a kernel and of all that it needs, as definitions that stand on their own in one file.

A kernel reads names of its module (and of the functions around it): other jit functions, constexprs, plain constants,
aliases of modules. Each is found by its live value, not by its text, and becomes an import, a constant or a copied
function. Two things that had the same name in two modules get two names, and `module.helper(...)` becomes
`helper(...)`: that is why the text is spliced.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import enum
import inspect
import math
import re
import sys
import textwrap
import types
from typing import Any, Dict, List, Optional, Set, Tuple

from .live_values import (
    GLUON,
    in_language,
    in_library,
    is_jit,
    is_namespace,
    is_of_language,
    is_refused,
    is_simple,
    public_place,
)
from .source_syntax import Reads, colon_before, end_of, line_starts, names_bound, reads_of, start_of

_IMPORTS = {"triton.language": "import triton.language as tl"}

Definition = Dict[str, str]
Splice = Tuple[int, int, str]


class Unliftable(Exception):
    """Something that cannot be written down."""


class Sources:
    """Definitions in the order in which they must stand; each is `{"kind": ..., "name": ..., "text": ...}` with the
    kind `import`, `constant` or `function`."""

    def __init__(self) -> None:
        self.definitions: List[Definition] = []
        self._names: Dict[Any, str] = {}
        self._taken: Set[str] = {"torch", "triton", "tl"}
        self._held: List[Any] = []  # keys are made of ids: what they name must live
        self._local: Set[str] = set()  # names bound by the definition at hand, which hide what is defined outside

    def function(self, fn: Any, specialised: Optional[Dict[str, Any]] = None) -> str:
        """Copy a jit function, an ordinary function or a class, after all that it needs. Returns its name here.

        `specialised` says how a kernel was compiled otherwise than Triton would infer from its arguments: `types` of
        parameters, and names for options of `@triton.jit`; see `inductor`."""
        key = ("object", id(fn))
        if key in self._names:
            return self._names[key]
        plain = getattr(fn, "fn", fn)
        name = self._names[key] = self._free(plain.__name__)
        self._held.append(fn)
        specialised = specialised or {}
        decorator = _decorator(fn, specialised)
        text = fn.src if decorator and hasattr(fn, "src") else _source(plain)
        if decorator == "@gluon.jit":
            self._import("from triton.experimental import gluon", "gluon")
        if decorator and not text.startswith("def "):
            text = text[text.index("def ") :]
        text = self._standing_alone(text.rstrip(), _scope(plain), name, device=decorator not in ("", _CONSTEXPR))
        text = _annotated(text, specialised.get("types", {}))
        self._define("function", name, (decorator + "\n" if decorator else "") + text)
        return name

    def literal(self, value: Any) -> str:
        """The source text of a simple value. Raises Unliftable for any other."""
        if value is None or isinstance(value, (bool, str, bytes)) and type(value).__module__ == "builtins":
            return repr(value)
        if type(value).__name__ == "constexpr":
            return self.literal(value.value)
        if isinstance(value, int):  # also an IntEnum
            return repr(int(value))
        if isinstance(value, float):
            return repr(float(value)) if math.isfinite(value) else 'float("%r")' % float(value)
        if isinstance(value, tuple) and hasattr(type(value), "_fields"):
            return "%s(%s)" % (self.named_tuple(type(value)), ", ".join(self.literal(item) for item in value))
        if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
            inner = ", ".join(self.literal(item) for item in value)
            if isinstance(value, list):
                return "[%s]" % inner
            return "(%s,)" % inner if len(value) == 1 else "(%s)" % inner
        if type(value).__module__ == "numpy" and hasattr(value, "item") and not getattr(value, "ndim", 0):
            return self.literal(value.item())
        if type(value).__name__ == "dtype" and type(value).__module__ == "torch":
            return str(value)
        if type(value).__module__.startswith(GLUON) and dataclasses.is_dataclass(value):
            return self._layout(value)
        if is_jit(value):
            return self._callable(value, value.__name__)
        if isinstance(value, enum.Enum):
            kind, name = self.function(type(value)), value.name
            if name not in type(value).__members__:  # flags put together have no name of their own
                return "%s(%s)" % (kind, self.literal(value.value))
            return "%s.%s" % (kind, name)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            given = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value) if field.init]
            words = ", ".join("%s=%s" % (name, self.literal(item)) for name, item in given)
            return "%s(%s)" % (self.function(type(value)), words)
        named = in_language(value)
        if named:
            return named
        raise Unliftable("a value of type %s cannot be written down" % type(value).__qualname__)

    def named_tuple(self, kind: type) -> str:
        """A type of tuples with names for their items, by those names alone. Returns its name here."""
        key = ("named tuple", id(kind))
        if key not in self._names:
            maker = self._import("from collections import namedtuple", "namedtuple")
            name = self._names[key] = self._free(kind.__name__)
            self._held.append(kind)
            text = "%s = %s(%r, %r)" % (name, maker, name, " ".join(kind._fields))  # type: ignore[attr-defined]
            self._define("constant", name, text)
        return self._names[key]

    def _layout(self, value: Any) -> str:
        """A Gluon layout as the call that makes it, without what is as by default."""
        kind = type(value)
        words: List[str] = []
        by_name = False
        for field in dataclasses.fields(value):
            given = getattr(value, field.name)
            usual = field.default
            if field.default_factory is not dataclasses.MISSING:
                usual = field.default_factory()
            if not field.init or type(given) is type(usual) and given == usual:
                by_name = True
                continue
            words.append("%s=%s" % (field.name, self.literal(given)) if by_name else self.literal(given))
        language: Any = sys.modules.get(GLUON + ".language")
        if getattr(language, kind.__name__, None) is kind:
            maker = self._import("from %s import language as gl" % GLUON, "gl") + "." + kind.__name__
        else:
            places = [name for name, module in sorted(sys.modules.items()) if name.startswith(GLUON + ".language.")]
            public = [n for n in places if "._" not in n and getattr(sys.modules[n], kind.__name__, None) is kind]
            home = min(public or [kind.__module__], key=len)
            maker = self._import("from %s import %s" % (home, kind.__name__), kind.__name__)
        return "%s(%s)" % (maker, ", ".join(words))

    def _standing_alone(self, text: str, scope: Dict[str, Any], name: str, device: bool) -> str:
        """`text`, a definition, with every name that it takes from elsewhere defined here."""
        tree = ast.parse(text)
        starts = line_starts(text)
        splices: List[Splice] = []
        definition: Any = tree.body[0]
        local = names_bound(definition)
        inner = Reads(local)
        inner.visit(definition)
        outside, self._local = self._local, local

        def resolve(read: ast.Name, attributes: List[ast.Attribute], wrap: bool) -> None:
            node, new = self._resolve(read, attributes, scope[read.id], wrap)
            begin, end = start_of(starts, read), end_of(starts, node)
            if new != text[begin:end]:
                splices.append((begin, end, new))

        for read, attributes, in_body in inner.reads:
            if read.id == definition.name:  # recursion, or a class that names itself
                splices.append((start_of(starts, read), end_of(starts, read), name))
                continue
            if read.id not in scope:
                if hasattr(builtins, read.id):
                    continue
                raise Unliftable("%s reads %s, which is defined nowhere" % (definition.name, read.id))
            resolve(read, attributes, device and in_body and not is_refused(read.id, scope))
        for annotation in inner.annotations:
            if not self._annotation_stands(annotation, scope):
                splices.append((colon_before(text, start_of(starts, annotation)), end_of(starts, annotation), ""))
                inside = (start_of(starts, annotation), end_of(starts, annotation))
                splices = [s for s in splices if not (inside[0] <= s[0] and s[1] <= inside[1])]
                continue
            for read, attributes, _ in reads_of(annotation):
                resolve(read, attributes, False)
        self._local = outside
        if definition.name != name:
            at = re.compile(r"\b(?:def|class)\s+(%s)\b" % definition.name).search(text)
            assert at is not None
            splices.append((at.start(1), at.end(1), name))
        for begin, end, new in sorted(set(splices), reverse=True):
            text = text[:begin] + new + text[end:]
        return text

    def _annotation_stands(self, annotation: Any, scope: Dict[str, Any]) -> bool:
        """Whether an annotation means something to Triton; `x: torch.Tensor` and a user's aliases need not be kept."""
        for read, attributes, _ in reads_of(annotation):
            value = scope.get(read.id)
            for attribute in attributes:
                value = getattr(value, attribute.attr, None)
            if not str(getattr(value, "__module__", "")).startswith("triton") and not in_language(value):
                return False
        return True

    def _resolve(self, read: ast.Name, attributes: List[ast.Attribute], value: Any, wrap: bool) -> Tuple[Any, str]:
        """What `read` and as many of the attributes after it as must go with it are called here."""
        node: Any = read
        name = read.id
        rest = list(attributes)
        while True:
            if isinstance(value, types.ModuleType):
                if in_library(value.__name__):
                    if rest and value.__name__ != "triton.language" and is_of_language(value, rest[0].attr):
                        return rest[0], "tl." + rest[0].attr
                    return node, self._module(value, name)
            elif not (rest and is_namespace(value)):
                return node, self._value(value, name, wrap)
            if not rest:
                raise Unliftable("%s is used as a value" % name)
            node = rest.pop(0)
            name = node.attr
            try:
                value = getattr(value, name)
            except AttributeError:
                raise Unliftable("%s has no attribute %s" % (read.id, name)) from None

    def _module(self, module: types.ModuleType, name: str) -> str:
        path = module.__name__
        if name == "tl" and path != "triton.language":
            name = path.rpartition(".")[2]
        if path in _IMPORTS and name == "tl":
            text = _IMPORTS[path]
        elif "." in path:
            parent, _, leaf = path.rpartition(".")
            text = "from %s import %s" % (parent, leaf) + (" as " + name if name != leaf else "")
        else:
            text = "import " + path + (" as " + name if name != path else "")
        return self._import(text, name)

    def _value(self, value: Any, name: str, wrap: bool) -> str:
        if type(value).__name__ == "constexpr":  # itself callable, since it forwards calls
            if is_jit(value.value):
                return self._callable(value.value, name)
            return self._constant(name, "tl.constexpr(%s)" % self.literal(value))
        if is_jit(value) or isinstance(value, (types.FunctionType, type)) or callable(value) and not is_simple(value):
            return self._callable(value, name)
        text = self.literal(value)
        # `tl.constexpr(7)` is the same everywhere, however the program's Triton came to take the plain 7.
        layout = type(value).__module__.startswith(GLUON)
        return self._constant(name, "tl.constexpr(%s)" % text if wrap and (layout or is_simple(value)) else text)

    def _callable(self, value: Any, name: str) -> str:
        place = public_place(value, name)
        if place:
            module, leaf = place
            text = "from %s import %s" % (module, leaf) + (" as " + name if name != leaf else "")
            return self._import(text, name)
        inner: Any = getattr(value, "fn", None)
        while not is_jit(value) and hasattr(inner, "fn"):  # an autotuned kernel that another kernel calls
            value, inner = inner, inner.fn
        if not hasattr(value, "__name__"):
            raise Unliftable("%s is a %s" % (name, type(value).__qualname__))
        return self.function(value)

    def _constant(self, name: str, text: str) -> str:
        key = ("constant", name, text)
        if key not in self._names:
            free = self._names[key] = self._free(name)
            self._define("constant", free, "%s = %s" % (free, text))
        return self._names[key]

    def _import(self, text: str, name: str) -> str:
        key = ("import", text)
        if key in self._names:
            return self._names[key]
        always = {"torch": "import torch", "triton": "import triton", "tl": "import triton.language as tl"}
        if always.get(name) == text:
            return name  # the emitted script has these three where it needs them
        free = self._free(name)
        if free != name:
            text = text.partition(" as ")[0] + " as " + free
        self._names[key] = free
        self._define("import", free, text)
        return free

    def _define(self, kind: str, name: str, text: str) -> None:
        self.definitions.append({"kind": kind, "name": name, "text": text + "\n"})

    def _free(self, name: str) -> str:
        found, number = name, 1
        # `prod = triton_helpers.prod(x)`, as Helion writes it, must not become `prod = prod(x)`.
        while found in self._taken or found in self._local:
            number += 1
            found = "%s_%d" % (name, number)
        self._taken.add(found)
        return found


_CONSTEXPR = "@triton.constexpr_function"


def _decorator(fn: Any, specialised: Dict[str, Any]) -> str:
    """The plain decorator that makes `fn` again; autotuning and heuristics are not needed any more."""
    if not is_jit(fn):
        return ""
    kind = type(fn).__name__
    if kind == "ConstexprFunction":
        return _CONSTEXPR
    options = []
    for option in ("do_not_specialize", "do_not_specialize_on_alignment", "debug", "noinline"):
        value = getattr(fn, option, None)
        more = specialised.get(option)
        if more:
            value = [*(value or ()), *more]
        if value:
            options.append("%s=%r" % (option, list(value) if isinstance(value, (tuple, set)) else value))
    gluon = kind.startswith("Gluon") or getattr(fn, "is_gluon", bool)()
    return ("@gluon.jit" if gluon else "@triton.jit") + ("(%s)" % ", ".join(options) if options else "")


def _annotated(text: str, types: Dict[str, str]) -> str:
    """The function with these types at parameters that have none: Triton takes them instead of inferring."""
    definition: Any = ast.parse(text).body[0]
    starts = line_starts(text)
    for argument in reversed((*definition.args.posonlyargs, *definition.args.args) if types else ()):
        if argument.arg in types and argument.annotation is None:
            at = end_of(starts, argument)
            text = "%s: %s%s" % (text[:at], types[argument.arg], text[at:])
    return text


def _source(value: Any) -> str:
    try:
        return textwrap.dedent(inspect.getsource(value))
    except (OSError, TypeError) as error:
        raise Unliftable("the source of %r is not to be had: %s" % (value, error)) from None


def _scope(plain: Any) -> Dict[str, Any]:
    """What a function sees around it: its module, and the variables of the functions that it stands in."""
    if isinstance(plain, type):
        return dict(vars(sys.modules[plain.__module__]))
    scope = dict(plain.__globals__)
    for name, cell in zip(plain.__code__.co_freevars, plain.__closure__ or ()):
        try:
            scope[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            pass
    return scope

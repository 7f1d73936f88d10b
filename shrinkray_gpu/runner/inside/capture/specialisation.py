"""How a compiled kernel was specialised, where Triton would infer something else from its arguments.

A launch through `@triton.jit` infers: the type of a number, whether it is 1, what is divisible by 16. Whoever compiles
by hand (Inductor, `kernel.warmup`, `triton.compile`) says that himself. `meta` is what he said: `signature`,
`constants`, `configs`. The record of such a launch says how to make Triton see it in the same way.
"""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import Any, Dict, List, Tuple

Record = Dict[str, Any]

TYPES = {
    "fp64": "float64",
    "fp32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
    "i1": "bool",
    "u1": "bool",
    "fp8e4nv": "float8_e4m3fn",
    "fp8e5": "float8_e5m2",
    **{"i%d" % bits: "int%d" % bits for bits in (8, 16, 32, 64)},
    **{"u%d" % bits: "uint%d" % bits for bits in (8, 16, 32, 64)},
}
"""Triton's names of types in signatures, and torch's and tl's."""


def constants_of(fn: Any, meta: Record) -> Record:
    """Constants by name; some versions have them by position, or by the path of a position."""
    names = list(fn.arg_names)
    found = {}
    for key, value in meta.get("constants", {}).items():
        if isinstance(key, tuple) and len(key) == 1:
            key = key[0]
        if isinstance(key, (int, str)):
            found[names[key] if isinstance(key, int) else key] = value
    return found


def signature_of(fn: Any, meta: Record) -> Record:
    """Types by name; early versions have them by position, and those of constants not at all."""
    names = list(fn.arg_names)
    signature = meta.get("signature", {})
    if isinstance(signature, dict):
        return {names[key] if isinstance(key, int) else key: kind for key, kind in signature.items()}
    return dict(zip([p.name for p in fn.params if not p.is_constexpr], signature))


def arguments_by_name(fn: Any, meta: Record, args: Tuple[Any, ...]) -> Record:
    """The arguments by name. Since Triton 3.3 all of them are passed, before only those that are no constants."""
    names = list(fn.arg_names)
    constants = constants_of(fn, meta)
    declared = {p.name for p in fn.params if p.is_constexpr}
    if len(args) == len(names):
        return {n: constants[n] if n in declared and n in constants else v for n, v in zip(names, args)}
    gone = declared | {name for name in constants if name not in signature_of(fn, meta)}
    kept = [name for name in names if name not in gone]
    if len(args) != len(kept):
        raise ValueError("%d arguments for %d parameters" % (len(args), len(names)))
    return {**constants, **dict(zip(kept, args))}


def options(asked: Record, compiles: Any = (), kernel: Any = None) -> Record:
    """Launch options that are not as by default: those `asked` for, or better what the compiler was given, which is on
    record by the kernel's hash."""
    for compiled in reversed(compiles):
        if compiled["hash"] and compiled["hash"] == getattr(kernel, "hash", ""):
            asked = dict(compiled["options"])
            break
    usual = _defaults()
    always = ("num_warps", "num_stages")
    return {n: v for n, v in asked.items() if n in always or usual is not None and _differs(usual, n, v)}


def is_usual(name: str, value: Any) -> bool:
    """Whether the backend at work takes this `num_stages` where nobody asks: each backend has a number of its own."""
    return name == "num_stages" and value == getattr(_defaults(), name, None)


def _differs(usual: Any, name: str, value: Any) -> bool:
    return hasattr(usual, name) and getattr(usual, name) != value and isinstance(value, (int, str, float, bool))


def _defaults() -> Any:
    """The backend's options where none are given; None where that cannot be asked."""
    try:
        return _defaults_of_backend()
    except Exception:
        return None


@lru_cache(1)
def _defaults_of_backend() -> Any:
    from triton.compiler.compiler import make_backend
    from triton.runtime import driver

    return make_backend(driver.active.get_current_target()).parse_options({})


def divisible_of(fn: Any, meta: Record) -> "set[str]":
    """Names of the arguments that were said to be divisible by 16."""
    names = list(signature_of(fn, meta))
    [attributes] = list(meta.get("configs") or [{}])[:1]
    if isinstance(attributes, dict):  # since Triton 3.3
        found = [key[0] for key, values in attributes.items() if any(v[0] == "tt.divisibility" for v in values)]
    else:
        found = list(getattr(attributes, "divisible_by_16", None) or ())
        if not found:
            found = list(getattr(attributes, "arg_properties", {}).get("tt.divisibility", ()))
    return {names[i] if isinstance(i, int) and i < len(names) else str(i) for i in found}


def specialisation(fn: Any, meta: Record, given: Record) -> Record:
    """What `@triton.jit` must be told so that a plain launch compiles the same: `types` of parameters, and names for
    its options. `notes`: what it cannot be told."""
    divisible, constants, signature = divisible_of(fn, meta), constants_of(fn, meta), signature_of(fn, meta)
    types: Dict[str, str] = {}
    unaligned: List[str] = []
    general: List[str] = []
    notes: List[str] = []
    for parameter in fn.params:
        name = parameter.name
        value: Any = given.get(name)
        if parameter.is_constexpr or isinstance(value, bool):
            continue
        address: Any = value.data_ptr() if hasattr(value, "data_ptr") else value
        if not isinstance(address, (int, float)):  # None is a constant anyhow; a descriptor has all in its type
            continue
        kind = signature.get(name, "constexpr")
        if kind == "constexpr" or name in constants:
            if not (address is value and type(value) is int and value == 1):
                types[name] = "tl.constexpr"
            continue
        if address is value and kind in TYPES and kind != _inferred(value):
            types[name] = "tl." + TYPES[kind]
        if isinstance(address, float) or getattr(parameter, "do_not_specialize", False):
            continue
        if address is value and value == 1:
            general.append(name)
        if address % 16 == 0 and name not in divisible:
            unaligned.append(name)
        elif address % 16 and name in divisible:
            notes.append("%s was compiled as divisible by 16, and is not: a plain launch cannot repeat that" % name)
    if unaligned and not _knows_alignment():
        unaligned, general = [], general + unaligned
    wanted = {"types": types, "do_not_specialize_on_alignment": unaligned, "do_not_specialize": general, "notes": notes}
    return {key: value for key, value in wanted.items() if value}


def _knows_alignment() -> bool:
    """Since Triton 3.2."""
    from triton.runtime.jit import JITFunction

    return "do_not_specialize_on_alignment" in inspect.signature(JITFunction.__init__).parameters


def _inferred(value: Any) -> str:
    if isinstance(value, float):
        return "fp32"
    if -(2**31) <= value < 2**31:
        return "i32"
    return "i64" if value < 2**63 else "u64"

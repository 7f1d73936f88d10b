"""Holds a value, as JSON gives it, against a type: TypedDicts, dataclasses, lists, literals, unions told apart by their
`kind`. A run may have ten thousand launches, so each type becomes a function once."""

from __future__ import annotations

import collections.abc
import types
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, Callable, Dict, Literal, Tuple, Union, get_args, get_origin, get_type_hints

Problem = Callable[[Any], str]
"""Where a value is not of a form, and how, from the value's own name on (`.launches[0] is 'k', and not an object`);
empty for one that is."""

LARGEST_BITS = 1024
_PLAIN = {str: "a string", int: "a whole number", bool: "true or false", float: "a number", type(None): "nothing"}


@lru_cache(maxsize=None)
def problem(form: Any) -> Problem:
    """The function that says what is wrong with a value that should be of this form."""
    origin, args = get_origin(form), get_args(form)
    if form is Any:
        return lambda value: ""
    if form in _PLAIN:
        return lambda value: "" if _is_plain(form, value) else _unlike(value, _PLAIN[form])
    if origin in (Union, getattr(types, "UnionType", Union)):
        return _problem_of_choice(args)
    if origin is Literal:
        words = " or ".join(map(repr, args))
        return lambda value: "" if any(type(value) is type(x) and value == x for x in args) else _unlike(value, words)
    if origin in (list, tuple):
        return _problem_of_list(args[0])
    if origin in (dict, collections.abc.Mapping):
        return _problem_of_map(args[1])
    return _problem_of_object(form)


def _problem_of_map(form: Any) -> Problem:
    inner = problem(form)

    def in_map(value: Any) -> str:
        if not isinstance(value, dict):
            return _unlike(value, "an object")
        if form is Any:
            return ""
        return next(("[%s]%s" % (_short(name), why) for name, why in zip(value, map(inner, value.values())) if why), "")

    return in_map


def _problem_of_list(form: Any) -> Problem:
    inner = problem(form)

    def in_list(value: Any) -> str:
        if not isinstance(value, (list, tuple)):
            return _unlike(value, "a list")
        return next(("[%d]%s" % (index, why) for index, why in enumerate(map(inner, value)) if why), "")

    return in_list


def _problem_of_object(form: Any) -> Problem:
    """Of a dataclass the worker tells all fields, whatever their defaults are for, and no others."""
    keys = [(name, problem(kind)) for name, kind in get_type_hints(form).items()]
    whole = is_dataclass(form)
    needed = {each.name for each in fields(form)} if is_dataclass(form) else form.__required_keys__

    def in_object(value: Any) -> str:
        if not isinstance(value, dict):
            return _unlike(value, "an object")
        for name, inner in keys:
            if name in value:
                why = inner(value[name])
                if why:
                    return ".%s%s" % (name, why)
            elif name in needed:
                return ".%s is missing" % name
        if whole and len(value) > len(needed):
            return ".%s is unknown" % next(_short(name) for name in value if name not in needed)
        return ""

    return in_object


def _problem_of_choice(forms: Tuple[Any, ...]) -> Problem:
    plain = [form for form in forms if form in _PLAIN]
    others = [form for form in forms if form not in plain]
    words = " or ".join([*(_PLAIN[form] for form in plain), *["an object"] * bool(others)])

    def in_choice(value: Any) -> str:
        if any(_is_plain(form, value) for form in plain):
            return ""
        if len(others) == 1:
            return problem(others[0])(value)
        if not others or not isinstance(value, dict):
            return _unlike(value, words)
        kinds, kind = _by_kind(tuple(others)), value.get("kind")
        if "kind" not in value:
            return ".kind is missing"
        if not isinstance(kind, str) or kind not in kinds:
            return ".kind is %s, which is none of %s" % (_short(kind), ", ".join(sorted(kinds)))
        return problem(kinds[kind])(value)

    return in_choice


@lru_cache(maxsize=None)
def _by_kind(forms: Tuple[Any, ...]) -> Dict[str, Any]:
    return {word: form for form in forms for word in get_args(get_type_hints(form)["kind"])}


def _is_plain(form: Any, value: Any) -> bool:
    """A number may be whole; true is no number. None is larger than a float can be, whatever counts with it then."""
    if type(value) is int:
        return form in (int, float) and value.bit_length() < LARGEST_BITS
    return type(value) is form


def _unlike(value: Any, words: str) -> str:
    return " is %s, and not %s" % (_short(value), words)


def _short(value: Any) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 40 else "a %s" % type(value).__name__

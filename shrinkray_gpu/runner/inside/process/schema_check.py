"""Holds a value, as JSON gives it, against a type: TypedDicts, lists, literals, unions told apart by their `kind`."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Literal, Tuple, Union, get_args, get_origin, get_type_hints

_PLAIN = {str: "a string", int: "a whole number", bool: "true or false", float: "a number", type(None): "nothing"}
_hints: Dict[Any, Dict[str, Any]] = {}
_tests: Dict[Any, Callable[[Any], bool]] = {}


def wrong(form: Any, value: Any, at: str) -> Iterator[str]:
    """Where the value is not of that form, and how. `at` is what the value is called."""
    if hasattr(form, "__required_keys__"):
        yield from _wrong_object(form, value, at)
    elif get_origin(form) is Union:
        yield from _wrong_choice(get_args(form), value, at)
    elif get_origin(form) is Literal:
        if not any(type(value) is type(word) and value == word for word in get_args(form)):
            yield "%s is %s, and not %s" % (at, _shown(value), " or ".join(map(repr, get_args(form))))
    elif get_origin(form) is list:
        if not isinstance(value, (list, tuple)):
            yield "%s is %s, and not a list" % (at, _shown(value))
            return
        inner = get_args(form)[0]
        fits = _test(inner)
        for index, item in enumerate(value):
            if not fits(item):
                yield from wrong(inner, item, "%s[%d]" % (at, index))
    elif get_origin(form) is dict:
        if not isinstance(value, dict):
            yield "%s is %s, and not an object" % (at, _shown(value))
    elif form is not Any and not _is_plain(form, value):
        yield "%s is %s, and not %s" % (at, _shown(value), _PLAIN[form])


def _test(form: Any) -> Callable[[Any], bool]:
    """Whether a value is of that form, in a hundredth of the time: a run may have ten thousand launches."""
    if form not in _tests:
        _tests[form] = _made_test(form)
    return _tests[form]


def _made_test(form: Any) -> Callable[[Any], bool]:
    if form in _PLAIN:
        return lambda value: _is_plain(form, value)
    if get_origin(form) is list:
        inner = _test(get_args(form)[0])
        return lambda value: isinstance(value, (list, tuple)) and all(map(inner, value))
    if not hasattr(form, "__required_keys__"):
        return lambda value: not any(wrong(form, value, ""))
    keys = [(name, _test(kind), name in form.__required_keys__) for name, kind in _hints_of(form).items()]

    def fits(value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        for name, right, needed in keys:
            if name in value:
                if not right(value[name]):
                    return False
            elif needed:
                return False
        return True

    return fits


def _hints_of(form: Any) -> Dict[str, Any]:
    if form not in _hints:
        _hints[form] = get_type_hints(form)
    return _hints[form]


def _wrong_object(form: Any, value: Any, at: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield "%s is %s, and not an object" % (at, _shown(value))
        return
    for name, kind in _hints_of(form).items():
        if name in value:
            yield from wrong(kind, value[name], "%s.%s" % (at, name))
        elif name in form.__required_keys__:
            yield "%s.%s is missing" % (at, name)


def _wrong_choice(forms: Tuple[Any, ...], value: Any, at: str) -> Iterator[str]:
    plain = [form for form in forms if form in _PLAIN]
    if any(_is_plain(form, value) for form in plain):
        return
    others = [form for form in forms if form not in plain]
    if len(others) == 1:
        yield from wrong(others[0], value, at)
    elif not others or not isinstance(value, dict):
        words = [_PLAIN[form] for form in plain] + ["an object"] * bool(others)
        yield "%s is %s, and not %s" % (at, _shown(value), " or ".join(words))
    else:
        kinds = {word: form for form in others for word in _kinds(form)}
        kind = value.get("kind")
        if "kind" not in value:
            yield "%s.kind is missing" % at
        elif not isinstance(kind, str) or kind not in kinds:
            yield "%s.kind is %s, which is none of %s" % (at, _shown(kind), ", ".join(sorted(kinds)))
        else:
            yield from _wrong_object(kinds[kind], value, at)


def _kinds(form: Any) -> List[str]:
    return list(get_args(_hints_of(form)["kind"]))


def _is_plain(form: Any, value: Any) -> bool:
    """A number may be whole; true is no number."""
    return type(value) is form or form is float and type(value) is int


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 40 else "a %s" % type(value).__name__

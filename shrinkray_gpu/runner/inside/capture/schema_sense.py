"""What a record of the right form may still get wrong, so that no script can be made of it.

Names that are none, texts that are no Python, a kernel without its source, a tensor with more sizes than strides.
"""

from __future__ import annotations

import ast
import keyword
import re
from typing import Any, Dict, Iterator, List, Set

Record = Dict[str, Any]

_DTYPE = re.compile(r"[a-z_]+(\d{1,3}[a-z_]+)*(\d{1,3})?")
"""Its bits are taken from its name."""


def contradictions(launch: Record) -> Iterator[str]:
    """What does not fit together in a `schema.LaunchRecord` that has its form, from the record's own name on."""
    yield from _definitions(launch["definitions"])
    yield from _call(launch, launch["definitions"], "")
    for name, text in launch.get("source", {}).items():
        if text and not _is_expression(text):
            yield ".source.%s is no expression" % name


def contradictions_in_history(history: Record) -> Iterator[str]:
    """The same of a `schema.HistoryRecord`."""
    yield from _definitions(history["definitions"])
    for index, launch in enumerate(history["launches"]):
        yield from _call(launch, history["definitions"], ".launches[%d]" % index)
    for index, event in enumerate(history["events"]):
        place = ".events[%d]" % index
        if event["kind"] == "launch" and not 0 <= event["launch"] < len(history["launches"]):
            yield "%s.launch is %d, and there are %d launches" % (place, event["launch"], len(history["launches"]))
        if event["kind"] == "write":
            yield from _tensor(event["tensor"], place + ".tensor")


def _definitions(definitions: List[Record]) -> Iterator[str]:
    for index, definition in enumerate(definitions):
        place = ".definitions[%d]" % index
        if not _is_name(definition["name"]):
            yield "%s.name is no name" % place
        if not definition["text"].endswith("\n") or _parsed(definition["text"]) is None:
            yield "%s.text is no whole lines of Python" % place


def _call(launch: Record, definitions: List[Record], at: str) -> Iterator[str]:
    parameters = _parameters(launch["kernel"], definitions)
    names: List[str] = []
    for part in ("arguments", "options"):
        for index, argument in enumerate(launch[part]):
            place = "%s.%s[%d]" % (at, part, index)
            name = argument.get("name", "")
            if not _is_name(name) or name in names:
                yield "%s.name is missing, no name, or there twice" % place
            names.append(name)
            if part == "arguments" and "constexpr" not in argument:
                yield "%s.constexpr is missing" % place
            if part == "arguments" and parameters is not None and name not in parameters:
                yield "%s.name is none of the kernel's parameters" % place
            yield from _argument(argument, place)
    if parameters is None and not launch.get("source", {}).get("file"):
        yield "%s.definitions hold no function %s" % (at, launch["kernel"])


def _parameters(kernel: str, definitions: List[Record]) -> Any:
    text = next((each["text"] for each in definitions if each["name"] == kernel), "")
    body = getattr(_parsed(text), "body", [])
    if not body or not isinstance(body[0], ast.FunctionDef):
        return None
    arguments = body[0].args
    names: Set[str] = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    return names


def _argument(argument: Record, at: str) -> Iterator[str]:
    kind = argument["kind"]
    if kind == "tensor":
        yield from _tensor(argument, at)
    if "base" in argument:
        yield from _tensor(argument["base"], at + ".base")
    for key in ("text", "layout"):
        if kind != "unknown" and key in argument and not _is_expression(argument[key]):
            yield "%s.%s is no expression" % (at, key)
    if "named" in argument and not _is_name(argument["named"]):
        yield "%s.named is no name" % at
    if "module" in argument and not all(map(_is_name, argument["module"].split("."))):
        yield "%s.module is no module" % at
    for index, item in enumerate(argument.get("items", ()) if kind == "tuple" else ()):
        yield from _argument(item, "%s.items[%d]" % (at, index))


def _tensor(tensor: Record, at: str) -> Iterator[str]:
    if not _DTYPE.fullmatch(tensor["dtype"]):
        yield "%s.dtype is no type" % at
    if not re.fullmatch(r"[a-z]+(:[1-9][0-9]?)?", tensor["device"]):
        yield "%s.device is no device" % at
    if len(tensor["shape"]) != len(tensor["strides"]):
        yield "%s.strides are not as many as its sizes" % at
    if min([0, tensor["offset"], tensor["bytes"], *tensor["shape"], *tensor["strides"]]) < 0:
        yield "%s has a size, a stride or an offset below zero" % at
    content = tensor.get("content", {})
    for place, part in (("content", content), ("content.exact", content.get("exact", {}))):
        if part.get("kind") == "list" and not _are_numbers(part["values"]):
            yield "%s.%s.values are no numbers" % (at, place)


def _are_numbers(values: Any) -> bool:
    if isinstance(values, (list, tuple)):
        return bool(values) and all(map(_are_numbers, values))
    return type(values) in (bool, int, float)


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def _is_expression(text: str) -> bool:
    """Whether it can stand in a call, by position and by name."""
    tree = _parsed("f(x=%s)" % text)
    statement = tree.body[0] if tree is not None and len(tree.body) == 1 else None
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and len(call.keywords) == 1 and not call.args


def _parsed(text: str) -> Any:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None

"""What the parameters of a template of CUDA C++ are where it is called: what is said there, or what it is given."""

from __future__ import annotations

import re

from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.source.cuda import Source, arguments_of, declarator_name, enclosing, function_of

_DECLARATIONS = ("declaration", "parameter_declaration", "optional_parameter_declaration")


def template_arguments(source: Source, item: Node, use: Node) -> dict[str, str] | None:
    """By their names; none for a plain function. None where some are left to the compiler, and cannot be read."""
    listed = item.child("parameters") if item.kind == "template_declaration" else None
    if listed is None:
        return {}
    told = use.parent.child("arguments") if use.parent is not None and use.parent.kind == "template_function" else None
    names = [source.of(own) for each in listed.members if (own := declarator_name(each)) is not None]
    given = [source.of(each) for each in told.members] if told is not None else []
    if len(names) != len(listed.members) or len(given) > len(names):
        return None
    types = dict(zip(names, given))
    left = names[len(given) :]
    types |= _deduced(source, item, use, left) if left else {}
    return types if len(types) == len(names) else None


def _deduced(source: Source, item: Node, use: Node, names: list[str]) -> dict[str, str]:
    """`T` of `const vector<T>&`, given a variable that is declared as `vector<long>`."""
    definition, given = item.members[-1], arguments_of(use)
    declarator = function_of(definition)
    listed = declarator.child("parameters") if declarator is not None else None
    found: dict[str, str] = {}
    for parameter, argument in zip(listed.members if listed and given else (), given.members if given else ()):
        pattern, kind = _declared(source, parameter), _kind(source, argument)
        if not kind.startswith("const "):
            pattern = pattern.removeprefix("const ")
        for name in names if pattern and kind else ():
            parts = re.split(rf"\b{name}\b", pattern)
            if len(parts) == 2 and (match := re.fullmatch(f"{re.escape(parts[0])}(.+){re.escape(parts[1])}", kind)):
                if found.setdefault(name, match[1]) != match[1]:
                    return {}
    return found


def _kind(source: Source, argument: Node) -> str:
    """The type of a variable, or of a `T{}`; empty where it cannot be read."""
    if argument.kind == "compound_literal_expression":
        return _plain(source.of(argument.children[0]))
    function = enclosing(argument, "function_definition")
    if argument.kind != "identifier" or function is None:
        return ""
    for place in source.uses(argument, function):
        declaration = enclosing(place, *_DECLARATIONS)
        names = [declarator_name(each) for each in declaration.children] if declaration is not None else []
        if declaration is not None and place in names:
            return _declared(source, declaration, place)
    return ""


def _declared(source: Source, declaration: Node, name: Node | None = None) -> str:
    """Its type with a star for each pointer, and no `const` of a value. Empty where there is `auto` or more."""
    kind = declaration.child("type")
    chosen = [each for each in declaration.children if each.field == "declarator"]
    declarator = next((each for each in chosen if name is None or declarator_name(each) is name), None)
    own = declarator_name(declarator)
    if kind is None or declarator is None or own is None:
        return ""
    before, plain = source.text[declarator.first : own.first], _plain(source.of(kind))
    constant = any(each.kind == "type_qualifier" and source.of(each) == "const" for each in declaration.children)
    if plain == "auto" or set(before) - set("*& ") or source.text[own.last :].lstrip().startswith("["):
        return ""
    if constant and "*" in before:
        plain = f"const {plain}"
    return plain + "*" * before.count("*")


def _plain(kind: str) -> str:
    return re.sub(r"\bstd::|(?<=\W)\s+|\s+(?=\W)", "", kind.strip())

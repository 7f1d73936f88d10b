"""CUDA: an object gives way to its parts: fields become variables, methods what they do, the class goes.

For objects of which a function uses only members: buffers that own their memory, options, a class that holds a whole
program. A constructor becomes what it does where the object is declared; what a destructor does, nobody does. Methods
are put in where they are called, as an expression if they are one `return`, else as a block. All objects of a class in
a function at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.native.native_change import Drop, NativeChange, Put
from shrinkray_gpu.reduction.native.native_tree import Node
from shrinkray_gpu.reduction.native.native_writer import WHOLE
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.cuda import (
    Source,
    declarator_name,
    function_of,
    is_inside,
    is_operand,
    sources,
    statements,
)
from shrinkray_gpu.source.cuda_classes import (
    ClassField,
    ClassParts,
    class_parts,
    constructor_for,
    declares_objects,
    is_one_return,
    names_in,
)

_DEEPEST = 12
"""Methods within methods."""
_PLAIN_VALUE = re.compile(r" = (?!true|false|nullptr|NULL)[^\W\d][\w.]*(?:\(\))?")
"""A name, or a size: it can stand wherever the field is read. A number stays what the program computes with."""
_OF_LIBRARY = re.compile(r"::|<")
"""Types whose `T x(y)` may be no `T x = y`."""
_DOES = re.compile(r"\+\+|--|[^=<>!]=[^=]|\bnew\b|\w\(")
"""What is not the same twice."""
_WHOLE = re.compile(r"[\w.]+(?:\(\))?|\([^()]*\)")
"""What needs no parentheses."""


_Bodies: TypeAlias = "list[tuple[Node, Mapping[str, str]]]"
"""Of constructors, and what their parameters stand for."""


class _Stuck(Exception):
    """An object is used as a whole, or by a method that is more than one expression where one is needed."""


@dataclass(frozen=True, eq=False)
class _Meanings:
    """What names stand for in a text: fields and parameters, and the class whose methods can be called by name."""

    names: Mapping[str, str] = field(default_factory=dict)
    record: ClassParts | None = None
    depth: int = 0

    def beside(self, more: Mapping[str, str]) -> _Meanings:
        return _Meanings({**self.names, **more}, self.record, self.depth + 1)


def find(program: Program) -> Iterator[Edit]:
    for source in sources(program):
        records = [found for node in source.tree.root.walk() if (found := class_parts(source, node)) is not None]
        functions = source.tree.nodes("function_definition")
        for record in records:
            yield from _edits(source, record, [each for each in functions if not is_inside(each, record.definition)])


def _edits(source: Source, record: ClassParts, functions: Sequence[Node]) -> Iterator[Edit]:
    opened: list[NativeChange] = []
    left = {use for use in source.names[record.name] if not is_inside(use, record.definition)}
    for function in functions:
        body = function.child("body")
        declared = [] if body is None else [each for each in body.walk() if declares_objects(source, each, record)]
        if body is None or not declared:
            continue
        try:
            text = _FunctionText(source, record, body, declared).of(body, _Meanings())
        except _Stuck:
            continue
        opened.append(Put(body, (text,)))
        left -= {use for each in declared for use in left if is_inside(use, each)}
    if opened:
        gone = [Drop(record.definition)] if not left else []
        yield source.edit(f"open objects of {record.name}", *opened, *gone, weight=source.weight([record.definition]))


class _FunctionText:
    """The text of a function without the objects that some of its declarations make."""

    def __init__(self, source: Source, record: ClassParts, body: Node, declared: Sequence[Node]) -> None:
        self.source, self.record, self.declared = source, record, set(declared)
        self.objects: set[str] = set()
        self.names: dict[str, dict[str, str]] = {}
        """What the fields of each object are called, and the parameters of its template."""
        for each in declared:
            for declarator in (part for part in each.children if part.field == "declarator"):
                name = declarator_name(declarator)
                assert name is not None
                if source.of(name) in self.objects:
                    raise _Stuck
                self.objects.add(source.of(name))

    def of(self, node: Node, scope: _Meanings) -> str:
        if node in self.declared:
            return self._declaration(node, scope)
        if node.kind == "expression_statement" and len(node.members) == 1:
            call = node.members[0]
            found = self._method(call, scope) if call.kind == "call_expression" else None
            if found is not None and not is_one_return(found[0]):
                return self._block(*found)
        if node.kind == "declaration" and (text := self._result(node, scope)):
            return text
        if node.kind == "call_expression" and (found := self._method(node, scope)) is not None:
            return self._value(node, *found)
        if node.kind == "field_expression":
            if (inner := self._member(node, scope)) is not None:
                return inner
            argument = node.child("argument")
            assert argument is not None
            return self.of(argument, scope) + self.source.text[argument.last : node.last]
        if node.kind in ("identifier", "type_identifier"):
            return self._name(node, scope)
        if not node.children:
            return self.source.of(node)
        out, at = "", node.first
        for each in node.children:
            out += self.source.text[at : each.first] + self.of(each, scope)
            at = each.last
        return out + self.source.text[at : node.last]

    def _name(self, node: Node, scope: _Meanings) -> str:
        text = self.source.of(node)
        parent = node.parent
        if parent is not None and parent.kind == "qualified_identifier":
            return text
        if text in scope.names:
            value = scope.names[text]
            return value if _WHOLE.fullmatch(value) or not is_operand(node) else f"({value})"
        if scope.record is None and text in self.objects:  # `A a(b)` is read as a function of a type b
            raise _Stuck
        if scope.record is not None and text in scope.record.methods:
            raise _Stuck
        return text

    def _member(self, node: Node, scope: _Meanings) -> str | None:
        """`x.field` and `this->field`; None for those of other things."""
        argument, name = node.child("argument"), node.child("field")
        if argument is None or name is None:
            return None
        names = self._names_of(argument, scope)
        if names is None:
            return None
        if self.source.of(name) not in names:
            raise _Stuck
        return names[self.source.of(name)]

    def _names_of(self, node: Node, scope: _Meanings) -> Mapping[str, str] | None:
        """What the fields of an object are called now."""
        if node.kind == "this" and scope.record is not None:
            return scope.names
        text = self.source.of(node)
        if node.kind == "identifier" and scope.record is None and text in self.objects:
            if text not in self.names:
                raise _Stuck
            return self.names[text]
        return None

    def _method(self, call: Node, scope: _Meanings) -> tuple[Node, Sequence[str], _Meanings] | None:
        """The method that is called, what it is given, and what its names stand for."""
        function, given = call.child("function"), call.child("arguments")
        if function is None or given is None:
            return None
        if function.kind == "field_expression":
            argument, name = function.child("argument"), function.child("field")
            names = self._names_of(argument, scope) if argument is not None else None
            if names is None or name is None or argument is None:
                return None
            inside = _Meanings(names, self.record, scope.depth + 1)
        elif function.kind == "identifier" and scope.record is not None:
            name, inside = function, _Meanings(self._own(scope), self.record, scope.depth + 1)
        else:
            return None
        method = self.record.methods.get(self.source.of(name))
        if method is None:
            if function.kind == "identifier":
                return None
            raise _Stuck
        if scope.depth > _DEEPEST:
            raise _Stuck
        return method, [self.of(each, scope) for each in given.members], inside

    def _own(self, scope: _Meanings) -> dict[str, str]:
        """The names of a scope that are those of the class, and not of the method's parameters."""
        kept = {*self.record.fields, *self.record.parameters}
        return {name: value for name, value in scope.names.items() if name in kept}

    def _value(self, call: Node, method: Node, given: Sequence[str], scope: _Meanings) -> str:
        if not is_one_return(method):
            raise _Stuck
        body = method.child("body")
        assert body is not None
        value = statements(body)[0].members[0]
        bound, declared = self._bound(method, given, body)
        if declared:
            raise _Stuck
        text = self.of(value, scope.beside(bound))
        return text if value.kind in WHOLE or not is_operand(call) else f"({text})"

    def _block(self, method: Node, given: Sequence[str], scope: _Meanings) -> str:
        body = method.child("body")
        assert body is not None
        if any(each.kind == "return_statement" for each in body.walk()):
            raise _Stuck
        bound, declared = self._bound(method, given, body)
        inner = self._inner(body, scope.beside(bound))
        return f"{{\n{''.join(declared)}{inner}\n}}" if declared else inner

    def _inner(self, body: Node, scope: _Meanings) -> str:
        """What a body does, in a block if it needs one for its variables."""
        text = self._inside(body, scope)
        return f"{{\n{text}\n}}" if any(map(self.source.declares, statements(body))) else text

    def _result(self, node: Node, scope: _Meanings) -> str:
        """`T x = object.method();` where that method does more: its statements, and what it returns called x."""
        initial = node.child("declarator")
        call = initial.child("value") if initial is not None and initial.kind == "init_declarator" else None
        found = self._method(call, scope) if call is not None and call.kind == "call_expression" else None
        if initial is None or call is None or found is None or is_one_return(found[0]):
            return ""
        method, given, inside = found
        body = method.child("body")
        inner = statements(body) if body is not None else []
        returns = [each for each in (body.walk() if body is not None else ()) if each.kind == "return_statement"]
        if body is None or len(returns) != 1 or inner[-1] is not returns[0] or not returns[0].members:
            raise _Stuck
        bound, declared = self._bound(method, given, body)
        value, own = returns[0].members[0], self.source.of(declarator_name(initial) or initial)
        within = inside.beside(bound)
        names = {name for each in inner for name in self.source.declares(each)}
        if names & within.names.keys():
            raise _Stuck
        text = self.source.of(value)
        if value.kind == "identifier" and text in names:
            within = within.beside({text: own})
            last = ""
        else:
            last = f"{self.source.text[node.first : call.first]}{self.of(value, within)};"
        return "\n".join([*declared, *(self.of(each, within) for each in inner[:-1]), last])

    def _inside(self, body: Node, scope: _Meanings) -> str:
        made = {self.source.of(name) for each in body.walk() if each.kind == "declaration" for name in names_in(each)}
        if made & scope.names.keys():
            raise _Stuck
        return self.of(body, scope).strip()[1:-1].strip()

    def _bound(self, method: Node, given: Sequence[str], *places: Node) -> tuple[dict[str, str], list[str]]:
        """The parameters as what is given for them, and declarations of those that must be variables."""
        declarator = function_of(method)
        listed = declarator.child("parameters") if declarator is not None else None
        members = listed.members if listed is not None else []
        if len(members) < len(given):
            raise _Stuck
        bound: dict[str, str] = {}
        declared = []
        for number, each in enumerate(members):
            own, default = declarator_name(each.child("declarator")), each.child("default_value")
            if number >= len(given) and default is None:
                raise _Stuck
            text = given[number] if number < len(given) else self.source.of(default or each)
            if own is None:
                continue
            uses = [use for place in places for use in self.source.uses(own, place)]
            written = any(_is_written(use) for use in uses)
            if written or (len(uses) > 1 and _DOES.search(text.replace(".size()", ""))):
                last = each.child("declarator")
                assert last is not None
                declared.append(f"{self.source.text[each.first : last.last]} = {text};\n")
            else:
                bound[self.source.of(own)] = text
        return bound, declared

    def _declaration(self, node: Node, scope: _Meanings) -> str:
        kind = node.child("type")
        listed = kind.child("arguments") if kind is not None and kind.kind == "template_type" else None
        given = [self.source.of(each) for each in listed.members] if listed is not None else []
        if len(given) != len(self.record.parameters):
            raise _Stuck
        types = dict(zip(self.record.parameters, given, strict=True))
        return "\n".join(self._object(each, scope, types) for each in node.children if each.field == "declarator")

    def _object(self, node: Node, scope: _Meanings, types: Mapping[str, str]) -> str:
        """The fields of one object, and what its constructor does."""
        name = declarator_name(node)
        assert name is not None
        own = self.source.of(name)
        names = self.names[own] = {**{each: f"{own}_{each.strip('_')}" for each in self.record.fields}, **types}
        inside = _Meanings(names, self.record, scope.depth + 1)
        value = node.child("value") or node.child("parameters")
        values: dict[str, str] = {}
        bodies: _Bodies = []
        given = [] if value is None else value.members if value.kind != "call_expression" else [value]
        if self.record.constructors and (value is None or value.kind.endswith("_list")):
            self._construct(given, [self.of(each, scope) for each in given], inside, values, bodies)
        elif value is not None:
            if value.kind != "initializer_list" or len(given) > len(self.record.fields):
                raise _Stuck
            for each, part in zip(self.record.fields, given):  # noqa: B905 (the rest has its defaults)
                values[each] = f" = {self.of(part, scope)}"
            for each in [*self.record.fields][len(given) :]:
                values[each] = "{}"
        lines = []
        for each, known in self.record.fields.items():
            text = values.get(each) or self._default(known, inside)
            if _PLAIN_VALUE.fullmatch(text) and known.declarator.kind == "field_identifier" and self._is_set_once(each):
                names[each] = text.removeprefix(" = ")
            else:
                lines.append(f"{_retyped(known.kind, types)} {self._declarator(known, each, inside)}{text};")
        return "\n".join([*lines, *(self._inner(body, inside.beside(bound)) for body, bound in bodies)])

    def _is_set_once(self, own: str) -> bool:
        """Whether no method writes to the field, and nothing outside names one like it on the left."""
        uses = [use for use in self.source.names[own] if not _is_initial(use)]
        return not any(_is_written(use.parent if use.field == "field" and use.parent else use) for use in uses)

    def _declarator(self, each: ClassField, own: str, scope: _Meanings) -> str:
        return re.sub(rf"\b{re.escape(own)}\b", scope.names[own], self.source.of(each.declarator))

    def _default(self, each: ClassField, scope: _Meanings) -> str:
        text = self.of(each.default, scope) if each.default is not None else ""
        return text if each.default is None or each.default.kind == "initializer_list" else f" = {text}"

    def _construct(
        self, nodes: Sequence[Node], given: Sequence[str], scope: _Meanings, values: dict[str, str], bodies: _Bodies
    ) -> None:
        """The values of the fields, and the body's block, by the constructor that fits best; by the one that it leaves
        the work to first."""
        if scope.depth > _DEEPEST:
            raise _Stuck
        chosen = constructor_for(self.source, self.record, nodes)
        if chosen is None:
            if given:
                raise _Stuck
            return
        body = chosen.child("body")
        assert body is not None
        started = [each for part in chosen.members if part.kind == "field_initializer_list" for each in part.members]
        bound, declared = self._bound(chosen, given, body, *started)
        if declared:
            raise _Stuck
        inner = scope.beside(bound)
        for each in started:
            own, listed = each.members[0], each.members[-1]
            parts = [self.of(part, inner) for part in listed.members]
            if self.source.of(own) == self.record.name:
                outer = _Meanings(self._own(scope), self.record, scope.depth + 1)
                self._construct(listed.members, parts, outer, values, bodies)
                continue
            known = self.record.fields.get(self.source.of(own))
            if known is None:
                raise _Stuck
            explicit = _OF_LIBRARY.search(known.kind) or f"explicit {known.kind}(" in self.source.text
            plain = len(parts) == 1 and (known.declarator.kind != "field_identifier" or not explicit)
            values[self.source.of(own)] = f" = {parts[0]}" if plain else self.of(listed, inner)
        if statements(body):
            bodies.append((body, bound))


def _retyped(kind: str, types: Mapping[str, str]) -> str:
    for name, value in types.items():
        kind = re.sub(rf"\b{re.escape(name)}\b", value, kind)
    return kind


def _is_written(use: Node) -> bool:
    up = use.parent
    if up is None:
        return False
    if up.kind == "assignment_expression":
        return up.child("left") is use
    return up.kind == "update_expression"


def _is_initial(use: Node) -> bool:
    return use.parent is not None and use.parent.kind == "field_initializer"

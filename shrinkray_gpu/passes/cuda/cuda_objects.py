"""CUDA: an object gives way to its parts: fields become variables, methods what they do, the class goes.

For objects of which a function uses only members: buffers that own their memory, options, a class that holds a whole
program. A constructor becomes what it does where the object is declared; what a destructor does, nobody does. Methods
are put in where they are called, as an expression if they are one `return`, else as a block. All objects of a class in
a function at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
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
    words,
)
from shrinkray_gpu.source.cuda_classes import (
    ClassField,
    ClassParts,
    class_parts,
    constructor_for,
    declares_objects,
    is_one_return,
    is_written,
)
from shrinkray_gpu.source.cuda_scopes import FreshNames, NameMeanings, Stuck

_DEEPEST = 12
"""Methods within methods."""
_PLAIN_VALUE = re.compile(r" = (?!true|false|nullptr|NULL)[^\W\d][\w.]*(?:\(\))?")
"""A name, or a size: it can stand wherever the field is read. A number stays what the program computes with."""
_OF_LIBRARY = re.compile(r"::|<")
"""Types whose `T x(y)` may be no `T x = y`."""
_DOES = re.compile(r"\+\+|--|[^=<>!]=[^=]|\bnew\b|\w\(")
"""What is not the same twice."""
_WHOLE = re.compile(r"[\w.:]+(?:\(\))?|\([^()]*\)")
"""What needs no parentheses."""


_Bodies: TypeAlias = "list[tuple[Node, Mapping[str, str]]]"
"""Of constructors, and what their parameters stand for."""


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
            text = _FunctionText(source, record, body, declared).of(body, NameMeanings())
        except Stuck:
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
        self.fresh = FreshNames(set(words(source.of(body))))
        self.objects: set[str] = set()
        self.names: dict[str, dict[str, str]] = {}
        """What the fields of each object are called, and the parameters of its template."""
        for each in declared:
            for declarator in (part for part in each.children if part.field == "declarator"):
                name = declarator_name(declarator)
                assert name is not None
                if source.of(name) in self.objects:
                    raise Stuck
                self.objects.add(source.of(name))

    def of(self, node: Node, scope: NameMeanings) -> str:
        if node in self.declared:
            return self._declaration(node, scope)
        if node.kind == "expression_statement" and len(node.members) == 1:
            call = node.members[0]
            found = self._method(call, scope) if call.kind == "call_expression" else None
            if found is not None and not is_one_return(found[0]):
                text = self._block(*found)
                alone = node.parent is not None and node.parent.kind != "compound_statement"  # as that of an `if`
                return f"{{\n{text}\n}}" if alone else text
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

    def _name(self, node: Node, scope: NameMeanings) -> str:
        text = self.source.of(node)
        parent = node.parent
        if parent is not None and parent.kind == "qualified_identifier":
            return text
        if text in scope.names:
            value = scope.names[text]
            return value if _WHOLE.fullmatch(value) or not is_operand(node) else f"({value})"
        if scope.record is None and text in self.objects:  # `A a(b)` is read as a function of a type b
            raise Stuck
        if scope.record is not None and text in scope.record.methods:
            raise Stuck
        return text

    def _member(self, node: Node, scope: NameMeanings) -> str | None:
        """`x.field` and `this->field`; None for those of other things."""
        argument, name = node.child("argument"), node.child("field")
        if argument is None or name is None:
            return None
        names = self._names_of(argument, scope)
        if names is None:
            return None
        if self.source.of(name) not in names:
            raise Stuck
        return names[self.source.of(name)]

    def _names_of(self, node: Node, scope: NameMeanings) -> Mapping[str, str] | None:
        """What the fields of an object are called now."""
        if node.kind == "this" and scope.record is not None:
            return scope.names
        text = self.source.of(node)
        if node.kind == "identifier" and scope.record is None and text in self.objects:
            if text not in self.names:
                raise Stuck
            return self.names[text]
        return None

    def _method(self, call: Node, scope: NameMeanings) -> tuple[Node, Sequence[str], NameMeanings] | None:
        """The method that is called, what it is given, and what its names stand for."""
        function, given = call.child("function"), call.child("arguments")
        if function is None or given is None:
            return None
        if function.kind == "field_expression":
            argument, name = function.child("argument"), function.child("field")
            names = self._names_of(argument, scope) if argument is not None else None
            if names is None or name is None or argument is None:
                return None
            inside = NameMeanings(names, self.record, scope.depth + 1)
        elif function.kind == "identifier" and scope.record is not None:
            name, inside = function, NameMeanings(self._own(scope), self.record, scope.depth + 1)
        else:
            return None
        method = self.record.methods.get(self.source.of(name))
        if method is None:
            if function.kind == "identifier":
                return None
            raise Stuck
        if scope.depth > _DEEPEST:
            raise Stuck
        return method, [self.of(each, scope) for each in given.members], inside

    def _own(self, scope: NameMeanings) -> dict[str, str]:
        """The names of a scope that are those of the class, and not of the method's parameters."""
        kept = {*self.record.fields, *self.record.parameters}
        return {name: value for name, value in scope.names.items() if name in kept}

    def _value(self, call: Node, method: Node, given: Sequence[str], scope: NameMeanings) -> str:
        if not is_one_return(method):
            raise Stuck
        body = method.child("body")
        assert body is not None
        value = statements(body)[0].members[0]
        bound, declared = self._bound(method, given, body)
        if declared:
            raise Stuck
        text = self.of(value, scope.beside(bound))
        return text if value.kind in WHOLE or not is_operand(call) else f"({text})"

    def _block(self, method: Node, given: Sequence[str], scope: NameMeanings) -> str:
        body = method.child("body")
        assert body is not None
        if any(each.kind == "return_statement" for each in body.walk()):
            raise Stuck
        bound, declared = self._bound(method, given, body)
        inner = self._inner(body, scope.beside(bound))
        return f"{{\n{''.join(declared)}{inner}\n}}" if declared else inner

    def _inner(self, body: Node, scope: NameMeanings) -> str:
        """What a body does, in a block if it needs one for its variables."""
        text = self._inside(body, scope)
        return f"{{\n{text}\n}}" if any(map(self.source.declares, statements(body))) else text

    def _result(self, node: Node, scope: NameMeanings) -> str:
        """`T x = object.method();` where that method does more: its statements, and what it returns called x."""
        declarators = [each for each in node.children if each.field == "declarator"]
        results = [self._one_result(node, each, scope) for each in declarators]
        if not any(results):
            return ""
        kind = self.source.text[node.first : declarators[0].first]
        made = zip(results, declarators, strict=True)
        return "\n".join(result or f"{kind}{self.of(each, scope)};" for result, each in made)

    def _one_result(self, node: Node, initial: Node, scope: NameMeanings) -> str:
        call = initial.child("value") if initial.kind == "init_declarator" else None
        found = self._method(call, scope) if call is not None and call.kind == "call_expression" else None
        if call is None or found is None or is_one_return(found[0]):
            return ""
        method, given, inside = found
        kind = next(each for each in node.children if each.field == "declarator")
        body = method.child("body")
        inner = statements(body) if body is not None else []
        returns = [each for each in (body.walk() if body is not None else ()) if each.kind == "return_statement"]
        if body is None or len(returns) != 1 or inner[-1] is not returns[0] or not returns[0].members:
            raise Stuck
        bound, declared = self._bound(method, given, body)
        value, own = returns[0].members[0], self.of(declarator_name(initial) or initial, scope)
        within = inside.beside(bound)
        names = self.fresh.of_body(self.source, body, within)
        text = self.source.of(value)
        if value.kind == "identifier" and any(text in self.source.declares(each) for each in inner):
            within = within.beside({**names, text: own})
            last = ""
        else:
            within = within.beside(names)
            before = self.source.text[node.first : kind.first] + self.source.text[initial.first : call.first]
            last = f"{before}{self.of(value, within)};"
        return "\n".join([*declared, *(self.of(each, within) for each in inner[:-1]), last])

    def _inside(self, body: Node, scope: NameMeanings) -> str:
        return self.of(body, scope.beside(self.fresh.of_body(self.source, body, scope))).strip()[1:-1].strip()

    def _bound(self, method: Node, given: Sequence[str], *places: Node) -> tuple[dict[str, str], list[str]]:
        """The parameters as what is given for them, and declarations of those that must be variables."""
        declarator = function_of(method)
        listed = declarator.child("parameters") if declarator is not None else None
        members = listed.members if listed is not None else []
        if len(members) < len(given):
            raise Stuck
        bound: dict[str, str] = {}
        declared = []
        for number, each in enumerate(members):
            own, default = declarator_name(each.child("declarator")), each.child("default_value")
            if number >= len(given) and default is None:
                raise Stuck
            text = given[number] if number < len(given) else self.source.of(default or each)
            if own is None:
                continue
            uses = [use for place in places for use in self.source.uses(own, place)]
            written = any(is_written(use) for use in uses)
            listed_alone = text.startswith("{") and bool(uses)
            if written or listed_alone or (len(uses) > 1 and _DOES.search(text.replace(".size()", ""))):
                last = each.child("declarator")
                assert last is not None
                fresh = bound[self.source.of(own)] = self.fresh.of(self.source.of(own))
                around = self.source.text[each.first : own.first], self.source.text[own.last : last.last]
                declared.append(f"{around[0]}{fresh}{around[1]} = {text};\n")
            else:
                bound[self.source.of(own)] = text
        return bound, declared

    def _declaration(self, node: Node, scope: NameMeanings) -> str:
        kind = node.child("type")
        listed = kind.child("arguments") if kind is not None and kind.kind == "template_type" else None
        given = [self.source.of(each) for each in listed.members] if listed is not None else []
        if len(given) != len(self.record.parameters):
            raise Stuck
        types = dict(zip(self.record.parameters, given, strict=True))
        return "\n".join(self._object(each, scope, types) for each in node.children if each.field == "declarator")

    def _object(self, node: Node, scope: NameMeanings, types: Mapping[str, str]) -> str:
        """The fields of one object, and what its constructor does."""
        name = declarator_name(node)
        assert name is not None
        own = self.source.of(name)
        fields = {each: self.fresh.of(f"{own}_{each.strip('_')}") for each in self.record.fields}
        names = self.names[own] = {**fields, **types}
        inside = NameMeanings(names, self.record, scope.depth + 1)
        value = node.child("value") or node.child("parameters")
        values: dict[str, str] = {}
        bodies: _Bodies = []
        lines: list[str] = []
        given = [] if value is None else value.members if value.kind != "call_expression" else [value]
        if self.record.constructors and (value is None or value.kind.endswith("_list")):
            self._construct(given, [self.of(each, scope) for each in given], inside, values, bodies, lines)
        elif value is not None:
            if value.kind != "initializer_list" or len(given) > len(self.record.fields):
                raise Stuck
            for each, part in zip(self.record.fields, given):  # noqa: B905 (the rest has its defaults)
                values[each] = f" = {self.of(part, scope)}"
            for each in [*self.record.fields][len(given) :]:
                values[each] = "{}"
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
        return not any(is_written(use.parent if use.field == "field" and use.parent else use) for use in uses)

    def _declarator(self, each: ClassField, own: str, scope: NameMeanings) -> str:
        return re.sub(rf"\b{re.escape(own)}\b", scope.names[own], self.source.of(each.declarator))

    def _default(self, each: ClassField, scope: NameMeanings) -> str:
        text = self.of(each.default, scope) if each.default is not None else ""
        return text if each.default is None or each.default.kind == "initializer_list" else f" = {text}"

    def _construct(
        self,
        nodes: Sequence[Node],
        given: Sequence[str],
        scope: NameMeanings,
        values: dict[str, str],
        bodies: _Bodies,
        lines: list[str],
    ) -> None:
        """The values of the fields, the body's block and variables for parameters, by the constructor that fits best;
        by the one that it leaves the work to first."""
        if scope.depth > _DEEPEST:
            raise Stuck
        chosen = constructor_for(self.source, self.record, nodes)
        if chosen is None:
            if given:
                raise Stuck
            return
        body = chosen.child("body")
        assert body is not None
        started = [each for part in chosen.members if part.kind == "field_initializer_list" for each in part.members]
        bound, declared = self._bound(chosen, given, body, *started)
        lines += map(str.rstrip, declared)
        inner = scope.beside(bound)
        for each in started:
            own, listed = each.members[0], each.members[-1]
            parts = [self.of(part, inner) for part in listed.members]
            if self.source.of(own) == self.record.name:
                outer = NameMeanings(self._own(scope), self.record, scope.depth + 1)
                self._construct(listed.members, parts, outer, values, bodies, lines)
                continue
            known = self.record.fields.get(self.source.of(own))
            if known is None:
                raise Stuck
            explicit = _OF_LIBRARY.search(known.kind) or f"explicit {known.kind}(" in self.source.text
            plain = len(parts) == 1 and (known.declarator.kind != "field_identifier" or not explicit)
            values[self.source.of(own)] = f" = {parts[0]}" if plain else self.of(listed, inner)
        if statements(body):
            bodies.append((body, bound))


def _retyped(kind: str, types: Mapping[str, str]) -> str:
    for name, value in types.items():
        kind = re.sub(rf"\b{re.escape(name)}\b", value, kind)
    return kind


def _is_initial(use: Node) -> bool:
    return use.parent is not None and use.parent.kind == "field_initializer"

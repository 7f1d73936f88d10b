"""Literals, and objects that are no more than their fields: of a dataclass, a named tuple or a SimpleNamespace."""

from __future__ import annotations

import libcst as cst

from shrinkray_gpu.passes.inlining.callee import assigned_value, definition_of, subclasses
from shrinkray_gpu.source.calls import decorator_name
from shrinkray_gpu.source.names_read import Names
from shrinkray_gpu.source.tree import dotted_text

_MADE_OTHERWISE = frozenset(("__post_init__", "__init__", "__new__", "__getattribute__"))


def constant(node: cst.BaseExpression) -> bool:
    match node:
        case cst.Integer() | cst.Float() | cst.SimpleString() | cst.Ellipsis():
            return True
        case cst.Name(value=value):
            return value in ("True", "False", "None")
        case cst.UnaryOperation(operator=cst.Minus(), expression=cst.Integer() | cst.Float()):
            return True
        case cst.Tuple(elements=elements):
            return all(isinstance(each, cst.Element) and constant(each.value) for each in elements)
    return False


def is_record(made: cst.ClassDef) -> bool:
    decorators = [decorator_name(each).split(".")[-1] for each in made.decorators]
    return (decorators == ["dataclass"] and not made.bases) or is_named_tuple(made)


def is_named_tuple(made: cst.ClassDef) -> bool:
    bases = [dotted_text(base.value).split(".")[-1] for base in made.bases]
    return bases == ["NamedTuple"] and not made.decorators


def declared_fields(made: cst.ClassDef) -> dict[str, cst.BaseExpression | None]:
    """The fields of a record, in order, with their defaults."""
    fields: dict[str, cst.BaseExpression | None] = {}
    for statement in made.body.body:
        match statement:
            case cst.SimpleStatementLine(body=[cst.AnnAssign(target=cst.Name(value=name), value=value)]):
                fields[name] = value
    return fields


def record_fields(call: cst.Call, names: Names) -> list[tuple[str, cst.BaseExpression]] | None:
    """The fields of a new record with their values, in order of evaluation; None where the call makes none."""
    if any(arg.star for arg in call.args):
        return None
    if dotted_text(call.func).split(".")[-1] == "SimpleNamespace":
        return [(arg.keyword.value, arg.value) for arg in call.args if arg.keyword]
    if (order := listed_fields(call.func, names)) is not None:
        given = [(arg.keyword.value if arg.keyword else name, arg.value) for name, arg in zip(order, call.args)]
        return given if len(call.args) == len(order) and {name for name, _ in given} == set(order) else None
    made = definition_of(call.func, names)
    if not isinstance(made, cst.ClassDef) or not is_record(made) or subclasses(made, names):
        return None
    if any(isinstance(each, cst.FunctionDef) and _is_special(each) for each in made.body.body):
        return None
    declared = declared_fields(made)
    order = list(declared)
    if len(call.args) > len(order):
        return None
    given = [(arg.keyword.value if arg.keyword else order[index], arg.value) for index, arg in enumerate(call.args)]
    missing = [name for name in order if name not in dict(given)]
    defaults = [(name, value) for name in missing if (value := declared[name]) is not None and constant(value)]
    return given + defaults if len(defaults) == len(missing) and set(dict(given)) <= set(order) else None


def listed_fields(made: cst.BaseExpression, names: Names) -> list[str] | None:
    """Those of `namedtuple("Case", "rows columns")`, and of a name that is bound to it once."""
    if isinstance(made, cst.Name) and made.value not in names.rebindable:
        bound = names.bindings(*names.variable(made))
        made = (assigned_value(bound[0], names) if len(bound) == 1 else None) or made
    match made:
        case cst.Call(
            func=func, args=[cst.Arg(value=cst.SimpleString()), cst.Arg(value=listed, keyword=None, star="")]
        ):
            texts = [each.value for each in listed.elements] if isinstance(listed, cst.List | cst.Tuple) else [listed]
            words = [each.evaluated_value if isinstance(each, cst.SimpleString) else None for each in texts]
            if dotted_text(func).split(".")[-1] == "namedtuple" and all(isinstance(each, str) for each in words):
                return [name for each in words for name in str(each).replace(",", " ").split()]
    return None


def is_settled(call: cst.Call, names: Names) -> bool:
    """Whether the call makes a record of literals that nobody changes, or an object of methods alone: it may be made at
    another time, or again."""
    made = definition_of(call.func, names)
    if not isinstance(made, cst.ClassDef):
        return False
    if not (made.bases or made.decorators or made.keywords or call.args):
        return all(isinstance(each, cst.FunctionDef) and not _is_special(each) for each in made.body.body)
    changing = names.assigned_attributes | names.stored_attributes
    fields = record_fields(call, names)
    return fields is not None and all(constant(value) and name not in changing for name, value in fields)


def _is_special(method: cst.FunctionDef) -> bool:
    return method.name.value in _MADE_OTHERWISE

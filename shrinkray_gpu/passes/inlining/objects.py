"""An object whose methods are inlined is only a bag of attributes: they become plain variables, and the class goes.

`model = Model(cfg)` followed by `model.beta` becomes the body of `__init__` with `beta = ...`. A dataclass, a
NamedTuple or a SimpleNamespace becomes its values: `cfg.block` is 64. So do constants that are written in a class.
"""

from __future__ import annotations

import builtins
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import libcst as cst
from libcst.metadata import ClassScope

from shrinkray_gpu.passes.inlining.call_arguments import (
    Bound,
    add_parentheses,
    bound_arguments,
    effect_free,
    fits_everywhere,
    quotes_meet,
)
from shrinkray_gpu.passes.inlining.call_bodies import inline_statements, means_the_same_there
from shrinkray_gpu.passes.inlining.callee import (
    assigned_value,
    callee_of,
    class_of,
    definition_of,
    find_method,
    subclasses,
)
from shrinkray_gpu.passes.inlining.modules import WHOLE, done_to_parts, moves
from shrinkray_gpu.passes.inlining.moved import Rewrite, root_of
from shrinkray_gpu.passes.inlining.records import (
    constant,
    declared_fields,
    is_named_tuple,
    is_record,
    is_settled,
    record_fields,
)
from shrinkray_gpu.source.names_read import Names, is_target, walk
from shrinkray_gpu.source.tree import dotted_text

PLAIN_BASES = frozenset({"object", "nn.Module", "torch.nn.Module", "Module", "unittest.TestCase", "TestCase"})


def object_rewrites(names: Names) -> Iterable[Rewrite]:
    """Objects to variables."""
    for node in names.nodes:
        if isinstance(node, cst.Assign | cst.AnnAssign) and isinstance(node.value, cst.Call):
            target = node.target if isinstance(node, cst.AnnAssign) else node.targets[0].target
            if isinstance(target, cst.Name) and assigned_value(target, names) is node.value:
                rewrite = Rewrite(names, what=f"{target.value}'s attributes to variables")
                if dissolve(rewrite, target, *moves(node.value)):
                    yield rewrite


def dissolve(rewrite: Rewrite, target: cst.Name, call: cst.Call, moved: Sequence[cst.Call]) -> bool:
    """`moved`: what is done to the new object before it has its name."""
    names = rewrite.names
    bound = names.bindings(*names.variable(target))
    if len(bound) != 1 or target.value in names.rebindable or isinstance(names.scope(target), ClassScope):
        return False
    mentions: dict[str, list[cst.Attribute]] = defaultdict(list)
    as_tuple = written_out(call, names)
    copies: list[cst.Attribute] = []
    part_names: dict[str, str] = {}
    for each in names.mentions(target):
        above = names.parents[each]
        if each is target:
            continue
        if not isinstance(above, cst.Attribute):
            if as_tuple is None or names.in_text(each):
                return False
            rewrite.swaps[each] = as_tuple
            continue
        if above.attr.value in WHOLE:
            copies.append(above)
            continue
        if is_target(above, names.parents) and names.function_around(above) is not names.function_around(target):
            return False
        mentions[above.attr.value].append(above)
    if (fields := record_fields(call, names)) is not None and not moved:
        done = dissolve_record(rewrite, target, call, fields, mentions)
    else:
        done = dissolve_instance(rewrite, target, call, mentions, part_names)
    if done and (moved or copies):
        done = done_to_parts(rewrite, call, moved, copies, part_names)
    made = definition_of(call.func, names)
    if done and isinstance(made, cst.ClassDef):
        if all(each in (made.name, call.func) for each in names.mentions(made.name)):
            rewrite.dropped.append(made)
    return done


def written_out(call: cst.Call, names: Names) -> cst.Tuple | None:
    """A NamedTuple of literals as the tuple that it is."""
    made = definition_of(call.func, names)
    if not isinstance(made, cst.ClassDef) or not is_named_tuple(made) or not is_settled(call, names):
        return None
    values = dict(record_fields(call, names) or ())
    elements = [cst.Element(values[name]) for name in declared_fields(made)]
    return add_parentheses(cst.Tuple(elements)) if len(elements) > 1 else None


def dissolve_record(
    rewrite: Rewrite,
    target: cst.Name,
    call: cst.Call,
    fields: list[tuple[str, cst.BaseExpression]],
    mentions: dict[str, list[cst.Attribute]],
) -> bool:
    names = rewrite.names
    values = dict(fields)
    root = root_of(call, names)
    if not set(mentions) <= set(values) or names.own_line(root) is None:
        return False
    texts = []
    for field, value in fields:
        stored = any(is_target(each, names.parents) for each in mentions[field])
        if not mentions[field] and effect_free(value):
            continue
        if not stored and fits_everywhere(value, mentions[field], call, names):
            new: cst.BaseExpression = value
        else:
            new = cst.Name(variable(field, target.value, rewrite))
            texts.append(f"{new.value} = {names.module.code_for_node(value)}")
        rewrite.swaps.update({each: new for each in mentions[field]})
    rewrite.instead[root] = ""
    rewrite.before[names.parents[root]] = texts
    return True


def variable(attribute: str, owner: str, rewrite: Rewrite) -> str:
    """A name for the variable that was an attribute: that of the attribute, if no variable has it."""
    words = (
        {each.value for each in rewrite.names.variables_of_module} | rewrite.names.imported_names | rewrite.introduced
    )
    for name in (attribute, f"{owner}_{attribute}"):
        if name not in words and not hasattr(builtins, name):
            break
    else:
        name = rewrite.fresh(attribute)
    rewrite.introduced.add(name)
    rewrite.long_lived.add(name)
    return name


def dissolve_instance(
    rewrite: Rewrite,
    target: cst.Name,
    call: cst.Call,
    mentions: dict[str, list[cst.Attribute]],
    variables: dict[str, str],
) -> bool:
    """`m = C(...)` -> the body of C.__init__ with variables for what it stores in `self`, which are told."""
    names = rewrite.names
    made = definition_of(call.func, names)
    if (
        not isinstance(made, cst.ClassDef)
        or made.keywords
        or made.decorators
        or names.own_line(root_of(call, names)) is None
    ):
        return False
    if not all(dotted_text(base.value) in PLAIN_BASES for base in made.bases):
        return False
    init = find_method(made, "__init__", names, inherited=False)
    special = ("__new__", "__getattr__", "__getattribute__", "__setattr__")
    if any(find_method(made, each, names) for each in special):
        return False
    late = {word for word, found in mentions.items() if any(is_target(each, names.parents) for each in found)}
    if init is None:
        return dissolve_bare(rewrite, target, call, mentions) if late == set(mentions) and not call.args else False
    callee = callee_of(init, names, without=calls_super)
    bound = bound_arguments(call, replace(callee, receiver=target), names) if callee else None
    if callee is None or callee.returns_early or callee.value is not None or not bound:
        return False
    receiver, *bound = bound
    inside: dict[str, list[cst.Attribute]] = defaultdict(list)
    for name in names.occurrences.get((callee.scope, receiver.name), []):
        above = names.parents[name]
        if name not in callee.nodes:
            continue
        if not isinstance(above, cst.Attribute):
            return False
        inside[above.attr.value].append(above)
    stored = late | {word for word, found in inside.items() if any(is_target(each, names.parents) for each in found)}
    if not (set(inside) | set(mentions)) <= stored or any(find_method(made, word, names) for word in stored):
        return False
    if not means_the_same_there(callee, names.scope(call), names):
        return False
    aliases = plain_aliases(callee.statements, receiver.name, bound, mentions, call, names)
    extra: dict[cst.CSTNode, cst.CSTNode] = {}
    for word in stored:
        value = aliases.get(word)
        new = value if value is not None else cst.Name(variable(word, target.value, rewrite))
        variables[word] = new.value if isinstance(new, cst.Name) else ""
        extra.update({each: new for each in inside[word]})
        rewrite.swaps.update({each: new for each in mentions[word]})
    kept = tuple(each for each in callee.statements if alias_of(each, receiver.name) not in aliases)
    return inline_statements(rewrite, call, replace(callee, statements=kept), bound, extra=extra, drop=True)


def dissolve_bare(rewrite: Rewrite, target: cst.Name, call: cst.Call, mentions: dict[str, list[cst.Attribute]]) -> bool:
    """`m = C()` of a class that makes nothing -> variables for what is stored in it later."""
    made = definition_of(call.func, rewrite.names)
    assert isinstance(made, cst.ClassDef)
    if any(_defines(made, word) for word in mentions):
        return False
    for word, found in mentions.items():
        new = cst.Name(variable(word, target.value, rewrite))
        rewrite.swaps.update({each: new for each in found})
    rewrite.instead[root_of(call, rewrite.names)] = ""
    return True


def _defines(made: cst.ClassDef, word: str) -> bool:
    """Whether the class itself may have something of this name."""
    for each in made.body.body:
        inside = [each.name] if isinstance(each, cst.FunctionDef) else walk(each)
        if any(isinstance(name, cst.Name) and name.value == word for name in inside):
            return True
    return False


def kept_values(names: Names) -> Iterable[Rewrite]:
    """`C(a, b).x` -> `a`, where the new object does nothing but keep what it is given."""
    for node in names.nodes:
        if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Call) and not is_target(node, names.parents):
            value = kept_value(node.value, node.attr.value, names)
            if value is not None:
                rewrite = Rewrite(names, what=f"what .{node.attr.value} of a new object keeps")
                rewrite.swaps[node] = value
                yield rewrite


def kept_value(call: cst.Call, word: str, names: Names) -> cst.BaseExpression | None:
    made = definition_of(call.func, names)
    if not isinstance(made, cst.ClassDef) or not all(dotted_text(base.value) in PLAIN_BASES for base in made.bases):
        return None
    init = find_method(made, "__init__", names, inherited=False)
    callee = callee_of(init, names, without=calls_super) if init is not None else None
    bound = bound_arguments(call, replace(callee, receiver=cst.Name("None")), names) if callee is not None else None
    if callee is None or not bound or any(find_method(made, each, names) for each in (word, "__getattribute__")):
        return None
    receiver, *rest = bound
    aliases = [alias_of(each, receiver.name) for each in callee.statements]
    if None in aliases or aliases.count(word) != 1 or not all(effect_free(each.value) for each in rest):
        return None
    match callee.statements[aliases.index(word)]:
        case cst.SimpleStatementLine(body=[cst.Assign(value=cst.Name(value=param))]):
            return next((each.value for each in rest if each.name == param), None)
    return None


def calls_super(statement: cst.BaseStatement) -> bool:
    match statement:
        case cst.SimpleStatementLine(
            body=[cst.Expr(value=cst.Call(func=cst.Attribute(value=cst.Call(func=cst.Name(value="super"))), args=[]))]
        ):
            return True
    return False


def alias_of(statement: cst.BaseStatement, receiver: str) -> str | None:
    """`x` of a statement `self.x = name`."""
    match statement:
        case cst.SimpleStatementLine(
            body=[
                cst.Assign(
                    targets=[
                        cst.AssignTarget(target=cst.Attribute(value=cst.Name(value=owner), attr=cst.Name(value=word)))
                    ],
                    value=cst.Name(),
                )
            ]
        ) if owner == receiver:
            return word
    return None


def plain_aliases(
    statements: tuple[cst.BaseStatement, ...],
    receiver: str,
    bound: list[Bound],
    mentions: dict[str, list[cst.Attribute]],
    call: cst.Call,
    names: Names,
) -> dict[str, cst.BaseExpression]:
    """Attributes that are just another name of an argument which can be written wherever the attribute is read."""
    given = {each.name: each.value for each in bound}
    found: dict[str, cst.BaseExpression] = {}
    for statement in statements:
        word = alias_of(statement, receiver)
        if word is None or word in names.stored_attributes:
            continue
        assert isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[0], cst.Assign)
        param = statement.body[0].value
        assert isinstance(param, cst.Name)
        value = given.get(param.value)
        once = sum(is_target(each, names.parents) for each in names.attributes[word]) == 1
        if value is not None and once and fits_everywhere(value, mentions[word], call, names):
            found[word] = value
    return found


def constants(names: Names) -> Iterable[Rewrite]:
    """`Config.BLOCK`, `self.BLOCK` -> the literal that the class gives it."""
    for made in names.classes:
        if is_record(made):
            continue
        for statement in made.body.body:
            match statement:
                case cst.SimpleStatementLine(
                    body=[
                        cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=word))], value=value)
                        | cst.AnnAssign(target=cst.Name(value=word), value=value)
                    ]
                ) if value is not None and constant(value):
                    rewrite = Rewrite(names, what=f"constant {made.name.value}.{word}")
                    if spread(rewrite, made, statement, word, value):
                        yield rewrite


def spread(rewrite: Rewrite, made: cst.ClassDef, statement: cst.CSTNode, word: str, value: cst.BaseExpression) -> bool:
    names = rewrite.names
    if word in names.assigned_attributes or subclasses(made, names) or not names.attributes[word]:
        return False
    inner = names.scope(made.body.body[0])
    if len(names.bindings(inner, word)) != 1 or len(names.occurrences[inner, word]) != 1:
        return False
    if any(dotted_text(base.value).split(".")[-1] in ("Enum", "IntEnum") for base in made.bases):
        return False
    if quotes_meet(value, names.attributes[word], names):
        return False
    for each in names.attributes[word]:
        if made not in (class_of(each.value, names), definition_of(each.value, names)):
            return False
        rewrite.swaps[each] = value
    rewrite.dropped.append(statement)
    return True

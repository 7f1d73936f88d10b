"""What is done to a torch module as a whole is done to its parts, so that it becomes an object like any other.

`m = Model().to("cuda")` moves what `Model.__init__` stores, `a.load_state_dict(b.state_dict())` copies each part, and a
linear layer that only holds the weights of another one is a call of `linear` with these.
"""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from shrinkray_gpu.passes.inlining.call_arguments import stable
from shrinkray_gpu.passes.inlining.callee import assigned_value, class_of, definition_of, find_method, subclasses
from shrinkray_gpu.passes.inlining.moved import Rewrite, lines_of, root_of
from shrinkray_gpu.source.names_read import Names
from shrinkray_gpu.source.tree import dotted_text

_MOVES, _MODES = frozenset({"to", "cuda", "half"}), frozenset({"eval", "train"})


def module_rewrites(names: Names) -> Iterable[Rewrite]:
    for node in names.nodes:
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            word, rewrite = node.func.attr.value, Rewrite(names)
            if word in _MOVES | _MODES and over_parts(rewrite, node, word):
                yield rewrite
            elif word == "load_state_dict" and (copied_parts(rewrite, node) or as_function(rewrite, node)):
                yield rewrite


def parts_of(module: cst.BaseExpression, names: Names) -> dict[str, str] | None:
    """What the `__init__` of a module's class stores: attribute -> `module` or `parameter`, nothing of plain values.
    None where that is not plain to see."""
    made = class_of(module, names)
    if made is None or subclasses(made, names) or not any("Module" in dotted_text(each.value) for each in made.bases):
        return None
    init = find_method(made, "__init__", names, inherited=False)
    if init is None or not init.params.params:
        return None
    found: dict[str, str] = {}
    for statement in lines_of(init.body):
        match statement:
            case cst.SimpleStatementLine(
                body=[
                    cst.Assign(
                        targets=[cst.AssignTarget(target=cst.Attribute(value=cst.Name(value=owner), attr=attr))]
                    ) as stored
                ]
            ) if owner == init.params.params[0].name.value:
                if isinstance(stored.value, cst.Call):
                    kind = kind_of(stored.value, names)
                    if kind is None or attr.value in found:
                        return None
                    found[attr.value] = kind
                elif not isinstance(stored.value, cst.Name | cst.Integer | cst.Float | cst.SimpleString):
                    return None
            case cst.SimpleStatementLine(body=[cst.Expr(value=cst.Call(func=func))]):
                word = dotted_text(func).rpartition(".")[2]
                if (buffer := registered(statement)) is not None and buffer[0] not in found:
                    found[buffer[0]] = "buffer"
                elif word in ("register_buffer", "register_parameter", "add_module"):
                    return None
            case _:
                return None
    return found


def registered(statement: cst.BaseStatement) -> tuple[str, cst.BaseExpression] | None:
    """Name and value of `self.register_buffer("mean", value)`."""
    match statement:
        case cst.SimpleStatementLine(
            body=[
                cst.Expr(
                    value=cst.Call(
                        func=cst.Attribute(attr=cst.Name(value="register_buffer")),
                        args=[
                            cst.Arg(value=cst.SimpleString() as name, keyword=None),
                            cst.Arg(value=value, keyword=None),
                        ],
                    )
                )
            ]
        ):
            return str(name.evaluated_value), value
    return None


def kind_of(call: cst.Call, names: Names) -> str | None:
    made, word = definition_of(call.func, names), dotted_text(call.func)
    if word.endswith("Parameter"):
        return "parameter"
    of_torch = word.startswith(("nn.", "torch.nn.")) and word.rpartition(".")[2][:1].isupper()
    return "module" if of_torch or isinstance(made, cst.ClassDef) and class_of(call, names) is not None else None


def over_parts(rewrite: Rewrite, call: cst.Call, word: str) -> bool:
    """`m.to(D)`, or `m = M().to(D)`, whose last of these calls it is."""
    names, root = rewrite.names, root_of(call, rewrite.names)
    assert isinstance(call.func, cst.Attribute)
    module: cst.BaseExpression = call.func.value
    heads: list[str] = []
    code = names.module.code_for_node
    if isinstance(root, cst.Assign) and root.value is call and isinstance(root.targets[0].target, cst.Name):
        if len(root.targets) != 1 or not isinstance(module, cst.Call):
            return False
        heads, owner = [f"{code(root.targets[0].target)} = {code(module)}"], code(root.targets[0].target)
    elif isinstance(root, cst.Expr) and root.value is call and stable(module, names):
        owner = code(module)
    else:
        return False
    parts = parts_of(module, names)
    if not parts or names.own_line(root) is None or not all(stable(arg.value, names) for arg in call.args):
        return False
    done = f"{word}({', '.join(code(arg.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for arg in call.args)})"
    for part, kind in parts.items():
        if kind == "module":
            heads.append(f"{owner}.{part}.{done}")
        elif word in _MOVES and kind == "buffer":
            heads.append(f"{owner}.{part} = {owner}.{part}.{done}")
        elif word in _MOVES:
            heads.append(f"{owner}.{part}.data = {owner}.{part}.data.{done}")
    if "buffer" in parts.values() and not stored_plainly(rewrite, module):
        return False
    rewrite.what = f"{word} of each part of a module"
    rewrite.instead[root] = "\n".join(heads)
    return True


def stored_plainly(rewrite: Rewrite, module: cst.BaseExpression) -> bool:
    """`self.mean = value` for each buffer of a class that one object is made of: then torch moves it no more."""
    names, made = rewrite.names, class_of(module, rewrite.names)
    assert made is not None
    init = find_method(made, "__init__", names)
    if init is None or len(names.mentions(made.name)) != 2 or names.attributes["state_dict"]:
        return False
    for statement in lines_of(init.body):
        if (buffer := registered(statement)) is not None and isinstance(statement, cst.SimpleStatementLine):
            owner, value = init.params.params[0].name.value, names.module.code_for_node(buffer[1])
            rewrite.instead[statement.body[0]] = f"{owner}.{buffer[0]} = {value}"
    return True


def copied_parts(rewrite: Rewrite, call: cst.Call) -> bool:
    """`a.load_state_dict(b.state_dict())` -> the same of each part."""
    names, root, source = rewrite.names, root_of(call, rewrite.names), source_of(call)
    assert isinstance(call.func, cst.Attribute)
    into = call.func.value
    if source is None or not isinstance(root, cst.Expr) or root.value is not call or names.own_line(root) is None:
        return False
    parts, others = parts_of(into, names), parts_of(source, names)
    if not parts or parts != others or not (stable(into, names) and stable(source, names)):
        return False
    to, of = names.module.code_for_node(into), names.module.code_for_node(source)
    rewrite.what = "each part of a module is copied"
    whole, single = "{0}.{2}.load_state_dict({1}.{2}.state_dict())", "{0}.{2}.data.copy_({1}.{2}.data)"
    lines = ((whole if kind == "module" else single).format(to, of, part) for part, kind in parts.items())
    rewrite.instead[root] = "\n".join(lines)
    return True


def source_of(call: cst.Call) -> cst.BaseExpression | None:
    match call.args:
        case [cst.Arg(value=cst.Call(func=cst.Attribute(value=module, attr=cst.Name(value="state_dict")), args=[]))]:
            return module
    return None


def as_function(rewrite: Rewrite, call: cst.Call) -> bool:
    """A layer that gets the weights of another one and is only called -> `linear(x, other.weight, other.bias)`."""
    names, source = rewrite.names, source_of(call)
    assert isinstance(call.func, cst.Attribute)
    layer = call.func.value
    if (
        source is None
        or not stable(source, names)
        or not isinstance(layer, cst.Name)
        or layer.value in names.rebindable
    ):
        return False
    bound = names.bindings(*names.variable(layer))
    made = assigned_value(bound[0], names) if len(bound) == 1 else None
    if not isinstance(made, cst.Call) or dotted_text(made.func) not in ("nn.Linear", "torch.nn.Linear"):
        return False
    if len(made.args) != 2 or "torch" not in names.imported_names:
        return False
    function = cst.parse_expression("torch.nn.functional.linear")
    held = [cst.Arg(cst.Attribute(source, cst.Name(word))) for word in ("weight", "bias")]
    for each in names.mentions(layer):
        above = names.parents[each]
        if each is bound[0]:
            rewrite.instead[root_of(each, names)] = ""
        elif isinstance(above, cst.Call) and above.func is each and len(above.args) == 1:
            rewrite.swaps[above] = cst.Call(function, [above.args[0], *held])
        elif isinstance(above, cst.Attribute) and above.attr.value in ("load_state_dict", "cuda", "to", *_MODES):
            root, done = root_of(each, names), names.parents[above]
            # Another type would be one of the weights.
            moved = isinstance(done, cst.Call) and all(isinstance(arg.value, cst.SimpleString) for arg in done.args)
            if not isinstance(root, cst.Expr) or names.own_line(root) is None or not (moved or done is call):
                return False
            rewrite.instead[root] = ""
        else:
            return False
    rewrite.what = "a linear layer is a function of another one's weights"
    return names.own_line(root_of(made, names)) is not None

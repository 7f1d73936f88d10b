"""What is done to a torch module as a whole is done to its parts, where it becomes variables (`objects`).

`m = Model().to("cuda")` moves what `Model.__init__` stores, and `a.load_state_dict(b.state_dict())` copies each part. A
linear layer that only holds the weights of another one is a call of `linear` with these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import libcst as cst

from shrinkray_gpu.passes.inlining.call_arguments import stable
from shrinkray_gpu.passes.inlining.callee import assigned_value, class_of, definition_of, find_method, subclasses
from shrinkray_gpu.passes.inlining.moved import Rewrite, lines_of, root_of
from shrinkray_gpu.source.names_read import Names
from shrinkray_gpu.source.tree import dotted_text

WHOLE = frozenset({"state_dict", "load_state_dict"})
_COPY = {
    "module": "{0}.load_state_dict({1}.state_dict())",
    "parameter": "{0}.data.copy_({1}.data)",
    "buffer": "{0}.copy_({1})",
}
_NO_COMMA = cst.MaybeSentinel.DEFAULT
_MOVES, _MODES = frozenset({"to", "cuda", "half"}), frozenset({"eval", "train"})


def buffers(names: Names) -> Iterable[Rewrite]:
    """`self.register_buffer("bias", value)` -> `self.bias = nn.Buffer(value)`, which is stored like all else."""
    library = next((each for each in ("nn", "torch") if each in names.imported_names), "")
    for node in names.nodes if library else ():
        match node:
            case cst.Expr(
                value=cst.Call(
                    func=cst.Attribute(value=cst.Name() as owner, attr=cst.Name(value="register_buffer")),
                    args=[cst.Arg(value=cst.SimpleString() as word), cst.Arg(value=cst.Call(), keyword=None), *more],
                ) as call
            ) if class_of(owner, names) is not None and names.own_line(node) is not None:
                attribute = word.evaluated_value
                given = [each.with_changes(comma=_NO_COMMA) for each in (call.args[1], *more)]
                if isinstance(attribute, str) and attribute.isidentifier() and not attribute.startswith("__"):
                    made = f"{'torch.' * (library == 'torch')}nn.Buffer"
                    rewrite = Rewrite(names, what=f"the buffer {attribute} is stored")
                    text = ", ".join(map(names.module.code_for_node, given))
                    rewrite.instead[node] = f"{owner.value}.{attribute} = {made}({text})"
                    yield rewrite


def layers_as_functions(names: Names) -> Iterable[Rewrite]:
    for node in names.nodes:
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            rewrite = Rewrite(names, what="a linear layer is a function of another one's weights")
            if node.func.attr.value == "load_state_dict" and as_function(rewrite, node):
                yield rewrite


def parts_of(module: cst.BaseExpression, names: Names) -> dict[str, str] | None:
    """What the `__init__` of a module's class stores: attribute -> `module`, `parameter`, `buffer`, or `unsaved` of one
    that is in no state_dict; nothing of plain values. None where that is not plain to see."""
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
                if dotted_text(func).rpartition(".")[2] in ("register_buffer", "register_parameter", "add_module"):
                    return None
            case _:
                return None
    return found


def kind_of(call: cst.Call, names: Names) -> str | None:
    made, word = definition_of(call.func, names), dotted_text(call.func)
    if word.endswith("Parameter"):
        return "parameter"
    if word.endswith("Buffer"):
        return "buffer" if len(call.args) == 1 else "unsaved"
    of_torch = word.startswith(("nn.", "torch.nn.")) and word.rpartition(".")[2][:1].isupper()
    return "module" if of_torch or isinstance(made, cst.ClassDef) and class_of(call, names) is not None else None


def moves(value: cst.Call) -> tuple[cst.Call, list[cst.Call]]:
    """`Model()` of `Model().to("cuda").eval()`, and these calls in their order."""
    done: list[cst.Call] = []
    while isinstance(value.func, cst.Attribute) and value.func.attr.value in _MOVES | _MODES:
        if not isinstance(value.func.value, cst.Call):
            break
        done.insert(0, value)
        value = value.func.value
    return value, done


def done_to_parts(
    rewrite: Rewrite,
    made: cst.Call,
    done: Sequence[cst.Call],
    copies: Sequence[cst.Attribute],
    part_names: Mapping[str, str],
) -> bool:
    """What is done to the module as a whole is done to the variables that its parts have become. `copies`: where its
    state is asked for or loaded."""
    names, parts = rewrite.names, parts_of(made, rewrite.names)
    if parts is None or not set(parts) <= set(part_names):
        return False
    code, texts = names.module.code_for_node, []
    for call in done:
        assert isinstance(call.func, cst.Attribute)
        if not all(stable(arg.value, names) for arg in call.args):
            return False
        word = call.func.attr.value
        same = f"{word}({', '.join(code(arg.with_changes(comma=_NO_COMMA)) for arg in call.args)})"
        for part, kind in parts.items():
            name = part_names[part]
            if kind == "module":
                texts.append(f"{name}.{same}")
            elif word in _MOVES:
                held = f"{name}.data" if kind == "parameter" else name
                texts.append(f"{held} = {held}.{same}")
    line = names.own_line(root_of(made, names))
    assert line is not None
    rewrite.before[line] = [*rewrite.before.get(line, []), *texts]
    return all(copied_parts(rewrite, each, parts, part_names) for each in copies)


def copied_parts(
    rewrite: Rewrite, mention: cst.Attribute, parts: Mapping[str, str], part_names: Mapping[str, str]
) -> bool:
    """`a.load_state_dict(b.state_dict())` -> the same of each part, where `mention` is on one of its two sides."""
    names, root = rewrite.names, root_of(mention, rewrite.names)
    call = root.value if isinstance(root, cst.Expr) else None
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or names.own_line(root) is None:
        return False
    source = source_of(call)
    if call.func.attr.value != "load_state_dict" or source is None:
        return False
    other = source if mention is call.func else call.func.value
    if parts_of(other, names) != parts or not stable(other, names):
        return False
    rewrite.instead[root] = "\n".join(
        _COPY[kind].format(*(pair if mention is call.func else pair[::-1]))
        for part, kind in parts.items()
        if kind in _COPY
        for pair in [(part_names[part], f"{names.module.code_for_node(other)}.{part}")]
    )
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
    return names.own_line(root_of(made, names)) is not None

"""Expressions to something simpler that they already hold: an operand, an argument, the start of a chain, 0 or 1.

What is left of a program when whole statements can go no more are long expressions of which the fault needs one part.
A value is replaced by one of its own parts (so no new name appears, and types often fit), else by a plain constant,
which frees the definitions of all names in it. Masks and `other=` belong to the pass that guards them.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.language.languages import GUARDS
from shrinkray_gpu.passes.python.loops import is_step
from shrinkray_gpu.reduction.edit import Edit, Template
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.compilations import is_compilation, is_told
from shrinkray_gpu.source.edits import removal, replacement
from shrinkray_gpu.source.kernels import in_kernel
from shrinkray_gpu.source.literals import code, is_scalar, last_name
from shrinkray_gpu.source.masking import in_mask
from shrinkray_gpu.source.scoping import bindings, modules
from shrinkray_gpu.source.spelling import counts, is_of_language
from shrinkray_gpu.source.tree import (
    NO_VALUES,
    ancestors,
    docstrings,
    every,
    expression_depth,
    function,
    root,
    source,
    within,
)

_CLOSED = (*NO_VALUES, cst.FormattedStringExpression)
MOST = 6
"""Alternatives for one expression."""
LAST = 30
"""Single names and strings come after all that is larger: they only make a program shorter by characters."""
_AT_OFFSETS = ("load", "store", "gather", "scatter", "atomic", "async_copy", "prefetch", "advance")
_WHOLE = (cst.Arg, cst.Assign, cst.AnnAssign, cst.Return, cst.Element, cst.Index, cst.DictElement)
"""Where a lone name may become 0; as an operand it goes with its operator."""


def find(program: Program) -> Iterator[Edit]:
    definitions = (binding for binding in bindings(program) if not binding.is_data)
    own = {binding.name for binding in definitions}
    texts = {text.value for text in docstrings(program)}
    for node in every(program, cst.BaseExpression):  # type: ignore[type-abstract]
        if node in texts:
            continue
        level = LAST if isinstance(node, (cst.Name, cst.SimpleString)) else expression_depth(program, node)
        value = is_value(program, node)
        if value:
            for by in list(_simpler_values(program, node))[:MOST]:
                to = "to" if all(isinstance(part, str) for part in by) else "down to"
                text = "".join(part if isinstance(part, str) else code(part) for part in by)
                yield replacement(program, f"{type(node).__name__} {to} {text[:40]}", node, by, level)
        if value and isinstance(node, cst.List) and not in_kernel(program, node):
            yield from _fewer_elements(program, node, level)
        if isinstance(node, cst.Call) and not (isinstance(node.func, cst.Name) and node.func.value in own):
            if is_compilation(node):
                continue
            if value or getattr(program.parents[node], "func", None) is node:  # `compiled(source, options=...)(x)`
                yield from _fewer_arguments(program, node, level)


def _simpler_values(program: Program, node: cst.BaseExpression) -> Iterator[Template]:
    """What may stand in the place of the node, the simplest of its kind first."""
    constants = _constants(program, node)
    yield from constants[:1]
    yield from _parts(program, node)
    yield from constants[1:]


_ONLY_ZERO = (cst.Call, cst.Attribute, cst.Comparison, cst.Subscript)
"""In a kernel, where 0 does not do for one of these, 1 hardly ever does either: it is not worth a try."""
_ZERO_DIVIDES = (cst.Divide, cst.FloorDivide, cst.Modulo)


def _constants(program: Program, node: cst.BaseExpression) -> list[Template]:
    parent = program.parents[node]
    if (
        isinstance(parent, (cst.Expr, cst.Await, cst.Decorator))
        or is_scalar(node)
        and not isinstance(node, cst.SimpleString)
    ):
        return []
    if isinstance(parent, cst.Arg) and (parent.star or _names_device(program, parent)):
        return []
    if isinstance(node, (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)):
        return [] if code(node) in ('""', "''") else [('""',)]
    if isinstance(parent, cst.Assert) and parent.test is node:
        return []  # one that holds may go; of one that fails nothing is left, whatever is mended
    if isinstance(parent, (cst.If, cst.While, cst.IfExp)) and getattr(parent, "test", None) is node:
        return [("True",), ("False",)]
    if isinstance(node, (cst.List, cst.Tuple)) and not node.elements:
        return []
    if in_kernel(program, node) and (is_extent(program, node) or _is_settled(program, node)):
        return [("1",)] if not isinstance(node, cst.Name) else []
    if isinstance(node, cst.Name):  # a name and 0 are one token each; 1 would count as larger
        return [("0",)] if len(node.value) > 1 and isinstance(parent, _WHOLE) else []
    if is_step(program, node) or (
        isinstance(parent, cst.BinaryOperation) and parent.right is node and isinstance(parent.operator, _ZERO_DIVIDES)
    ):
        return [("1",)]
    if isinstance(node, cst.Lambda):
        return []
    if in_kernel(program, node):
        if isinstance(node, (cst.List, cst.Tuple)):
            return []  # a shape
        if isinstance(node, _ONLY_ZERO):  # 0.0 where the value is said to be a floating one
            return [("0",), ("0.0",)] if "float" in source(program, node) else [("0",)]
        return [("0",), ("1",)]
    if isinstance(parent, (cst.Element, cst.Index)):
        if in_grid(program, node):
            return [("1",)]
        return [("0",), ("1",), ("None",)]
    return [("0",), ("None",)]


def _parts(program: Program, node: cst.BaseExpression) -> Iterator[Template]:
    if isinstance(node, (cst.BinaryOperation, cst.BooleanOperation)):
        yield from ((node.left,), (node.right,))
    elif isinstance(node, cst.Comparison):
        yield from ((node.left,), *((target.comparator,) for target in node.comparisons))
    elif isinstance(node, (cst.UnaryOperation, cst.Await)):
        yield (node.expression,)
    elif isinstance(node, cst.IfExp):
        yield from ((node.body,), (node.orelse,))
    elif isinstance(node, cst.Subscript):
        yield (node.value,)
    elif isinstance(node, cst.Attribute):
        if root(node) not in modules(program):
            yield (node.value,)
    elif isinstance(node, cst.NamedExpr):
        yield (node.value,)
    elif isinstance(node, cst.Call):
        yield from _parts_of_call(program, node)
    elif isinstance(node, cst.DictComp):
        yield ("{}",)
    elif isinstance(node, cst.FormattedString):
        yield from ((part.expression,) for part in node.parts if isinstance(part, cst.FormattedStringExpression))
    elif isinstance(node, (cst.List, cst.Tuple, cst.Set)) and len(node.elements) == 1:
        if not isinstance(node.elements[0], cst.StarredElement):
            yield (node.elements[0].value,)


def _parts_of_call(program: Program, node: cst.Call) -> Iterator[Template]:
    """`x.float().sum(1)` to `x.float()`; `foo(a, b)` to `a`, `b`; `f(a)(b)` to `f(a)`."""
    if isinstance(node.func, cst.Attribute) and root(node.func) not in modules(program):
        if node.func.attr.value != "cuda" and not any(_names_device(program, arg) for arg in node.args):
            yield (node.func.value,)
    elif isinstance(node.func, cst.Call):
        yield (node.func,)
    for arg in node.args[:3]:
        named = arg.star == "**" or arg.keyword is not None and is_scalar(arg.value)
        if not named and _is_operand(program, arg):
            yield (arg.value,)
    if isinstance(node.func, cst.Lambda):
        yield (node.func.body,)


def _is_operand(program: Program, arg: cst.Arg) -> bool:
    """A shape or a type says how to compute, and stands for no result: `tl.zeros([1, 4], tl.float32)`."""
    value = arg.value
    if isinstance(value, cst.Lambda) or _names_device(program, arg):
        return False
    is_how = isinstance(value, (cst.List, cst.Tuple)) or is_of_language(program, value)
    return not (is_how and in_kernel(program, arg))


def _fewer_arguments(program: Program, call: cst.Call, level: int) -> Iterator[Edit]:
    """Calls of library functions, where most arguments may be left out: all at once, then each, the last first."""
    if isinstance(call.func, cst.Subscript):  # a launch: arguments go together with the parameters of its kernel
        for arg in call.args:
            if arg.star:
                yield removal(program, "launch without some arguments", arg, level=level)
        return
    optional = [arg for arg in call.args if not (_is_guard(program, arg) or _names_device(program, arg))]
    if in_kernel(program, call) and not counts(program, call.func):  # its first argument is its operand
        optional = [arg for arg in optional[1:] if arg.keyword is not None or arg is call.args[-1]]
    if len(optional) > 1:
        yield removal(program, "call without arguments", *optional, level=level)
    for arg in reversed(optional):
        yield removal(program, "call without an argument", arg, level=level + 1)


def _fewer_elements(program: Program, listed: cst.List, level: int) -> Iterator[Edit]:
    """A list of the host, as in `torch.tensor([...])`: its first element alone, then without each, the last first."""
    if len(listed.elements) < 2:
        return
    yield removal(program, "the first of a list", *listed.elements[1:], level=level)
    for element in reversed(listed.elements):
        yield removal(program, "without an element", element, level=level + 1)


def is_value(program: Program, node: cst.BaseExpression) -> bool:
    """Whether something else may stand here: no target, no callee, no annotation, import, keyword or attribute name,
    and nothing in a mask, which would let more through without the size order's seeing it."""
    parent = program.parents[node]
    if in_mask(program, node) or is_told(program, node):
        return False
    if isinstance(parent, (cst.Index, cst.Arg)) and _is_whole_grid(program, parent):
        return False  # see `launches`: with `kernel[0](x)` a compiler that is mended ends in a TypeError
    if node in modules(program) or isinstance(parent, (cst.ConcatenatedString, cst.FunctionDef, cst.ClassDef)):
        return False
    if isinstance(parent, cst.Attribute) and root(parent) in modules(program):
        return False
    if any(getattr(parent, role, None) is node for role in ("attr", "keyword", "name", "func")):
        return False
    below: cst.CSTNode = node
    for up in ancestors(program, node):
        if isinstance(up, _CLOSED) or getattr(up, "target", None) is below or getattr(up, "asname", None) is below:
            return False
        if isinstance(up, cst.Arg) and _is_guard(program, up):
            return False
        if isinstance(up, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
            return True
        below = up
    return True


def _is_guard(program: Program, arg: cst.Arg) -> bool:
    return arg.keyword is not None and arg.keyword.value in GUARDS or in_mask(program, arg.value)


def is_extent(program: Program, node: cst.CSTNode) -> bool:
    """Whether this is an element of a shape or of strides in a kernel: not of the offsets of a load or a store."""
    element = program.parents[node]
    outer = program.parents.get(program.parents.get(element, element))
    if not isinstance(element, cst.Element) or not isinstance(outer, cst.Arg) or not in_kernel(program, node):
        return False
    call = program.parents[outer]
    called = last_name(call.func) if isinstance(call, cst.Call) else ""
    named = outer.keyword.value if outer.keyword is not None else ""
    return named != "offsets" and not called.startswith(_AT_OFFSETS)


def _names_device(program: Program, arg: cst.Arg) -> bool:
    """Whether an argument of the host names the device: a tensor stays where the original had it. For a compiler's
    fault it would not matter, but a reader who runs the repro would stumble over a tensor in the wrong memory."""
    if in_kernel(program, arg):
        return False
    if arg.keyword is not None:
        return arg.keyword.value == "device"
    call = program.parents[arg]
    if not isinstance(call, cst.Call) or last_name(call.func) not in ("to", "device", "set_default_device"):
        return False
    value = arg.value
    return isinstance(value, (cst.SimpleString, cst.FormattedString)) or "dev" in last_name(value).lower()


def _is_settled(program: Program, node: cst.CSTNode) -> bool:
    """Whether the value is made of nothing but the kernel's `tl.constexpr` parameters: a size, a count or a switch."""
    names = within(program, node, cst.Name)
    kernel = function(program, node)
    if kernel is None or not names:
        return False
    settled = {
        param.name.value
        for param in within(program, kernel.params, cst.Param)
        if param.annotation is not None and last_name(param.annotation.annotation) == "constexpr"
    }
    return all(name.value in settled for name in names)


def in_grid(program: Program, node: cst.CSTNode) -> bool:
    """Whether the node is in the grid of a launch, `kernel[grid](...)`, or of `kernel.warmup(..., grid=grid)`."""
    return any(_is_grid(program, up) for up in ancestors(program, node))


def _is_grid(program: Program, node: cst.CSTNode) -> bool:
    above = program.parents.get(node)
    if isinstance(node, cst.SubscriptElement):
        call = program.parents.get(above) if above is not None else None
        return isinstance(call, cst.Call) and call.func is above
    named = isinstance(node, cst.Arg) and node.keyword is not None and node.keyword.value == "grid"
    return named and isinstance(above, cst.Call) and last_name(above.func) == "warmup"


def _is_whole_grid(program: Program, node: cst.Index | cst.Arg) -> bool:
    if isinstance(node, cst.Arg):
        return _is_grid(program, node)
    element = program.parents[node]
    subscript = program.parents[element]
    return isinstance(subscript, cst.Subscript) and len(subscript.slice) == 1 and _is_grid(program, element)

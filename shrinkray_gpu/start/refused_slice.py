"""A statement of a kernel that Triton's front end refuses because of what the host computes: a tile that is no power of
two, a type out of a table, the text of an instruction. Lifted, the kernel has that as a literal, and the computation,
where the mistake may be, is gone. So both stay: what the statement hangs on in the kernel, and what the host does to
make it. The same holds for the type of a tensor, where the host does not state it. A compiler that crashes is another
matter: there the kernel is what its maintainers want. It holds, too, for what the host leaves out and a switch of the
kernel counts on.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.fault import FRONT_END, Fault, broken_compile
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.start.argument_slice import (
    SIMPLE,
    function,
    launches_of,
    marked,
    passed,
    slice_of,
)
from shrinkray_gpu.start.behind_fault import behind_fault
from shrinkray_gpu.start.host_code import HostCode
from shrinkray_gpu.start.slicing import Slice, Slicer
from shrinkray_gpu.start.stated_types import StatedTypes
from shrinkray_gpu.start.statements import is_kernel, names

_PLACE = re.compile(r"\bat (\d+):(\d+):[ \t]*\n(?:def (\w+))?")
"""In the kernel, though the front end may be in a helper by then; of a long one the first lines are not quoted."""
_INLINE = "inline_asm_elementwise"
_MADE = (ast.AugAssign, ast.BinOp, ast.BoolOp, ast.IfExp, ast.JoinedStr, ast.Subscript)
_ARITHMETIC = frozenset({"cdiv", "round", "abs", "sum", "pow", "floor", "ceil", "sqrt", "get"})
"""Functions that compute a number of others, or look one up: `TABLE.get(key, otherwise)`."""
_CHOOSING = frozenset({"min", "max"})
_OF_TENSOR = frozenset({"stride", "size", "dim", "numel"})
"""Methods of a tensor that say what it is."""


class Refusal(NamedTuple):
    """Of a kernel, by the compiler."""

    kernel: str
    said: str
    fault: Fault


def refusal(run: Run) -> Refusal | None:
    """That which the run died of; None where nobody knows. Of a process of the program's own nobody sees compilations:
    there it is the kernel that was launched last, if the error is passed on."""
    compile, fault, failure = broken_compile(run), Fault.of(run), speech.uncaught(run)
    if fault is None or fault.phase != "compile":
        return None
    if compile is not None:
        return Refusal(compile.kernel, compile.failure.text, fault) if compile.failure is not None else None
    launches = run.captured["launches"] if run.captured else []
    if failure is None or not launches or not FRONT_END.search(fault.klass):
        return None
    return Refusal(launches[0]["kernel"], failure.text, fault)


def is_of_child(run: Run) -> bool:
    """Whether a process of the program's own compiled the kernel."""
    return refusal(run) is not None and broken_compile(run) is None


def with_refused_kept(text: str, run: Run, wanted: Collection[str]) -> str:
    """The program's text, with marks at what makes these arguments of the kernel and at the statement that the front
    end refuses; empty where there are none, or nobody knows."""
    refused = refusal(run)
    if not wanted or refused is None:
        return ""
    tree = ast.parse(text)
    host = slice_of(tree, refused.kernel, wanted).without(behind_fault(tree, run))
    again = _in_kernel(tree, refused)
    if again is None:
        return ""
    within = again[0]
    statements, heads = [*host.statements, *within.statements], [*host.heads, *within.heads]
    functions, parts = [*host.functions, *within.functions], {**host.parts, **within.parts}
    return marked(text, host._replace(statements=statements, heads=heads, functions=functions, parts=parts))


def made_constants(text: str, run: Run) -> list[str]:
    """The constants of the kernel that the refused statement hangs on; none where the host computes none of them."""
    return _made(text, run, gates=False)


def made_gates(text: str, run: Run) -> list[str]:
    """The constants of the kernel that the host computes, and that decide only whether the refused statement is
    compiled: `if WELFORD:` around it. With another value nothing is refused, which tells nothing of the statement."""
    return _made(text, run, gates=True)


def _made(text: str, run: Run, gates: bool) -> list[str]:
    refused, tree = refusal(run), ast.parse(text)
    found = _in_kernel(tree, refused) if refused is not None else None
    kernel = function(tree, refused.kernel) if refused is not None else None
    place = _refused(kernel, tree, refused.fault, refused.said) if refused is not None and kernel is not None else None
    if refused is None or found is None or kernel is None or place is None:
        return []
    around = _gates(kernel, place[0])
    wanted = [name for name in found[1] if (name in around) == gates]
    if gates:
        return [name for name in wanted if _is_decided(tree, refused.kernel, name)]
    given = {name: _passed(tree, refused.kernel, name) for name in wanted}
    unknown = [name for name in wanted if not (given[name] and all(map(_is_written, given[name])))]
    return wanted if computed(text, refused.kernel, unknown) else []


def _is_written(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant)


def _gates(kernel: ast.FunctionDef, refused: ast.stmt) -> set[str]:
    """The names that conditions around a statement of a kernel read, and that only conditions read."""
    conditions = [each.test for each in ast.walk(kernel) if isinstance(each, (ast.If, ast.IfExp))]
    asked = {node for test in conditions for node in ast.walk(test)}
    others = {node.id for node in ast.walk(kernel) if isinstance(node, ast.Name) and node not in asked}
    branches = (each for each in ast.walk(kernel) if isinstance(each, ast.If) and refused in ast.walk(each))
    return {name for each in branches for name in names(each.test)} - others


def not_stated(text: str, run: Run) -> list[str]:
    """The tensors of the kernel that the refused statement hangs on, and whose type the host states nowhere."""
    refused = refusal(run)
    if refused is None or not FRONT_END.search(refused.fault.klass):
        return []
    tree = ast.parse(text)
    found = _in_kernel(tree, refused)
    code = HostCode(tree)
    types, unknown = StatedTypes(tree, code), []
    simple = [each for each in code.scope if isinstance(each, SIMPLE)]
    statements = {each: list(launches_of(each, refused.kernel, code)) for each in simple}
    for name in found[2] if found is not None else ():
        values = [
            (value, code.scope[statement])
            for statement, calls in statements.items()
            for call in calls
            for value in passed(tree, call, refused.kernel, [name])
        ]
        if values and not all(types.tensor(value, scope) for value, scope in values):
            unknown.append(name)
    return unknown


def left_out(text: str, run: Run) -> list[str]:
    """The parameters that the refused operation takes and for which the host passes None, though its text does not say
    so; and the switches that lead to the operation all the same."""
    refused = refusal(run)
    if refused is None or not FRONT_END.search(refused.fault.klass):
        return []
    tree = ast.parse(text)
    found, kernel = _in_kernel(tree, refused), function(tree, refused.kernel)
    place = _refused(kernel, tree, refused.fault, refused.said) if kernel is not None else None
    if found is None or kernel is None or place is None:
        return []
    absent = {each["name"] for each in _last_arguments(run) if each["kind"] == "value" and each["text"] == "None"}
    wanted = [name for name in found[2] if name in absent]
    wanted = [name for name in wanted if not all(map(_is_written, _passed(tree, refused.kernel, name)))]
    around = _gates(kernel, place[0])
    return [*wanted, *(name for name in found[1] if name in around)] if wanted else []


def _last_arguments(run: Run) -> list[Any]:
    """Those of the launch that is refused: of those on record the likeliest comes first."""
    launches = run.captured["launches"] if run.captured else []
    return [*launches[0].get("arguments", [])] if launches else []


def passed_types(run: Run) -> dict[str, str]:
    """The element types of the tensors that the last launch got, by parameter."""
    given = _last_arguments(run)
    return {each["name"]: each["dtype"].removeprefix("torch.") for each in given if each["kind"] == "tensor"}


def computed(text: str, kernel: str, wanted: Collection[str], launched: bool = True) -> bool:
    """Whether the host computes any of these constants or options of a kernel. `launched`: see HostCode."""
    tree = ast.parse(text)
    values = [value for name in wanted for value in _passed(tree, kernel, name)]
    found = slice_of(tree, kernel, wanted, launched=launched)
    return bool(values) and any(is_computed(part) for part in (*found.statements, *values))


def _passed(tree: ast.Module, kernel: str, name: str) -> list[ast.expr]:
    """What the launches of a kernel pass for one of its parameters."""
    return [value for call in launches_of(tree, kernel, HostCode(tree)) for value in passed(tree, call, kernel, [name])]


def _is_decided(tree: ast.Module, kernel: str, name: str) -> bool:
    """Whether the host compares or computes something to choose a value. That a tensor was passed is no choice."""
    values = _passed(tree, kernel, name)
    nodes = [each for part in (*slice_of(tree, kernel, [name]).statements, *values) for each in ast.walk(part)]
    compared = [each for each in nodes if isinstance(each, ast.Compare)]
    return any(map(is_computed, values)) or any(not isinstance(each.ops[0], (ast.Is, ast.IsNot)) for each in compared)


def _refused(
    kernel: ast.FunctionDef, tree: ast.Module, fault: Fault, said: str
) -> tuple[ast.stmt, tuple[int, int]] | None:
    """The statement, and line and column of what is refused in it."""
    statements = [each for each in ast.walk(kernel) if isinstance(each, ast.stmt) and each is not kernel]
    if FRONT_END.search(fault.klass):
        place = next((found for found in _PLACE.finditer(said) if found[3] in (kernel.name, None)), None)
        line = kernel.lineno + int(place[1]) - 1 if place is not None else 0
        around = [each for each in statements if each.lineno <= line <= (each.end_lineno or 0)]
        inner = min(around, key=lambda each: (each.end_lineno or 0) - each.lineno, default=None)
        return (inner, (line, kernel.col_offset + int(place[2]))) if place is not None and inner is not None else None
    if "PTXAS" not in fault.klass:
        return None
    writing = {_INLINE}
    for each in [each for each in ast.walk(tree) if is_kernel(each)] * 3:  # a helper's helper
        if not writing.isdisjoint(names(each)):
            writing.add(each.name)
    simple = (each for each in statements if isinstance(each, (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)))
    return next(((each, (0, 0)) for each in simple if not writing.isdisjoint(names(each))), None)


def _in_kernel(tree: ast.Module, refusal: Refusal) -> tuple[Slice, list[str], list[str]] | None:
    """What the refused operation hangs on in a kernel and what that calls, with the operation itself; those of the
    kernel's parameters among it that are known when it is compiled; and the others. None where nobody knows."""
    whole, said = function(tree, refusal.kernel), refusal.said
    found = _refused(whole, tree, refusal.fault, said) if whole is not None else None
    if whole is None or found is None:
        return None
    refused, place = found
    kernel = _up_to(whole, refused)
    device = ast.Module([kernel if each is whole else each for each in ast.walk(tree) if is_kernel(each)], [])
    slicer = Slicer(HostCode(device, device=True))
    loop = isinstance(refused, (ast.For, ast.While, ast.If))
    asked = [refused] if not loop else list(_carried(refused, said))
    values = [each for statement in asked for each in ast.iter_child_nodes(statement) if isinstance(each, ast.expr)]
    operation = _operation(refused, place) if not loop else None
    sliced = slicer.behind(asked, values if operation is None else [operation])
    if operation is None:
        sliced = sliced._replace(statements=[*sliced.statements, *asked])
    else:
        sliced = sliced._replace(parts={**sliced.parts, refused: [operation]})
    needed, known = slicer.needed(kernel), constants(kernel)
    given = [name for name in needed if name in known]
    others = [name for name in needed if name not in known]
    return sliced, given, others


def _up_to(kernel: ast.FunctionDef, statement: ast.stmt) -> ast.FunctionDef:
    """The kernel up to the statement that is refused, and to the end of the loop around it: the front end sees no more
    of it. A loop it looks through twice."""
    last = next(at for at, each in enumerate(kernel.body) if statement in ast.walk(each))
    shorter = copy.copy(kernel)
    shorter.body = kernel.body[: last + 1]
    return shorter


def _operation(statement: ast.stmt, place: tuple[int, int]) -> ast.expr | None:
    """The largest expression that begins at this place within a statement; None where that may be all of it."""
    inside = [each for each in ast.walk(statement) if isinstance(each, ast.expr)]
    begin = [each for each in inside if (each.lineno, each.col_offset) == place]
    outer = max(begin, key=lambda each: (each.end_lineno or 0, each.end_col_offset or 0), default=None)
    return None if outer in [*ast.iter_child_nodes(statement)] else outer


def _carried(loop: ast.stmt, said: str) -> Iterator[ast.stmt]:
    """The assignments in a loop to what the message names."""
    words = set(re.findall(r"\w+", said.rpartition("^")[2]))
    for each in ast.walk(loop):
        if isinstance(each, (ast.Assign, ast.AugAssign)):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            if any(not words.isdisjoint(names(target)) for target in targets):
                yield each


def constants(kernel: ast.FunctionDef) -> list[str]:
    """The parameters of a kernel that are known when it is compiled."""
    every = (*kernel.args.args, *kernel.args.kwonlyargs)
    return [each.arg for each in every if each.annotation and "constexpr" in ast.unparse(each.annotation)]


def is_computed(node: ast.AST) -> bool:
    """Whether the host computes something there that may be wrong."""
    if _is_safe(node):
        return False
    called = next(names(node.func), "") if isinstance(node, ast.Call) else ""
    if isinstance(node, _MADE) or called in _ARITHMETIC:
        return True
    if isinstance(node, ast.Call) and called in _CHOOSING and not all(map(_is_power, node.args)):
        return True
    return any(map(is_computed, ast.iter_child_nodes(node)))


def _is_safe(node: ast.AST) -> bool:
    """Whether it is a number in the text, what a tensor says of itself, or the power of two that a tile may well be."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    if isinstance(node, ast.Call):
        return _is_power(node) or isinstance(node.func, ast.Attribute) and node.func.attr in _OF_TENSOR
    return isinstance(node, (ast.Name, ast.Constant))


def _is_power(node: ast.AST) -> bool:
    """As far as a reader of the text knows: of a number in it somebody thought."""
    return isinstance(node, ast.Constant) or isinstance(node, ast.Call) and "next_power_of_2" in names(node.func)

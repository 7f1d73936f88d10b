"""A statement of a kernel that Triton's front end refuses because of what the host computes: a tile that is no power of
two, a type out of a table, the text of an instruction. Lifted, the kernel has that as a literal, and the computation,
where the mistake may be, is gone. So both stay: what the statement hangs on in the kernel, and what the host does to
make it. A compiler that crashes is another matter: there the kernel is what its maintainers want.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shrinkray_gpu.oracle.fault import FRONT_END, Fault, broken_compile
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.start.argument_slice import arguments_named, function, launches_of, marked, passed, slice_of
from shrinkray_gpu.start.host_code import HostCode, is_kernel, names
from shrinkray_gpu.start.slicing import Slice, Slicer

_PLACE = re.compile(r"\bat (\d+):\d+:[ \t]*\n(?:def (\w+))?")
"""In the kernel, though the front end may be in a helper by then; of a long one the first lines are not quoted."""
_INLINE = "inline_asm_elementwise"
_MADE = (ast.AugAssign, ast.BinOp, ast.BoolOp, ast.IfExp, ast.JoinedStr, ast.Subscript)
_SAFE = frozenset({"next_power_of_2", "shape", "stride", "size"})
"""What a tile may well be made of, and what a tensor tells."""


def with_refused_kept(text: str, run: Run) -> str:
    """The program's text, with marks at what the host computes and the front end refuses; empty where it refuses
    something else, or nobody knows."""
    compile, fault = broken_compile(run), Fault.of(run)
    if compile is None or compile.failure is None or fault is None or fault.phase != "compile":
        return ""
    found = _in_kernel(ast.parse(text), compile.kernel, fault, compile.failure.text)
    if found is None or not found[1]:
        return ""
    _, wanted = found
    named = arguments_named(text, compile.kernel, wanted)
    tree = ast.parse(named)
    host = slice_of(tree, compile.kernel, wanted)
    launches = launches_of(tree, compile.kernel)
    values = [value for call in launches for value in passed(tree, call, compile.kernel, wanted)]
    again = _in_kernel(tree, compile.kernel, fault, compile.failure.text)
    if again is None or not any(_is_computed(part) for part in (*host.statements, *values)):
        return ""
    within, _ = again
    statements, heads = [*host.statements, *within.statements], [*host.heads, *within.heads]
    return marked(named, Slice(statements, heads, host.calls, [*host.functions, *within.functions]))


def _refused(kernel: ast.FunctionDef, tree: ast.Module, fault: Fault, said: str) -> ast.stmt | None:
    statements = [each for each in ast.walk(kernel) if isinstance(each, ast.stmt) and each is not kernel]
    if FRONT_END.search(fault.klass):
        line = next((int(found[1]) for found in _PLACE.finditer(said) if found[2] in (kernel.name, None)), 0)
        around = [each for each in statements if each.lineno <= kernel.lineno + line - 1 <= (each.end_lineno or 0)]
        return min(around, key=lambda each: (each.end_lineno or 0) - each.lineno, default=None) if line else None
    if "PTXAS" not in fault.klass:
        return None
    writing = {_INLINE}
    for each in [each for each in ast.walk(tree) if is_kernel(each)] * 3:  # a helper's helper
        if not writing.isdisjoint(names(each)):
            writing.add(each.name)
    simple = (each for each in statements if isinstance(each, (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)))
    return next((each for each in simple if not writing.isdisjoint(names(each))), None)


def _in_kernel(tree: ast.Module, name: str, fault: Fault, said: str) -> tuple[Slice, list[str]] | None:
    """What the refused statement hangs on in a kernel and what that calls, with the statement itself; and those of the
    kernel's parameters among it that are known when it is compiled. None where nobody knows."""
    kernel = function(tree, name)
    refused = _refused(kernel, tree, fault, said) if kernel is not None else None
    if kernel is None or refused is None:
        return None
    device = ast.Module([each for each in ast.walk(tree) if is_kernel(each)], [])
    slicer = Slicer(HostCode(device, device=True))
    loop = isinstance(refused, (ast.For, ast.While, ast.If))
    asked = [refused] if not loop else list(_carried(refused, said))
    values = [each for statement in asked for each in ast.iter_child_nodes(statement) if isinstance(each, ast.expr)]
    found = slicer.behind(asked, values)
    known = [each.arg for each in (*kernel.args.args, *kernel.args.kwonlyargs) if _is_constexpr(each)]
    wanted = [name for name in slicer.needed(kernel) if name in known]
    return found._replace(statements=[*found.statements, *asked]), wanted


def _carried(loop: ast.stmt, said: str) -> Iterator[ast.stmt]:
    """The assignments in a loop to what the message names."""
    words = set(re.findall(r"\w+", said.rpartition("^")[2]))
    for each in ast.walk(loop):
        if isinstance(each, (ast.Assign, ast.AugAssign)):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            if any(not words.isdisjoint(names(target)) for target in targets):
                yield each


def _is_constexpr(parameter: ast.arg) -> bool:
    return parameter.annotation is not None and "constexpr" in ast.unparse(parameter.annotation)


def _is_computed(node: ast.AST) -> bool:
    """Whether the host computes something there that may be wrong."""
    if isinstance(node, (ast.Name, ast.Constant)):
        return False
    return any(isinstance(each, _MADE) and _SAFE.isdisjoint(names(each)) for each in ast.walk(node))

"""Marks at what the host program does to make some arguments of a kernel: `# shrink: keep` on the statements that they
hang on, `# shrink: keep-head` on conditions and loops, `# shrink: keep-parts` on the launch that computes
one itself."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from shrinkray_gpu.reduction.keep import SEPARATOR
from shrinkray_gpu.runner.inside.knobs.knobs import OPTIONS
from shrinkray_gpu.start.held_functions import ATTRIBUTE, Scope
from shrinkray_gpu.start.host_code import HostCode
from shrinkray_gpu.start.slicing import Slice, Slicer, everything
from shrinkray_gpu.start.statements import by_name, is_kernel, names, parameters, within
from shrinkray_gpu.start.writing_part import writing_part

MARK, HEAD, PARTS = "  # shrink: keep", "  # shrink: keep-head", "  # shrink: keep-parts "
_COMMENT = re.compile(r"\s*#[^'\"]*$")
HELION = "_helion_"
"""What Helion puts before the name of a kernel that it generates code of."""
_MARKS = re.compile(rf"{MARK}(?:-head|-parts .*)?$", re.MULTILINE)
_OF_SOURCE = ("fn", "signature", "constexprs")
"""The parameters of `ASTSource`, in order."""
SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return)


def function(tree: ast.AST, name: str) -> ast.FunctionDef | None:
    return next((each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and each.name == name), None)


def with_helion_launches(tree: ast.Module, kernel: str) -> ast.Module:
    """The program, in which a call of a Helion kernel is a launch of what Helion generates from that: `bag(x)` becomes
    `_helion_bag[0](x)`. Each node keeps its place in the text. The same tree where it has no such kernel."""
    own = function(tree, kernel.removeprefix(HELION)) if kernel.startswith(HELION) else None
    if own is None or not any("helion" in ast.unparse(each) for each in own.decorator_list):
        return tree
    called, own.name = own.name, kernel
    own.decorator_list.append(ast.copy_location(ast.Name("jit"), own))
    for each in ast.walk(tree):
        if isinstance(each, ast.Call) and _is(each.func, called):
            launch = ast.Subscript(ast.Name(kernel), ast.Constant(0))
            each.func = ast.fix_missing_locations(ast.copy_location(launch, each.func))
    return tree


def slice_of(
    tree: ast.Module,
    kernel: str,
    wanted: Collection[str],
    *,
    shaped: Collection[str] = (),
    grid: bool = False,
    launched: bool = True,
    first: bool = False,
    chosen: Collection[ast.expr] = (),
) -> Slice:
    """What these arguments of a kernel hang on in all its launches, and what the grid does if asked; everything where
    no launch is seen, or not what it hangs on. `shaped`: the tensors among them whose content does not matter.
    `launched`: see HostCode. `first`, `chosen`: see Slicer.behind."""
    statements = (node for node in ast.walk(tree) if isinstance(node, SIMPLE))
    code = HostCode(tree, launched=launched)
    launches = {statement: call for statement in statements for call in launches_of(statement, kernel, code)}
    values = [value for call in launches.values() for value in passed(tree, call, kernel, wanted)]
    values += [call.func for call in launches.values() if grid or kernel not in names(call.func)]
    told = {value for call in launches.values() for value in passed(tree, call, kernel, set(wanted) - set(shaped))}
    of_shape = [value for call in launches.values() for value in passed(tree, call, kernel, shaped)]
    of_shape = [value for value in of_shape if value not in told]
    found = Slicer(code).behind(list(launches), values, shaped=of_shape, first=first, chosen=chosen)
    found = found if launches and not found.is_open else everything(code)
    return found._replace(parts=dict(_parts(tree, launches, kernel, wanted, code, grid=grid)))


def _parts(
    tree: ast.Module,
    launches: Iterable[ast.stmt],
    kernel: str,
    wanted: Collection[str],
    code: HostCode,
    *,
    grid: bool,
) -> Iterator[tuple[ast.stmt, list[ast.expr]]]:
    """Of each launch the arguments that it computes itself, and those that no assignment of one variable makes, which
    would stay. `grid`: and the grid."""
    made = [(scope, each.targets) for each, scope in code.scope.items() if isinstance(each, ast.Assign)]
    assigned = {
        code.resolved(each[0].id, scope) for scope, each in made if len(each) == 1 and isinstance(each[0], ast.Name)
    }
    for statement in launches:
        calls = list(launches_of(statement, kernel, code))
        given = [value for call in calls for value in passed(tree, call, kernel, wanted)]
        given += [call.func.slice for call in calls if grid and isinstance(call.func, ast.Subscript)]
        own = {name: code.resolved(name, code.scope[statement]) for each in given for name in names(each)}
        computed = [each for each in given if any(names(each)) and own.get(getattr(each, "id", "")) not in assigned]
        if computed:
            yield statement, computed


def with_kernels(tree: ast.Module, found: Slice, kernel: str, *, every: bool = False) -> Slice:
    """The slice of a kernel's arguments, and all of the kernels that it launches, or all there are, with what they
    call: it hangs on what these write. Of an open one, all launches are a part."""
    kernels = {each.name: each for each in ast.walk(tree) if is_kernel(each)}
    launched = kernels if found.is_open else [kernel] if found.feeds_itself else []
    launches = {each: None for name in launched for each in _launching(tree, name)}
    found = found._replace(statements=[*found.statements, *launches])
    whole = every or found.is_open
    wanted = dict.fromkeys(_named(found, kernels, every=every)) if whole else _wanted_of(tree, found, kernels)
    for part in [writing_part(tree, kernels[name], read) for name, read in wanted.items()]:
        found = found._replace(
            statements=list(dict.fromkeys([*found.statements, *part.statements])),
            heads=list(dict.fromkeys([*found.heads, *part.heads])),
            functions=list(dict.fromkeys([*found.functions, *part.functions])),
        )
    return found


def _named(found: Slice, kernels: Collection[str], *, every: bool) -> list[str]:
    return [*kernels] if every else [name for each in found.statements for name in names(each) if name in kernels]


def _wanted_of(
    tree: ast.Module, found: Slice, kernels: Mapping[str, ast.FunctionDef]
) -> dict[str, frozenset[str] | None]:
    """Of each kernel that a slice launches, the parameters through which it writes what the slice hangs on; None where
    nobody sees through which."""
    code = HostCode(tree)
    wanted: dict[str, frozenset[str] | None] = {}
    for statement in found.statements:
        calls = list(within(statement, ast.Call))
        for name in dict.fromkeys(each for each in names(statement) if each in kernels):
            launches = [each for each in calls if isinstance(each.func, ast.Subscript) and _is(each.func.value, name)]
            read: frozenset[str] | None = None
            if len(launches) == 1 and [*names(statement)].count(name) == 1 and not _unpacks(launches[0]):
                passed = by_name(launches[0], parameters(kernels[name]))
                scope = code.scope[statement]
                read = frozenset(own for own, value in passed if _reads(found, code, value, scope))
            before = wanted.get(name, frozenset())
            wanted[name] = None if read is None or before is None else before | read
    return wanted


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _unpacks(call: ast.Call) -> bool:
    return any(isinstance(each, ast.Starred) for each in call.args) or not all(each.arg for each in call.keywords)


def _reads(found: Slice, code: HostCode, value: ast.expr, scope: Scope) -> bool:
    """Whether a slice hangs on the content of anything in an expression."""
    named = [code.resolved(each.id, scope) for each in ast.walk(value) if isinstance(each, ast.Name)]
    fields = [(ATTRIBUTE, each.attr) for each in ast.walk(value) if isinstance(each, ast.Attribute)]
    return not found.contents.isdisjoint([*named, *fields])


def _launching(tree: ast.Module, kernel: str) -> Iterator[ast.Expr]:
    code = HostCode(tree)
    return (each for each in ast.walk(tree) if isinstance(each, ast.Expr) and any(launches_of(each, kernel, code)))


def launches_of(node: ast.AST, kernel: str, code: HostCode) -> Iterator[ast.Call]:
    """Where in a statement, or a program, the kernel is launched, by its name or by way of a variable; or compiled: by
    `kernel.warmup(...)`, or by what `triton.compile` gets."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            by_name = any(kernel in list(names(launched)) for launched in _launched(each))
            if by_name or kernel in code.launched_by_variable(each):
                yield each


def _launched(call: ast.Call) -> Iterator[ast.expr]:
    called = call.func
    if isinstance(called, ast.Subscript) or isinstance(called, ast.Attribute) and called.attr == "warmup":
        yield called.value
    elif _is_source(call):
        yield from (value for name, value in by_name(call, _OF_SOURCE) if name == "fn")


def _is_source(call: ast.Call) -> bool:
    return next(names(call.func), "").endswith("ASTSource")


def passed(tree: ast.Module, call: ast.Call, kernel: str, wanted: Collection[str]) -> Iterator[ast.expr]:
    """What a launch passes for these parameters, or may: of `*strides`, and of what follows, nobody knows which it
    fills."""
    if _is_source(call):
        for table in (value for name, value in by_name(call, _OF_SOURCE) if name == "constexprs"):
            pairs = list(zip(table.keys, table.values)) if isinstance(table, ast.Dict) else []
            told = {key.value: value for key, value in pairs if isinstance(key, ast.Constant)}
            yield from (told[name] for name in wanted if name in told) if len(told) == len(pairs) > 0 else (table,)
        return
    found = function(tree, kernel)
    taken = [*parameters(found), *OPTIONS] if found is not None else []
    if not isinstance(call.func, ast.Subscript) and kernel not in names(call.func):  # `partial` may have filled some
        yield from (value for value in (*call.args, *(each.value for each in call.keywords)) if wanted)
        return
    filled = [(name, value) for name, value in by_name(call, taken) if name in wanted]
    yield from (value for _, value in filled)
    if len(filled) < len(set(wanted)):
        behind = itertools.dropwhile(lambda each: not isinstance(each, ast.Starred), call.args)
        yield from (each.value if isinstance(each, ast.Starred) else each for each in behind)
        yield from (each.value for each in call.keywords if each.arg is None)


def marked(text: str, found: Slice, mark: str = MARK) -> str:
    """The text with these marks; `mark` is that of a statement."""
    lines = text.split("\n")
    for statement, values in found.parts.items():
        told = [" ".join((ast.get_source_segment(text, each) or "").split()) for each in values]
        whole = any(SEPARATOR in each for each in told)
        _mark(lines, statement, mark if whole else PARTS + SEPARATOR.join(told), statement.end_col_offset)
    for statement in found.statements:
        call, end = found.calls.get(statement), statement.end_col_offset
        if isinstance(statement, ast.Expr) and call is not None and statement.lineno == statement.end_lineno:
            # What is printed of a result need not be there: behind the launch that faults nothing runs.
            at, line = statement.lineno - 1, lines[statement.lineno - 1].encode()
            kept = line[: statement.col_offset] + line[call.col_offset : call.end_col_offset]
            lines[at] = (kept + line[statement.end_col_offset :]).decode()
            end = len(kept)
        if call is None or isinstance(statement, ast.Expr):
            _mark(lines, statement, mark, end)
        else:
            _mark(lines, statement, _of_call(text, statement, call), end)
    for head in found.heads:
        last = head.iter if isinstance(head, ast.For) else head.test
        _mark(lines, last, HEAD, last.end_col_offset)
    for each in found.functions:
        above = range(each.body[0].lineno - 2, each.lineno - 2, -1)
        code = {at: _COMMENT.sub("", lines[at]).rstrip() for at in above}
        end = next((at for at in above if code[at].endswith(":")), None)
        if end is not None:
            lines[end] = code[end] + HEAD
    return "\n".join(lines)


def _of_call(text: str, statement: ast.stmt, call: ast.Call) -> str:
    """The mark of a statement of which only this call is needed: what is done with the result may go."""
    told = " ".join((ast.get_source_segment(text, call) or "").split())
    only = getattr(statement, "value", None) is call
    return HEAD if only else MARK if not told or SEPARATOR in told else PARTS + told


def waiting(text: str, kernel: str) -> str:
    """The text, where the host waits for the device behind each launch of this kernel."""
    tree, lines = ast.parse(text), text.split("\n")
    imported = [alias for each in tree.body if isinstance(each, ast.Import) for alias in each.names]
    if not any(alias.name == "torch" and alias.asname is None for alias in imported):
        return text
    for statement in sorted(_launching(tree, kernel), key=lambda each: each.lineno, reverse=True):
        before = lines[statement.lineno - 1].encode()[: statement.col_offset].decode()
        last = (statement.end_lineno or statement.lineno) - 1
        rest = lines[last].encode()[statement.end_col_offset :].decode().strip()
        if not before.strip() and (not rest or rest.startswith("#")):
            lines.insert(last + 1, f"{before}torch.cuda.synchronize(){MARK}")
    return "\n".join(lines)


def without_marks(text: str) -> str:
    """The text for its reader, who did not ask for these marks."""
    return _MARKS.sub("", text)


def _mark(lines: list[str], node: ast.stmt | ast.expr, mark: str, end: int | None) -> None:
    """Sets a mark behind a statement that ends at this byte of its last line, or behind the colon that follows a head's
    last expression."""
    last = (node.end_lineno or node.lineno) - 1
    code = lines[last].encode()[:end].decode()
    rest = lines[last].removeprefix(code)
    if isinstance(node, ast.expr):
        closing = re.match(r"[\s)]*:", rest)
        if closing is None:
            return
        code, rest = code + closing[0], rest[closing.end() :]
    if not rest.strip() or rest.strip().startswith("#"):
        lines[last] = code + mark

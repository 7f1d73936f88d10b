"""Observed constants: host expressions that took exactly one simple value in a run become that value.

Command lines, configuration tables, dataclasses, shapes and environment variables need no pass of their own: whatever
the way to a value was, `args.tokens` was 132, and that is all the fault needs. The original is run once with its host
expressions watched; then the outermost ones are replaced first, and what they were made of is no longer used.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import libcst as cst

from shrinkray_gpu.reduction.edit import Edit, Remove, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render
from shrinkray_gpu.source.calls import all_parameters, functions
from shrinkray_gpu.source.edits import replacement
from shrinkray_gpu.source.kernels import in_kernel
from shrinkray_gpu.source.literals import is_literal
from shrinkray_gpu.source.pinning import pin_parameter, replace_reads
from shrinkray_gpu.source.scoping import Binding, bindings, variables_by_place
from shrinkray_gpu.source.tree import (
    NO_VALUES,
    ancestors,
    dotted_text,
    every,
    source,
    statement,
    statements,
    weight,
    within,
)

SAW = "__shrink_saw__"
LONGEST = 80
"""Characters of a value's text; what is longer is no constant that a person would write down."""

_DTYPE = re.compile(r"\btorch\.[a-z]+[0-9]*(?:_?[a-z0-9]+)*\b")
_ENVIRONMENT = frozenset(("os.environ", "sys.argv", "os.getenv", "os.environ.get"))
_NEVER = (cst.Lambda, cst.GeneratorExp, cst.Yield, cst.StarredElement, cst.FormattedString, cst.Ellipsis, cst.Await)
_CLOSED = (*NO_VALUES, cst.Parameters)


def watchable(program: Program) -> list[cst.BaseExpression]:
    """Host expressions whose value is worth knowing, in the order of the text, outer ones before inner ones."""
    known = bindings(program)
    never = {name for binding in known if binding.is_import or not binding.is_data for name in binding.reads}
    return [
        node
        for node in every(program, cst.BaseExpression)  # type: ignore[type-abstract]
        if node not in never and not isinstance(node, _NEVER) and not is_literal(node) and _is_read(program, node)
    ]


def instrument(program: Program, nodes: Sequence[cst.CSTNode]) -> Program:
    """The Program with `__shrink_saw__(i, ...)` around each node i; that function gives its second argument back."""
    return render(
        program,
        [Edit("watch", (Replace(node, (f"{SAW}({number}, ", node, ")")),)) for number, node in enumerate(nodes)],
    )


def _parsed(program: Program) -> set[str]:
    """Variables that hold the parsed command line."""
    lines = (line for line in every(program, cst.Assign) if _parses(program, line.value))
    targets = [each.target for line in lines for each in line.targets]
    return {target.value for target in targets if isinstance(target, cst.Name)}


def _parses(program: Program, node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Call) and source(program, node.func).endswith(".parse_args")


def _is_told(program: Program, node: cst.CSTNode, parsed: set[str]) -> bool:
    if isinstance(node, cst.Attribute):
        return source(program, node.value) in parsed or _parses(program, node.value)
    if isinstance(node, cst.Subscript):
        return source(program, node.value) in _ENVIRONMENT
    return isinstance(node, cst.Call) and source(program, node.func) in _ENVIRONMENT


def find_told(program: Program, values: Mapping[int, str]) -> Iterable[Edit]:
    """Only of what the program is told from outside, by its command line and its environment: what it computes for a
    kernel may be what is wrong."""
    parsed, nodes = _parsed(program), watchable(program)
    numbers = {number for number, node in enumerate(nodes) if _is_told(program, node, parsed)}
    return find(program, {number: text for number, text in values.items() if number in numbers})


def find(program: Program, values: Mapping[cst.CSTNode, str] | Mapping[int, str]) -> Iterable[Edit]:
    """Expressions and variables whose one value is known, replaced by it; the biggest first. Values belong to nodes,
    or to their numbers in `watchable(program)`, as a watched run tells them; higher numbers are expressions of kernels.

    A variable goes with its binding, a parameter with its arguments: a number in the place of a name alone makes the
    program no smaller.
    """
    nodes = watchable(program)
    usable = {
        nodes[key] if isinstance(key, int) else key: text
        for key, text in values.items()
        if (not isinstance(key, int) or key < len(nodes)) and _is_simple(program, text)
    }
    yield from _variables(program, usable)
    yield from _parameters(program, usable)
    for node in sorted(usable, key=lambda node: (program.spans[node][0], -program.spans[node][1])):
        text = usable[node]
        if source(program, node) != text:
            level = 1 + sum(up in usable for up in ancestors(program, node))
            yield replacement(program, f"{source(program, node)[:40]} was {text}", node, (text,), level)


def _variables(program: Program, values: Mapping[cst.CSTNode, str]) -> Iterator[Edit]:
    """All variables of an assignment (`rows, vocab = x.shape`) in all their reads, and the assignment removed."""
    by_line: dict[cst.CSTNode, list[Binding]] = {}
    for binding in bindings(program):
        line = statement(program, binding.places[0])
        if isinstance(line, (cst.Assign, cst.AnnAssign)) and len(binding.places) == 1 and not binding.declared:
            by_line.setdefault(line, []).append(binding)
    for line, group in by_line.items():
        targets = [target.target for target in line.targets] if isinstance(line, cst.Assign) else [line.target]  # type: ignore[attr-defined]
        names = [name for target in targets for name in within(program, target, cst.Name)]
        texts = [_one_value(values, binding) for binding in group]
        if len(names) != len(group) or None in texts or not any(binding.reads for binding in group):
            continue
        pairs = list(zip(group, texts, strict=True))
        changes = [replace_reads(program, binding.reads, (text or "",)) for binding, text in pairs]
        if None not in changes:
            flat = [change for some in changes if some is not None for change in some]
            what = ", ".join(f"{binding.name} = {text}" for binding, text in pairs if text)
            yield Edit(f"always {what}", (*flat, Remove(line)), weight=weight(program, line))


def _one_value(values: Mapping[cst.CSTNode, str], binding: Binding) -> str | None:
    """The value that all reads of the variable took; empty if nothing reads it."""
    seen = {values.get(read) for read in binding.reads}
    if not seen:
        return ""
    return next(iter(seen)) if len(seen) == 1 else None


def _parameters(program: Program, values: Mapping[cst.CSTNode, str]) -> Iterator[Edit]:
    for each in functions(program):
        for param in all_parameters(each.node):
            text = _one_value(values, variables_by_place(program)[param])
            changes = pin_parameter(program, each, param, (text,)) if text else None
            if changes is not None:
                what = f"parameter {param.name.value} of {each.node.name.value} was {text}"
                yield Edit(what, tuple(changes), weight=1 + 2 * len(each.calls))


def _is_read(program: Program, node: cst.BaseExpression) -> bool:
    """Whether Python evaluates the node for its value, at a place where a call may stand instead."""
    if isinstance(program.parents[node], (cst.Expr, cst.Await)):
        return False
    below: cst.CSTNode = node
    for up in ancestors(program, node):
        if isinstance(up, _CLOSED):
            return False
        if isinstance(up, (cst.Call, cst.Attribute)) and (
            getattr(up, "func", None) is below or getattr(up, "attr", None) is below
        ):
            if below is node:
                return False
        if getattr(up, "keyword", None) is below or getattr(up, "asname", None) is below:
            return False
        if isinstance(up, (cst.For, cst.CompFor, cst.AugAssign, cst.AnnAssign, cst.NamedExpr)) and up.target is below:
            return False
        if isinstance(up, (cst.FunctionDef, cst.ClassDef)) and below is not up.body:
            return False
        below = up
    return not in_kernel(program, node)


def _is_simple(program: Program, text: str) -> bool:
    """None, bool, int, float, short string, `torch.float32`, or a tuple or short list of these, as source text."""
    if len(text) > LONGEST:
        return False
    plain = _DTYPE.sub("0", text)
    if plain != text and not imports_torch(program):
        return False
    try:
        return isinstance(ast.literal_eval(plain), (type(None), bool, int, float, str, tuple, list))
    except (ValueError, SyntaxError):
        return False


def imports_torch(program: Program) -> bool:
    imported = [small for small in statements(program.module) if isinstance(small, cst.Import)]
    aliases = (alias for small in imported for alias in small.names if alias.asname is None)
    return any(dotted_text(alias.name).partition(".")[0] == "torch" for alias in aliases)

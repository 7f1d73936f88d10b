"""Long names to short ones that say as much: x, y, out, n, BLOCK, mask, kernel.

What is left of a program still carries the names of what it came from: `student_logits_ptr` in a kernel of four lines.
A reader of a repro wants the conventional names of the field, by role, and nothing shorter than that: a program full of
`a`, `b`, `c1` is small and unreadable. All uses are renamed, by scope, with keyword arguments at the calls and the
strings by which Triton knows parameters (`meta["BLOCK"]`, `key=["n"]`); a name that may be reached otherwise stays.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterator, Sequence

import libcst as cst
from libcst.metadata import Scope

from shrinkray_gpu.language.languages import USUAL
from shrinkray_gpu.reduction.edit import Change, Edit, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.calls import Function, functions, matches, takes_any_option
from shrinkray_gpu.source.kernels import in_kernel, is_kernel
from shrinkray_gpu.source.pinning import strings
from shrinkray_gpu.source.scoping import Binding, bindings, variables_by_read
from shrinkray_gpu.source.tree import every, in_class_body, statement, within

SHORT = 5
"""Names of this length or less say what they mean, and are short."""
_RESERVED = frozenset({*keyword.kwlist, *keyword.softkwlist, *dir(builtins), *USUAL, "torch", "triton", "np", "os"})

_BY_ROLE: Sequence[tuple[str, str, tuple[str, ...]]] = (
    # role, what the name looks like (a regular expression), the conventional names in order
    ("kernel", r".{7,}", ("kernel", "kernel2", "kernel3", "kernel4")),
    ("function", r".{9,}", ("f", "g", "h")),
    ("module", r".{9,}", ("Model", "Layer")),
    ("constexpr", r"(?i).*(block|tile).*m", ("BLOCK_M", "BLOCK")),
    ("constexpr", r"(?i).*(block|tile).*n", ("BLOCK_N", "BLOCK")),
    ("constexpr", r"(?i).*(block|tile).*k", ("BLOCK_K", "BLOCK")),
    ("constexpr", r"(?i).*(block|tile).*", ("BLOCK", "BLOCK_N", "BLOCK_M", "BLOCK_K")),
    ("constexpr", r"(?i).*stages.*", ("STAGES",)),
    ("constexpr", r"(?i).*warps.*", ("WARPS",)),
    ("constexpr", r"(?i)(n|num)_.*|.*_(size|count|len|length|dim)", ("N", "M", "K", "D")),
    ("variable", r"(?i).*desc(riptor)?.*", ("desc", "desc2", "desc3")),
    ("variable", r"(?i).*stride.*", ("stride", "stride2", "stride3", "stride4")),
    ("variable", r"(?i)out.*|.*_out(put)?(_.*)?|result.*|loss_.*|dst.*", ("out", "out2", "out3")),
    ("variable", r"(?i)grad.*", ("grad", "grad2", "grad3")),
    ("variable", r"(?i).*mask.*|in_range|valid.*", ("mask", "mask2", "mask3")),
    ("variable", r"(?i).*(offs|offset|index|indices|cols|columns).*", ("offs", "offs_n", "offs_m", "offs_k")),
    ("variable", r"(?i).*(pid|program).*", ("pid", "pid_n", "pid_m")),
    ("variable", r"(?i).*(accum|running|total).*", ("acc", "acc2", "acc3")),
    ("variable", r"(?i).*start.*", ("start", "begin")),
    ("variable", r"(?i)(n|num)_.*|.*_(size|count|len|length|dim)", ("n", "m", "k", "d")),
    ("variable", r"(?i).*weight.*", ("w", "w2", "w3")),
    ("variable", r".{8,}|.*_ptr", ("x", "y", "z")),
)


def find(program: Program) -> Iterator[Edit]:
    taken = _TakenNames(program)
    edits: list[Edit] = []
    for binding in sorted(bindings(program), key=_urgency, reverse=True):
        if len(binding.name) <= SHORT or not _is_renameable(program, binding):
            continue
        mentions = _mentions(program, binding)
        short = _short_name(program, binding, taken) if mentions is not None else None
        if mentions is not None and short is not None:
            taken.note(binding, short)
            changes: tuple[Change, ...] = tuple(Replace(node, (_name_text(node, short),)) for node in mentions)
            gain = (len(binding.name) - len(short)) * len(mentions)
            edits.append(Edit(f"rename {binding.name} to {short}", changes, 1, gain))
    if len(edits) > 1:
        together = tuple(change for edit in edits for change in edit.changes)
        yield Edit("rename everything", together, 0, sum(edit.weight for edit in edits))
    yield from edits


def _urgency(binding: Binding) -> int:
    return len(binding.name) * (len(binding.names) + len(binding.reads))


class _TakenNames:
    """Which names a variable may not get: all that its scope, those around it and those within it know already."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._seen: dict[Scope | None, set[str]] = {}
        for binding in bindings(program):
            self.note(binding, binding.name)
        for name in every(program, cst.Name):  # builtins, and whatever comes from `import *`
            if name not in variables_by_read(program):
                self._seen.setdefault(program.scopes.get(name), set()).add(name.value)

    def note(self, binding: Binding, name: str) -> None:
        for scope in self._scopes(binding):
            self._seen.setdefault(scope, set()).add(name)

    def has(self, binding: Binding, name: str) -> bool:
        return name in _RESERVED or any(name in self._seen.get(scope, ()) for scope in self._scopes(binding))

    def _scopes(self, binding: Binding) -> set[Scope]:
        """Where a variable lives, where it is used, and all scopes between."""
        found: set[Scope] = set()
        for node in (*binding.names, *binding.reads):
            scope = self._program.scopes.get(node) or binding.scope
            while scope is not None and scope not in found:
                found.add(scope)
                scope = scope.parent if scope is not binding.scope else None
        return found


def _is_renameable(program: Program, binding: Binding) -> bool:
    """Whether only this program's text decides about the name."""
    if binding.is_import or binding.declared or binding.name.startswith("__"):
        return False
    for place, name in zip(binding.places, binding.names, strict=True):
        parent = program.parents.get(name)
        if not isinstance(parent, (cst.FunctionDef, cst.ClassDef, cst.Param, cst.AssignTarget, cst.AugAssign, cst.For,
                                   cst.CompFor, cst.AsName, cst.Element, cst.AnnAssign)):  # fmt: skip
            return False
        if isinstance(parent, cst.AsName) and not isinstance(program.parents.get(parent), cst.WithItem):
            return False
        if isinstance(parent, cst.Param):
            if parent.name.value in ("self", "cls", "ctx") or parent.star:
                return False
        elif in_class_body(program, statement(program, place)):
            return False  # fields and methods are reached by attribute, from anywhere
    return True


def _mentions(program: Program, binding: Binding) -> list[cst.CSTNode] | None:
    """All nodes that say the name; None if something else might say it."""
    nodes: list[cst.CSTNode] = [*binding.names, *binding.reads]
    quoted = [string for string in strings(program).get(binding.name, ()) if not _is_printed(program, string)]
    param = binding.places[0]
    if not isinstance(param, cst.Param):
        return None if quoted else nodes
    parameters = program.parents[param]
    own = next((each for each in functions(program) if parameters is each.node.params), None)
    if own is None:  # nobody calls a lambda with keywords, save Triton for a grid, which has one positional parameter
        return nodes if isinstance(program.parents.get(parameters), cst.Lambda) and not quoted else None
    if not own.only_called:
        return None
    for call in own.calls:
        arguments = matches(call, own)
        if arguments is None or (takes_any_option(call) and param not in arguments):
            return None
        given = arguments.get(param)
        if given is not None and given.keyword is not None:
            nodes.append(given.keyword)
    allowed = _strings_for_triton(program, own) if own.is_kernel else []
    return None if set(quoted) - set(allowed) else [*nodes, *quoted]


def _is_printed(program: Program, string: cst.SimpleString) -> bool:
    """What is only printed is no name; what `getattr` or `globals()[...]` are given is."""
    parent = program.parents.get(string)
    call = program.parents.get(parent) if isinstance(parent, cst.Arg) else None
    return isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.func.value == "print"


def _strings_for_triton(program: Program, kernel: Function) -> list[cst.SimpleString]:
    """`key=["n"]` and `Config({"BLOCK": 64})` above the kernel, `meta["BLOCK"]` in its grids."""
    found = [s for decorator in kernel.node.decorators for s in within(program, decorator, cst.SimpleString)]
    for call in kernel.calls:
        if isinstance(call.func, cst.Subscript):
            for index in call.func.slice:
                found.extend(within(program, index, cst.SimpleString))
    return found


def _role(program: Program, binding: Binding) -> str:
    place = binding.places[0]
    if isinstance(place, cst.ClassDef):
        bases = {name.value for base in place.bases for name in within(program, base, cst.Name)}
        return "module" if "Module" in bases else "class"
    if isinstance(place, cst.FunctionDef):
        inner = any(in_kernel(program, read) for read in binding.reads)
        return "kernel" if is_kernel(program, place) and not inner else "function"
    if isinstance(place, cst.Param) and place.annotation is not None:
        if any(name.value == "constexpr" for name in within(program, place.annotation, cst.Name)):
            return "constexpr"
    return "variable"


def _short_name(program: Program, binding: Binding, taken: _TakenNames) -> str | None:
    """The first free conventional name of its role, if it is shorter."""
    role = _role(program, binding)
    if binding.name.isupper() and role == "variable":
        role = "constexpr"
    fitting = (names for of, pattern, names in _BY_ROLE if of == role and re.fullmatch(pattern, binding.name))
    shorter = (name for name in next(fitting, ()) if len(name) < len(binding.name))
    return next((name for name in shorter if not taken.has(binding, name)), None)


def _name_text(node: cst.CSTNode, short: str) -> str:
    if isinstance(node, cst.SimpleString):
        return f"{node.prefix}{node.quote}{short}{node.quote}"
    return short

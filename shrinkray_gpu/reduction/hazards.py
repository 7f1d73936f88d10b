"""Calls that delete, write or spawn, and everything their arguments hang on.

Shrinking these is a real accident: with `name = ...` deleted before it, `rmtree(join(root, name))` may well find
another `name`, or the empty string. A candidate may lose such a call whole; it may not change what the call works on,
nor the tests around it that decide whether it is reached. An early `return` before it is not looked at: the second line
of defence is the runner, which lets candidates write in their own folder only.

Assertions in kernels are the same case for another reason: `tl.static_assert(x.dtype == tl.float32, ...)` made
`static_assert(0 == tl.float32, ...)` fails in the same words, and of nothing that was wrong. They too go whole or stay.
So does the target of a compilation: for `GPUTarget("cuda", 0, 0)` many kernels fail as for the GPU that there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from shrinkray_gpu.reduction.program import Program

Node = cst.CSTNode

_ALL, _RECEIVER = "all", "receiver"

_OS = """
remove unlink rmdir removedirs rename renames replace mkdir makedirs mkfifo link symlink truncate chmod chown open
putenv system popen startfile kill killpg fork posix_spawn posix_spawnp execl execle execlp execv execve execvp execvpe
spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe
"""
_SHUTIL = "rmtree move copy copy2 copyfile copyfileobj copymode copystat copytree make_archive unpack_archive chown"
_SUBPROCESS = "run call Popen check_call check_output getoutput getstatusoutput"

_BY_OWNER: dict[str, dict[str, str | int]] = {
    "os": dict.fromkeys(_OS.split(), _ALL),
    "shutil": dict.fromkeys(_SHUTIL.split(), _ALL),
    "subprocess": dict.fromkeys(_SUBPROCESS.split(), _ALL),
    "torch": {"save": 1},
    "torch.jit": {"save": 1},
    "numpy": {"save": 0, "savez": 0, "savez_compressed": 0, "savetxt": 0},
    "joblib": {"dump": 1},
    "urllib.request": {"urlretrieve": _ALL},
}
"""Functions by module, with what of the call is dangerous to change: everything, or one argument (the path)."""

_METHODS: dict[str, str | int] = {
    **dict.fromkeys("unlink rmdir write_text write_bytes touch chmod".split(), _RECEIVER),
    **dict.fromkeys("rmtree mkdir makedirs rename symlink_to hardlink_to extractall Popen".split(), _ALL),
    **dict.fromkeys("save savefig tofile to_csv to_json to_parquet to_pickle export_chrome_trace".split(), 0),
}
"""Methods dangerous on whatever they are called (`Path.unlink`, `ZipFile.extractall`)."""

_ASSERTIONS = frozenset({"static_assert", "device_assert"})
"""Triton's, under whatever name its language module goes."""

_OPENERS = frozenset(
    {"open", "io.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open", "zipfile.ZipFile", "tarfile.open"}
)
_PATH_KEYWORDS = frozenset({"f", "file", "fname", "fid", "path", "path_or_buf"})


@dataclass(frozen=True, eq=False)
class Hazard:
    """A dangerous call, and the nodes that may not change as long as it is there."""

    call: cst.Call
    bound: frozenset[Node]
    reached: bool = True
    """Whether what decides if the call is reached may not change either."""
    root: cst.Call | None = None
    """Of a call that only hands on what it is given: the dangerous one, without which it is harmless."""


def hazards(program: Program) -> list[Hazard]:
    """Every dangerous call of the script."""
    calls = program.layout.nodes(cst.Call)
    asserted = [Hazard(call, frozenset({call.args[0].value})) for call in calls if _asserts(call)]
    asserted += [Hazard(call, frozenset({arg}), reached=False) for call in calls for arg in _targets(call)]
    modules = _imported(program)
    found = [(call, parts) for call in calls if (parts := _dangerous_parts(call, modules))]
    if not found:
        return asserted
    index = _Bindings(program, modules)
    out: list[Hazard] = []
    for call, parts in found:
        out += _with_callers(index, call, parts)
    return out + asserted


def _with_callers(index: _Bindings, root: cst.Call, parts: list[Node]) -> Iterator[Hazard]:
    """The dangerous call; a function that passes its parameter on to it is as dangerous."""
    seen: set[tuple[cst.Call, Node]] = set()
    todo = [(root, parts)]
    while todo:
        call, parts = todo.pop(0)
        hazard = Hazard(call, index.behind(call, parts), root=None if call is root else root)
        yield hazard
        for caller, arguments in index.callers(hazard):
            new = [argument for argument in arguments if (caller, argument) not in seen]
            seen.update((caller, argument) for argument in new)
            todo += [(caller, new)] if new else []


def _asserts(call: cst.Call) -> bool:
    return bool(call.args) and _dotted(call.func).rpartition(".")[2] in _ASSERTIONS


def _targets(call: cst.Call) -> Iterator[cst.Arg]:
    """The target that `triton.compile(source, target=GPUTarget("cuda", 90, 32))` names."""
    for arg in call.args if _dotted(call.func).rpartition(".")[2] == "compile" else ():
        made = arg.value
        if isinstance(made, cst.Call) and _dotted(made.func).rpartition(".")[2] == "GPUTarget":
            if all(isinstance(each.value, cst.Integer | cst.SimpleString) for each in made.args):
                yield arg


def _imported(program: Program) -> dict[str, str]:
    """Local names of modules and of what comes from them: `rm` -> `shutil.rmtree`, also after `rm = shutil.rmtree`."""
    names: dict[str, str] = {}
    for node in program.layout.nodes(cst.ImportFrom, cst.ImportAlias):
        if isinstance(node, cst.ImportFrom) and isinstance(node.names, cst.ImportStar):
            owner = _dotted(node.module)
            names.update({name: f"{owner}.{name}" for name in _BY_OWNER.get(owner, ())})
        if isinstance(node, cst.ImportAlias):
            statement = program.parents[node]
            path = _dotted(node.name)
            if isinstance(statement, cst.ImportFrom):
                path = f"{_dotted(statement.module)}.{path}" if statement.module is not None else path
            alias = node.asname.name if node.asname is not None else None
            if isinstance(alias, cst.Name):
                names[alias.value] = path
            else:
                first = _dotted(_root(node.name))
                names[first] = path if isinstance(statement, cst.ImportFrom) else first
    for node in program.layout.nodes(cst.Assign):
        if _is_dangerous(path := _full_name(node.value, names)):
            names.update({target.target.value: path for target in node.targets if isinstance(target.target, cst.Name)})
    return names


def _dotted(node: Node | None) -> str:
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return "?"


def _full_name(node: Node, modules: Mapping[str, str]) -> str:
    first, _, rest = _dotted(node).partition(".")
    return modules.get(first, first) + (f".{rest}" if rest else "")


def _is_dangerous(path: str) -> bool:
    owner, _, name = path.rpartition(".")
    return name in _BY_OWNER.get(owner, ())


def _dangerous_parts(call: cst.Call, modules: Mapping[str, str]) -> list[Node]:
    """The parts of a call that say what it works on; none if the call is harmless."""
    path = _full_name(call.func, modules)
    owner, _, name = path.rpartition(".")
    what: str | int | None = _BY_OWNER.get(owner, {}).get(name)
    receiver: list[Node] = [call.func.value] if isinstance(call.func, cst.Attribute) else []
    if what is None and isinstance(call.func, cst.Attribute):
        what = _METHODS.get(call.func.attr.value)
        if call.func.attr.value == "replace" and len(call.args) == 1:
            what = _ALL  # Path.replace; str.replace has two
    if what is None and _opens_for_writing(path, call):
        what = _ALL
    if what is None and any(_is_dangerous(_full_name(arg.value, modules)) for arg in call.args):
        return list(call.args)  # `atexit.register(shutil.rmtree, folder)`
    if what is None:
        return []
    if what == _RECEIVER:
        return receiver
    if isinstance(what, int):
        return [*call.args[what : what + 1], *(a for a in call.args if a.keyword and a.keyword.value in _PATH_KEYWORDS)]
    return [*receiver, *call.args]


def _opens_for_writing(path: str, call: cst.Call) -> bool:
    if path in _OPENERS:
        position = 1
    elif isinstance(call.func, cst.Attribute) and call.func.attr.value == "open":
        position = 0
    else:
        return False
    named = [arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == "mode"]
    placed = [arg.value for arg in call.args if arg.keyword is None]
    mode = named or placed[position : position + 1]
    if not mode:
        return any(arg.star for arg in call.args)
    if not isinstance(mode[0], cst.SimpleString):
        return True
    return bool(set("wax+") & set(mode[0].raw_value))


class _Bindings:
    """Who binds which name, where, and what that in turn hangs on."""

    def __init__(self, program: Program, modules: Mapping[str, str]) -> None:
        self._layout = program.layout
        self._modules = modules
        self._by_name: dict[str, list[tuple[Node | None, Node]]] = {}  # function (None: module) and binding node
        self._by_attribute: dict[str, list[Node]] = {}
        self._calls: dict[str, list[cst.Call]] = {}
        self._functions: dict[Node, cst.FunctionDef] = {}  # parameter -> its function
        for node in program.layout.outer:
            self._note(node)

    def behind(self, call: cst.Call, parts: Iterable[Node]) -> frozenset[Node]:
        """The parts themselves, what they are bound by, and so on; the conditions under which the call runs."""
        bound: set[Node] = set()
        todo: list[tuple[Node, Node]] = [(part, call) for part in parts]
        todo += [(condition, call) for condition in self._conditions(call)]
        bound.add(call.func)
        if isinstance(call.func, cst.Name):  # what the callee's name stands for
            for binding in self._binders(call.func.value, call):
                if isinstance(binding, cst.FunctionDef):
                    bound.add(binding.name)
                else:
                    todo.append((binding, binding))
        while todo:
            node, place = todo.pop()
            if node in bound:
                continue
            bound.add(node)
            if node is place:  # a binding: that it is made, or which of two, hangs on the tests around it
                todo += [(condition, node) for condition in self._conditions(node)]
            for used in self._below(node):
                if isinstance(used, cst.Name):
                    todo += [(binding, binding) for binding in self._binders(used.value, place)]
                elif isinstance(used, cst.Attribute):
                    todo += [(binding, binding) for binding in self._by_attribute.get(used.attr.value, ())]
        return frozenset(bound)

    def callers(self, hazard: Hazard) -> Iterator[tuple[cst.Call, list[Node]]]:
        """Calls of the functions whose parameters the hazard hangs on, with the arguments that go there."""
        for param in hazard.bound:
            function = self._functions.get(param)
            if function is not None and isinstance(param, cst.Param):
                for call in self._calls.get(function.name.value, ()):
                    if not self._is_builtin(call):
                        yield call, _arguments_for(param, function, call)

    def _is_builtin(self, call: cst.Call) -> bool:
        """Whether only methods have the plain name that is called: `next(numbers)` calls no `Source.next`."""
        name = call.func.value if isinstance(call.func, cst.Name) else ""
        return (
            bool(name)
            and not self._in_class_body(call)
            and all(self._in_class_body(binding) for _, binding in self._by_name.get(name, ()))
        )

    def _binders(self, name: str, place: Node) -> Iterator[Node]:
        around = {None, place, *self._layout.above(place)}
        for function, binding in self._by_name.get(name, ()):
            if function in around:
                yield binding

    def _conditions(self, node: Node) -> Iterator[Node]:
        """What decides whether a node is reached: tests around it, also those of arms before its own."""
        for up in self._layout.above(node):
            if isinstance(up, cst.If | cst.While | cst.IfExp) and node is not up.test:
                yield up.test
            elif isinstance(up, cst.BooleanOperation) and node is up.right:
                yield up.left
            elif isinstance(up, cst.Match):
                yield up.subject
            elif isinstance(up, cst.MatchCase):
                yield up.pattern
                if up.guard is not None:
                    yield up.guard
            elif isinstance(up, cst.For) and node is up.body:
                yield up.iter
                yield up.target
            node = up

    def _note(self, node: Node) -> None:
        match node:
            case cst.Assign():
                for target in node.targets:
                    self._bind(target.target, node)
            case cst.AnnAssign() | cst.AugAssign() | cst.NamedExpr():
                self._bind(node.target, node)
            case cst.For() | cst.CompFor():
                self._bind(node.target, node.target)
                self._bind(node.target, node.iter)
            case cst.WithItem() if node.asname is not None:
                self._bind(node.asname.name, node)
            case cst.ImportAlias():
                self._bind(node.asname.name if node.asname is not None else _root(node.name), node)
            case cst.FunctionDef():
                self._bind(node.name, node, self._function(node))
                for param in _parameters(node.params):
                    self._functions[param] = node
                    self._bind(param.name, param, node)
            case cst.Lambda():
                for param in _parameters(node.params):
                    self._bind(param.name, param, node)
            case cst.ClassDef():
                self._bind(node.name, node)
            case cst.NameItem():
                self._bind(node.name, node)
            case cst.Expr() if isinstance(node.value, cst.Call) and isinstance(node.value.func, cst.Attribute):
                if _dotted(_root(node.value.func)) not in self._modules:
                    self._bind(node.value.func.value, node)  # `parts.append(x)` may well change `parts`
            case cst.Call():
                self._calls.setdefault(_dotted(node.func).rpartition(".")[2], []).append(node)

    def _bind(self, target: Node, binding: Node, function: Node | None = None) -> None:
        if isinstance(target, cst.Tuple | cst.List):
            for element in target.elements:
                self._bind(element.value, binding, function)
            return
        function = function or self._function(binding)
        for inner in _chain(target):
            if isinstance(inner, cst.Name):
                self._by_name.setdefault(inner.value, []).append((function, binding))
                if self._in_class_body(binding):
                    self._by_attribute.setdefault(inner.value, []).append(binding)
            elif isinstance(inner, cst.Attribute):
                self._by_attribute.setdefault(inner.attr.value, []).append(binding)

    def _function(self, node: Node) -> Node | None:
        """The function in whose scope a binding is; None for the module."""
        return next((up for up in self._layout.above(node) if isinstance(up, cst.FunctionDef | cst.Lambda)), None)

    def _below(self, node: Node) -> Iterator[Node]:
        yield node
        for child in self._layout.children[node]:
            yield from self._below(child)

    def _in_class_body(self, node: Node) -> bool:
        around = (up for up in self._layout.above(node) if isinstance(up, cst.FunctionDef | cst.ClassDef))
        return isinstance(next(around, None), cst.ClassDef)


def _arguments_for(param: cst.Param, function: cst.FunctionDef, call: cst.Call) -> list[Node]:
    """What a call gives for a parameter; everything that it gives where that is not plain to see."""
    placed = [*function.params.posonly_params, *function.params.params]
    plain = not any(arg.star for arg in call.args) and isinstance(call.func, cst.Name)
    named: list[Node] = [arg for arg in call.args if arg.keyword is not None and arg.keyword.value == param.name.value]
    if not plain or isinstance(function.params.star_arg, cst.Param) and param not in placed:
        return list(call.args)
    if named or param not in placed:
        return named
    at = placed.index(param)
    return [arg for arg in call.args[at : at + 1] if arg.keyword is None]


def _parameters(params: cst.Parameters) -> list[cst.Param]:
    found = [*params.posonly_params, *params.params, *params.kwonly_params]
    found += [extra for extra in (params.star_arg, params.star_kwarg) if isinstance(extra, cst.Param)]
    return found


def _chain(node: Node) -> Iterator[Node]:
    """`a.b[c].d` and what it hangs on: `a.b`, `a`."""
    while True:
        yield node
        if not isinstance(node, cst.Attribute | cst.Subscript | cst.StarredElement):
            return
        node = node.value


def _root(node: Node) -> Node:
    return list(_chain(node))[-1]

"""A program's host code, as a slice needs it: what defines each name, which functions a call may run, what is around.

Nobody follows aliases: an attribute is one name wherever it is read, and a method is called wherever one of its name
is. So it tells rather too much than too little.
"""

from __future__ import annotations

import ast
import collections
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeGuard, TypeVar

from shrinkray_gpu.start.held_functions import ATTRIBUTE, HeldFunctions, Key, Scope
from shrinkray_gpu.start.never_called import never_called

_Node = TypeVar("_Node", bound=ast.AST)
CALLED = ("__call__", "forward")
"""What runs where an object is called."""
_BY_NAME = frozenset({*CALLED, "__init__", "__new__", "__post_init__", "__repr__", "__str__", "__format__", "__del__"})
"""Methods with a name of Python's that run where they, or their class, are named; or that only a reader needs."""
_ANYONES = frozenset(
    {*dir(list), *dir(dict), *dir(set), *dir(str), *dir(collections.deque)}
    | {"to", "cuda", "cpu", "t", "view", "reshape", "expand", "clone", "contiguous", "chunk", "split", "numel", "size"}
    | {"stride", "item", "tolist", "sum", "max", "min", "mean", "copy_", "fill_", "gather", "scatter_", "float", "half"}
)
"""Methods of containers and tensors that a class of the program may have, too."""
_NUMBERS = frozenset({"load", "arange", "program_id", "num_programs", "cdiv", "zeros"})
"""Functions of Triton's language whose results are no pointers."""
_OWN = frozenset({"range", "min", "max", "abs", "float", "int"})
"""Functions of Python that kernels call, and that write nothing."""
_PLACES = (ast.Attribute, ast.Tuple)
_HARMLESS = frozenset(
    {"print", "synchronize", "manual_seed", "backward", "assert_close", "assert_allclose", "assert_equal"}
    | {"debug", "info", "warning", "error", "exception", "critical", "log"}
)
"""Calls that change nothing that is passed to them."""


def names(node: ast.AST) -> Iterator[str]:
    """Names and attributes in an expression, that of the whole first."""
    for each in ast.walk(node):
        if isinstance(each, (ast.Name, ast.Attribute)):
            yield each.id if isinstance(each, ast.Name) else each.attr


def is_kernel(node: ast.AST) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(each) for each in node.decorator_list)


class HostCode:
    """The host code of a program: all of it that may run but the bodies of its kernels. `device`: these instead, where
    no call changes what is passed to it. `launched`: whether what kernels write may decide anything."""

    def __init__(self, tree: ast.Module, *, device: bool = False, launched: bool = True) -> None:
        self._device, self._launched = device, launched
        self.scope: dict[ast.stmt, Scope] = {}
        self.above: dict[ast.stmt, tuple[ast.stmt, ...]] = {}
        """The statements of the same function around each, the outermost first."""
        self.locals: dict[Scope, set[str]] = defaultdict(set)
        self.functions: dict[str, list[ast.FunctionDef]] = defaultdict(list)
        self.definitions: dict[Key, list[ast.stmt]] = defaultdict(list)
        """What gives a value to each name, or may change it: by a call that nobody takes the value of."""
        self.calls: list[tuple[ast.stmt, ast.Call]] = []
        self.statements: dict[Scope, list[ast.stmt]] = defaultdict(list)
        """Of each function its own, in order."""
        self._outer: dict[Scope, Scope] = {}
        self._class: dict[Scope, ast.ClassDef] = {}
        self._siblings: dict[ast.stmt, list[ast.AnnAssign]] = {}
        self.kernels: dict[str, ast.FunctionDef] = {}
        self._classes: dict[str, ast.ClassDef] = {}
        self._known: dict[ast.Call, list[ast.FunctionDef]] = {}
        self._indirect: set[ast.Call] = set()
        self._dead = never_called(tree)
        self._survey(tree.body, None, None, ())
        for statement, scope in self.scope.items():
            self._define(statement, targets(statement), scope)
        methods = (name for name in self.functions if name.startswith("__") and name.endswith("__"))
        self.special = [name for name in methods if name not in _BY_NAME]
        """What runs where none of its name is called: `__len__` for `len(x)` and `if x`, `__getitem__` for `x[i]`."""
        self._defined = {name for _, name in self.definitions}
        self._scope_of = {call: self.scope[statement] for statement, call in self.calls}
        self.held = HeldFunctions(self)
        for statement, scope in self.scope.items() if not device else ():
            if isinstance(statement, ast.Expr) and isinstance(call := statement.value, ast.Call):
                self._define(statement, list(self._changed(call, scope)), scope)
                for bound, there in list(self._bound_before(call, scope)):
                    self._define(statement, bound, there)

    def _survey(
        self, body: Iterable[ast.AST], scope: Scope, owner: ast.ClassDef | None, above: tuple[ast.stmt, ...]
    ) -> None:
        for node in body:
            if is_kernel(node) and not self._device:
                self.kernels[node.name] = node
                continue
            if node in self._dead:
                continue
            inside, inner_owner, inner_above = scope, None, above
            if isinstance(node, ast.stmt):
                self.scope[node], self.above[node] = scope, above
                self.statements[scope].append(node)
                inner_owner, inner_above = owner, (*above, node)
                self.locals[scope].update(name for target in targets(node) for name in _assigned(target))
                self.calls += [(node, call) for call in within(node, ast.Call)]
                if isinstance(node, ast.AnnAssign) and owner is not None and scope is None:
                    self._siblings[node] = [each for each in owner.body if isinstance(each, ast.AnnAssign)]
                if owner is not None:
                    for target in targets(node):
                        for name in _assigned(target):
                            self.definitions[ATTRIBUTE, name].append(node)
            if isinstance(node, ast.FunctionDef):
                self.functions[node.name].append(node)
                self._outer[node] = scope
                self.locals[node].update(parameters(node))
                if owner is not None:
                    self._class[node] = owner
                inside, inner_owner, inner_above = node, None, ()
            elif isinstance(node, ast.ClassDef):
                self._classes[node.name] = inner_owner = node
            self._survey(ast.iter_child_nodes(node), inside, inner_owner, inner_above)

    def fields_beside(self, statement: ast.stmt) -> Iterator[ast.stmt]:
        """The fields of an object that has to do with a statement: what the constructor of its class takes over
        (`self.width = width`), and of a field of a class the others."""
        owner = self._class.get(self.scope[statement])
        for each in self.functions["__init__"] if owner is not None else ():
            yield from filter(_takes_over, self.statements[each] if self._class.get(each) is owner else ())
        yield from self._siblings.get(statement, ())

    def _define(self, statement: ast.stmt, targets: Iterable[ast.expr], scope: Scope) -> None:
        for target in targets:
            for key in self.bound(target, scope):
                self.definitions[key].append(statement)

    def _changed(self, call: ast.Call, scope: Scope) -> Iterator[ast.expr]:
        """What a call may give another content: of a function of the program, what that changes of its arguments."""
        launched = next((self.kernels[each] for each in names(call.func) if each in self.kernels), None)
        if launched is not None:
            changed = _written(launched) if self._launched else ()
            for name, value in by_name(call, parameters(launched)):
                if name in changed:
                    yield value
            return
        if self.launches(call, scope) and not self._launched:
            return
        for function in self.callees(call):
            for name, value in self.filled(call, function):
                if (function, name) in self.definitions:
                    yield value
        unseen = not self.callees(call) or isinstance(call.func, ast.Subscript)
        if (unseen or is_anyones(call)) and _HARMLESS.isdisjoint(names(call.func)):
            yield from (*call.args, *(each.value for each in call.keywords))
            if isinstance(call.func, ast.Attribute):
                yield call.func.value

    def _bound_before(self, call: ast.Call, scope: Scope) -> Iterator[tuple[list[ast.expr], Scope]]:
        """What the function that a variable holds was given before: by `partial`, or as a lambda knows it."""
        if not self.is_by_variable(call, scope):
            return
        for key in self.bound(call.func, scope):
            for statement in self.definitions.get(key, ()):
                there = self.scope[statement]
                for each in within(statement, ast.Call):
                    given = [*each.args, *(named.value for named in each.keywords)]
                    if any(self.held.of(value, there) for value in given):
                        yield given, there
                for made in within(statement, ast.Lambda):
                    yield [each for each in ast.walk(made.body) if isinstance(each, ast.Name)], there

    def taken(self, function: ast.FunctionDef) -> list[str]:
        """The parameters that a call fills in order: of a method, those behind the object's."""
        static = any("static" in ast.unparse(each) for each in function.decorator_list)
        given = function.args
        taken = [each.arg for each in (*given.posonlyargs, *given.args)]
        more = [] if given.vararg else [each.arg for each in given.kwonlyargs]
        return [*taken[function in self._class and not static :], *more]

    def given(self, call: ast.Call, function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
        """The parameters of a function that a call fills; all, where something is unpacked."""
        taken = self.taken(function)
        unpacked = (
            self.is_indirect(call)
            or any(isinstance(each, ast.Starred) for each in call.args)
            or any(not each.arg for each in call.keywords)
        )
        yield from ((name, call) for name in parameters(function)) if unpacked else by_name(call, taken)
        if function.args.vararg and len(call.args) > len(taken):
            yield function.args.vararg.arg, call

    def is_filled(self, function: Scope | str, name: str) -> bool:
        """Whether a parameter has a value without a call that passes one: by its default, or as the object."""
        assert isinstance(function, ast.FunctionDef)
        own = parameters(function)[: len(parameters(function)) - len(self.taken(function))]
        extra = [each.arg for each in (function.args.vararg, function.args.kwarg) if each]
        return name in own[:1] * (function in self._class) or name in extra or name in with_default(function)

    def bound(self, target: ast.expr, scope: Scope) -> Iterator[Key]:
        """`name`, `object.name`, each of `a, b`; of `x[i]` that is x."""
        if isinstance(target, ast.Name):
            yield self.resolved(target.id, scope)
        elif isinstance(target, ast.Attribute):
            yield (ATTRIBUTE, target.attr)
        elif isinstance(target, (ast.Subscript, ast.Starred)):
            yield from self.bound(target.value, scope)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for each in target.elts:
                yield from self.bound(each, scope)

    def resolved(self, name: str, scope: Scope) -> Key:
        while scope is not None and name not in self.locals[scope]:
            scope = self._outer[scope]
        return (scope, name)

    def filled(self, call: ast.Call, function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
        """A call's arguments, each with the parameter of this function that it fills, or may: nobody knows what fills
        which where the function is called by way of a variable."""
        if not self.is_indirect(call):
            return by_name(call, self.taken(function))
        given = [*call.args, *(each.value for each in call.keywords)]
        return ((name, value) for name in parameters(function) for value in given)

    def is_indirect(self, call: ast.Call) -> bool:
        """Whether it calls functions of the program by way of a variable."""
        self.callees(call)
        return call in self._indirect

    def launches(self, call: ast.Call, scope: Scope) -> Collection[str]:
        """The kernels that a call may launch by way of a variable; none where it calls a host function so."""
        if not self.kernels.keys().isdisjoint(names(call.func)):
            return ()
        held = self.held.of(call.func, scope)
        return held if held and self.kernels.keys() >= set(held) else ()

    def launched_by_variable(self, call: ast.Call) -> Collection[str]:
        """The kernels that a call of the host may launch by way of a variable."""
        return self.launches(call, self._scope_of[call]) if call in self._scope_of else ()

    def is_by_variable(self, call: ast.Call, scope: Scope) -> bool:
        return self.is_indirect(call) or bool(self.launches(call, scope))

    def is_method(self, function: ast.FunctionDef) -> bool:
        return function in self._class

    def callees(self, call: ast.Call) -> list[ast.FunctionDef]:
        """The program's functions that a call may run."""
        if call not in self._known:
            self._known[call] = self._run_by(call)
        return self._known[call]

    def _run_by(self, call: ast.Call) -> list[ast.FunctionDef]:
        if made := self._made(call):
            made_by = [self._classes[name] for name in made]
            return [each for each in self.functions["__init__"] if self._class.get(each) in made_by]
        scope = self._scope_of.get(call)
        if not self.kernels.keys().isdisjoint(names(call.func)) or self.launches(call, scope):
            return []
        plain = isinstance(call.func, (ast.Name, ast.Attribute))
        name = next(names(call.func), "") if plain else ""
        if name in self.functions:
            return self.functions[name]
        held = [each for each in self.held.of(call.func, scope) if each in self.functions]
        if held:
            self._indirect.add(call)
            return [function for each in held for function in self.functions[each]]
        if plain and name not in self._defined:
            return []
        return [each for called in CALLED for each in self.functions[called]]

    def _made(self, call: ast.Call) -> list[str]:
        """Of which classes the call makes an object."""
        name = next(names(call.func), "") if isinstance(call.func, (ast.Name, ast.Attribute)) else ""
        return list(self._classes) if name in ("cls", "__init__") else [name] if name in self._classes else []

    def fields(self, call: ast.Call) -> list[list[str]]:
        """Those of the data classes and named tuples of which the call may make one, in order."""
        bodies = [self._classes[name].body for name in self._made(call)]
        typed = [[each.target for each in body if isinstance(each, ast.AnnAssign)] for body in bodies]
        return [[name for target in its for name in _assigned(target)] for its in typed if its]


def is_anyones(call: ast.Call) -> bool:
    """Whether it may call a method of a tensor or a container, whatever the program has of that name."""
    method = call.func if isinstance(call.func, ast.Attribute) else None
    own = method is not None and isinstance(method.value, ast.Name) and method.value.id in ("self", "cls")
    return method is not None and method.attr in _ANYONES and not own


def parameters(function: ast.FunctionDef) -> list[str]:
    """By position, then the others."""
    given = function.args
    every = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
    return [each.arg for each in every if each]


def with_default(function: ast.FunctionDef) -> list[str]:
    given = function.args
    places = (*given.posonlyargs, *given.args)
    named = [each.arg for each, value in zip(given.kwonlyargs, given.kw_defaults) if value is not None]
    return [*(each.arg for each in places[len(places) - len(given.defaults) :]), *named]


def by_name(call: ast.Call, parameters: Sequence[str]) -> Iterator[tuple[str, ast.expr]]:
    """A call's arguments, each with the parameter that it fills, as far as that is plain."""
    for name, value in zip(parameters, call.args):
        if isinstance(value, ast.Starred):
            break
        yield name, value
    for each in call.keywords:
        if each.arg is not None and each.arg in parameters:
            yield each.arg, each.value


def targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, (ast.Assign, ast.Delete)):
        return list(statement.targets)
    if isinstance(statement, (ast.AugAssign, ast.AnnAssign, ast.For)):
        return [statement.target]
    if isinstance(statement, ast.With):
        return [each.optional_vars for each in statement.items if each.optional_vars]
    return [each.target for each in within(statement, ast.NamedExpr)]


def _assigned(target: ast.expr) -> Iterator[str]:
    """The variables among what an assignment gives a value to."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from _assigned(each)
    elif isinstance(target, ast.Starred):
        yield from _assigned(target.value)
    elif isinstance(target, ast.Name):
        yield target.id


def within(statement: ast.stmt, kind: type[_Node] | tuple[type[_Node], ...]) -> Iterator[_Node]:
    """What a statement's own expressions hold of a kind."""
    return (each for part in own_parts(statement) for each in ast.walk(part) if isinstance(each, kind))


def own_parts(statement: ast.stmt) -> Iterator[ast.expr]:
    """A statement's expressions, without those of the statements in it."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return
    for each in ast.iter_child_nodes(statement):
        if isinstance(each, ast.withitem):
            yield each.context_expr
        elif isinstance(each, ast.expr) and not (isinstance(statement, ast.AnnAssign) and each is statement.annotation):
            yield each


def _written(kernel: ast.FunctionDef) -> set[str]:
    """The parameters through which a kernel may write: those that an address comes from, or that a call gets."""
    found: set[str] = set()
    calls = [each for each in ast.walk(kernel) if isinstance(each, ast.Call)]
    for call in calls:
        name = next(names(call.func), "")
        if "store" in name or "atomic" in name:
            found.update(_outside_loads(call if isinstance(call.func, ast.Name) or not call.args else call.args[0]))
            found.update(names(call.func))
        elif isinstance(call.func, ast.Name) and name not in _OWN:
            found.update(name for each in call.args for name in names(each))
    for _ in range(len(kernel.body)):
        more = {
            name
            for each in ast.walk(kernel)
            if isinstance(each, (ast.Assign, ast.AugAssign))
            and any(not found.isdisjoint(_assigned(target)) for target in targets(each))
            for name in _outside_loads(each.value)
        }
        if more <= found:
            break
        found |= more
    return found & set(parameters(kernel))


def _outside_loads(node: ast.AST) -> Iterator[str]:
    """Names in an expression of a kernel that may be pointers: not what `tl.load` reads, a factor, or an index."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _NUMBERS:
        return
    if isinstance(node, ast.BinOp) and not isinstance(node.op, (ast.Add, ast.Sub)):
        return
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, (ast.Name, ast.Attribute)):
        yield node.id if isinstance(node, ast.Name) else node.attr
    for each in ast.iter_child_nodes(node):
        yield from _outside_loads(each)


def _takes_over(statement: ast.stmt) -> bool:
    """Whether attributes become names: parameters, most of the time."""
    if not isinstance(statement, ast.Assign) or not all(isinstance(each, _PLACES) for each in statement.targets):
        return False
    value = statement.value
    return all(isinstance(part, ast.Name) for part in (value.elts if isinstance(value, ast.Tuple) else [value]))

"""A backward slice of a program's host code: the statements that a value hangs on, found without running it.

After M. Weiser, Program slicing, 1981, across functions, as far as `host_code` knows the program.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from shrinkray_gpu.start.held_functions import ATTRIBUTE, Key, Scope
from shrinkray_gpu.start.host_code import CALLED, HostCode, is_anyones
from shrinkray_gpu.start.statements import by_name, names, own_parts, parameters, targets, with_default, within

_Head: TypeAlias = ast.If | ast.For | ast.While
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Delete)
_LISTS = (ast.Tuple, ast.List)
MAY_RUN = (ast.Call, ast.Subscript, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.comprehension)
"""Expressions that may run a method of the program's without its name."""
_OF_SHAPE = frozenset(
    {"shape", "device", "dtype", "ndim", "layout", "stride", "size", "numel", "dim", "element_size", "itemsize"}
    | {"new_empty", "new_zeros", "new_ones", "new_full", "empty_like", "zeros_like", "ones_like", "full_like"}
    | {"rand_like", "randn_like", "is_contiguous", "storage_offset", "nbytes"}
)
"""What says of a tensor how it lies in memory, whatever is in it, or makes another that lies so."""
_VIEWS = frozenset({"view", "reshape", "t", "transpose", "permute", "contiguous", "detach", "clone", "to", "flatten"})
_LEAVES = (ast.Return, ast.Break, ast.Continue)
HEADS = (ast.If, ast.For, ast.While)


class Slice(NamedTuple):
    """What must stay of a program."""

    statements: list[ast.stmt]
    heads: list[_Head]
    """Of these the condition stays, or what the loop runs over."""
    calls: dict[ast.stmt, ast.Call]
    """The statements of which only a call is needed."""
    functions: list[ast.FunctionDef]
    """Those whose head says more than a name of a parameter that is needed: a default, or that it is a constant."""
    feeds_itself: bool = False
    """Whether it hangs on what a launch of the same kernel writes, as one before or in a loop."""
    is_open: bool = False
    """Whether something is called, or passed, by a way that nobody sees: out of a table, by a decorator."""
    parts: Mapping[ast.stmt, Sequence[ast.expr]] = MappingProxyType({})
    """Of statements that need not stay as they are, expressions that must."""
    contents: frozenset[Key] = frozenset()
    """The names whose values it hangs on, and not only on their shapes."""

    def without(self, parts: Collection[ast.AST]) -> Slice:
        """What of it is none of these."""
        return self._replace(
            statements=[each for each in self.statements if each not in parts],
            heads=[each for each in self.heads if each not in parts],
            functions=[each for each in self.functions if each not in parts],
            parts={each: values for each, values in self.parts.items() if each not in parts},
        )


class Slicer:
    """Finds what some values hang on, once: it remembers what was needed."""

    def __init__(self, code: HostCode) -> None:
        self._code = code
        self._kept: dict[ast.stmt, None] = {}
        self._heads: dict[_Head, None] = {}
        self._called: dict[ast.stmt, ast.Call] = {}
        self._whole: set[ast.stmt] = set()
        """Of those kept, whose every expression is needed: of others, one call is."""
        self._for_shape: set[ast.stmt] = set()
        """Of those kept, which assign a tensor whose shape is needed."""
        self._needed: set[Key] = set()
        self._shaped: set[Key] = set()
        """Tensors of which the shape is needed, and what a kernel writes into them is not."""
        self._results: set[str] = set()
        self._todo: list[Key | str] = []
        """What is needed and was not looked for yet: names, and functions of whose results one is."""
        self._reached: dict[Scope, bool] = {}
        """Of each function, whether each of its calls must stay in its loops."""
        self._launches: frozenset[ast.stmt] = frozenset()
        self._feeds_itself = False
        self._passed_on: list[ast.FunctionDef] = []
        """Functions that something else calls."""
        self._waiting: dict[Key, list[tuple[ast.expr, Scope]]] = defaultdict(list)

    def behind(
        self,
        launches: Sequence[ast.stmt],
        values: Collection[ast.expr],
        *,
        shaped: Collection[ast.expr] = (),
        first: bool = False,
        chosen: Collection[ast.expr] = (),
    ) -> Slice:
        """What the values hang on that these statements pass; the statements themselves are left out. `shaped`: those
        of them that are tensors whose content does not matter. `first`: when a launch is first reached. Then the loop
        next around it has not gone round, whatever it runs over. One around that may have, if this one had nothing to
        run over. `chosen`: values of the module beside these, as the decorators of a kernel have them; what calls the
        functions among them passes what it likes."""
        self._launches = frozenset(launches)
        self._whole.update(launches)  # what else they pass may change
        for statement in launches:
            self._reach(statement, loops=not (first and len(launches) == 1))
            for node in ast.walk(statement):
                if node in shaped:
                    self._use_shape(node, self._code.scope[statement])
                elif node in values:
                    self._use(node, self._code.scope[statement])
        for value in chosen:
            self._use(value, None)
        self._passed_on = [each for value in chosen for name in names(value) for each in self._code.functions[name]]
        while self._todo:
            need = self._todo.pop(0)
            if isinstance(need, str):
                self._keep_results(need)
            else:
                self._keep_definitions(need)
        # A fix may take any field of an object that has to do with it.
        for each in [*self._kept]:
            self._kept.update(dict.fromkeys(self._code.fields_beside(each)))
        whole = self._whole | self._for_shape
        calls = {each: call for each, call in self._called.items() if each not in whole}
        kept = [each for each in self._kept if each not in launches]
        needed = self._needed | self._shaped
        functions = [key[0] for key in needed if isinstance(key[0], ast.FunctionDef) and is_told(key[0], key[1])]
        called = list(dict.fromkeys(functions))
        found = Slice(kept, list(self._heads), calls, called, self._feeds_itself, self._is_open())
        return found._replace(contents=frozenset(self._needed))

    def _is_open(self) -> bool:
        callees = [(function, call) for _, call in self._code.calls for function in self._code.callees(call)]
        unseen = self._reached.keys() - {function for function, _ in callees}
        if unseen or any(map(self._is_wrapped, self._reached)):
            return True
        given = {(function, name) for function, call in callees for name, _ in self._code.given(call, function)}
        given |= {(function, name) for function in self._passed_on for name in parameters(function)}
        needed = {
            key
            for key in self._needed | self._shaped
            if isinstance(key[0], ast.FunctionDef) and key[1] in parameters(key[0])
        }
        return any(key not in given and not self._code.is_filled(*key) for key in needed)

    def _is_wrapped(self, function: Scope) -> bool:
        """Whether a function of the program decorates it, which may pass what it likes."""
        decorators = function.decorator_list if function is not None else []
        return any(not self._code.functions.keys().isdisjoint(names(each)) for each in decorators)

    def needed(self, function: ast.FunctionDef) -> list[str]:
        """The parameters of a function that this hangs on."""
        return [name for name in parameters(function) if (function, name) in self._needed | self._shaped]

    def _keep(self, statement: ast.stmt, *, shape: bool = False) -> None:
        """`shape`: of what it assigns, only the shape is needed."""
        self._feeds_itself |= statement in self._launches
        if statement in self._whole or shape and statement in self._for_shape:
            return
        shape = shape and isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        (self._for_shape if shape else self._whole).add(statement)
        self._kept[statement] = None
        if shape:
            assert isinstance(statement, ast.Assign)
            self._use_shape(statement.value, self._code.scope[statement])
        elif isinstance(statement, ast.Expr) and isinstance(call := statement.value, ast.Call):
            self._run(call, self._code.scope[statement])
        else:
            for part in own_parts(statement):
                self._use(part, self._code.scope[statement])
        if self._has_effect(statement):
            self._reach(statement)
        else:
            self._enter(statement)

    def _enter(self, statement: ast.stmt, *, but: ast.stmt | None = None) -> None:
        """Whatever decides whether the statement is reached, within its function; one loop may be left out."""
        scope, above = self._code.scope[statement], self._code.above[statement]
        for each in above:
            if each is not but:
                self._head(each)
        leaves = (each for each in self._code.statements[scope] if isinstance(each, _LEAVES))
        for leave in [each for each in leaves if each.lineno < statement.lineno]:
            around = [each for each in self._code.above[leave] if isinstance(each, (ast.For, ast.While))]
            ends = isinstance(leave, (ast.Break, ast.Continue)) and around[-1] in above
            if ends or isinstance(leave, ast.Return):
                self._keep(leave)

    def _head(self, statement: ast.stmt) -> None:
        if isinstance(statement, HEADS) and statement not in self._heads and not _is_main(statement):
            self._heads[statement] = None
            self._need_special()
            for part in own_parts(statement):
                self._use(part, self._code.scope[statement])
            self._enter(statement)

    def _reach(self, statement: ast.stmt, *, loops: bool = True) -> None:
        """The statement is reached: so is each call of its function. `loops`: in each loop around it."""
        scope, around = self._code.scope[statement], self._code.above[statement]
        turning = [each for each in around if isinstance(each, (ast.For, ast.While))]
        self._enter(statement, but=turning[-1] if turning and not loops else None)
        loops = loops or bool(turning)
        if scope is None or self._reached.get(scope) in (True, loops):
            return
        self._reached[scope] = loops
        for caller, call in self._code.calls:
            if scope in self._code.callees(call):
                if isinstance(caller, HEADS):
                    self._head(caller)
                else:
                    self._kept[caller] = None
                    self._called.setdefault(caller, call)
                    self._run(call, self._code.scope[caller])
                    self._reach(caller, loops=loops)

    def _has_effect(self, statement: ast.stmt) -> bool:
        """Whether it may change anything that outlives its function."""
        scope = self._code.scope[statement]
        if scope is None:
            return False
        parts = [part for each in targets(statement) for part in (each.elts if isinstance(each, _LISTS) else [each])]
        roots = [each for each in parts if not isinstance(each, ast.Name)]
        if isinstance(statement, ast.Expr) and isinstance(call := statement.value, ast.Call):
            roots = [call.func, *call.args]
        passed = parameters(scope)
        for root in roots:
            while isinstance(root, (ast.Attribute, ast.Subscript, ast.Starred)):
                root = root.value
            if isinstance(root, ast.Name) and (root.id in passed or root.id not in self._code.locals[scope]):
                return True
        return False

    def _run(self, call: ast.Call, scope: Scope) -> None:
        """What a call does is needed, not what it returns."""
        if isinstance(call.func, ast.Subscript) or self._code.is_by_variable(call, scope):
            self._use(call.func, scope)  # of a launch the grid, and which kernel it is, decide what is done
        elif not isinstance(call.func, ast.Name):
            self._use(getattr(call.func, "value", call.func), scope)
        self._pass(call, scope)
        for function in self._code.callees(call):
            for name, value in self._code.filled(call, function):
                bound = set(self._code.bound(value, scope))
                if not bound.isdisjoint(self._needed):
                    self._need((function, name))
                elif not bound.isdisjoint(self._shaped):
                    self._need_shape((function, name))
            for name in parameters(function) if self._code.is_indirect(call) else ():
                if (function, name) in self._code.definitions:  # `partial` may have given it what is needed
                    self._need((function, name))

    def _use(self, node: ast.AST, scope: Scope) -> None:
        """The value of an expression is needed."""
        if isinstance(node, MAY_RUN):
            self._need_special()
        if isinstance(node, ast.Call):
            self._use(node.func, scope)
            self._pass(node, scope)
            for function in self._code.callees(node):
                if function.name in CALLED:
                    self._need_result(function.name)
            return
        if isinstance(getattr(node, "ctx", None), ast.Store):
            pass
        elif isinstance(node, ast.Name):
            self._need(self._code.resolved(node.id, scope))
            self._need_result(node.id)
        elif isinstance(node, ast.Attribute):
            self._need((ATTRIBUTE, node.attr))
            self._need_result(node.attr)
            if node.attr in _OF_SHAPE:
                self._use_shape(node.value, scope)
                return
        for each in ast.iter_child_nodes(node):
            self._use(each, scope)

    def _use_shape(self, node: ast.AST, scope: Scope) -> None:
        """Of the tensor that an expression is, the shape is needed, and where it lies."""
        if isinstance(node, ast.Name):
            self._need_shape(self._code.resolved(node.id, scope))
            self._need_result(node.id)
        elif isinstance(node, ast.Attribute) and node.attr not in self._code.functions:
            self._need_shape((ATTRIBUTE, node.attr))
            self._use_shape(node.value, scope)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS:
            self._need_result(node.func.attr)
            self._use_shape(node.func.value, scope)
            self._pass(node, scope)
        else:
            self._use(node, scope)

    def _pass(self, call: ast.Call, scope: Scope) -> None:
        """Of the arguments, those that functions of the program need; of any other function all."""
        code = self._code
        keys: dict[ast.expr, list[Key]] = defaultdict(list)
        for function in code.callees(call):
            for name, value in code.filled(call, function):
                keys[value].append((function, name))
        for fields in code.fields(call):
            for name, value in by_name(call, fields):
                keys[value].append((ATTRIBUTE, name))
        likened = call.args[:1] if next(names(call.func), "").endswith("_like") else []
        for value in (*call.args, *(each.value for each in call.keywords)):
            if value in likened and not keys[value]:
                self._use_shape(value, scope)
            elif not keys[value] or is_anyones(call) or not self._needed.isdisjoint(keys[value]):
                self._use(value, scope)
            else:
                if not self._shaped.isdisjoint(keys[value]):
                    self._use_shape(value, scope)
                for key in keys[value]:
                    self._waiting[key].append((value, scope))

    def _need(self, key: Key) -> None:
        if key not in self._needed:
            self._needed.add(key)
            self._todo.append(key)

    def _need_shape(self, key: Key) -> None:
        if key not in self._shaped and key not in self._needed:
            self._shaped.add(key)
            self._todo.append(key)

    def _need_result(self, name: str) -> None:
        if name not in self._results and name in self._code.functions:
            self._results.add(name)
            self._todo.append(name)

    def _need_special(self) -> None:
        for name in self._code.special:
            self._need_result(name)

    def _keep_definitions(self, key: Key) -> None:
        whole = key in self._needed
        for statement in self._code.definitions.get(key, ()):
            if isinstance(statement, HEADS):
                self._head(statement)
            elif whole or (key, statement) not in self._code.fills:
                self._keep(statement, shape=not whole)
        if key[0] == ATTRIBUTE:
            for statement, call in self._code.calls:
                if any(key[1] in fields for fields in self._code.fields(call)):
                    self._kept[statement] = None
                    self._use(call, self._code.scope[statement])
                    self._enter(statement)
        for value, scope in self._waiting.pop(key, ()) if whole else [*self._waiting.get(key, ())]:
            (self._use if whole else self._use_shape)(value, scope)

    def _keep_results(self, name: str) -> None:
        """What functions of this name return."""
        for function in self._code.functions[name]:
            for statement in self._code.statements[function]:
                if isinstance(statement, ast.Return) or any(within(statement, (ast.Yield, ast.YieldFrom))):
                    self._keep(statement)


def is_told(function: ast.FunctionDef, name: str) -> bool:
    """Whether the head of a function tells a parameter's default, or that a kernel is compiled for its value."""
    every = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    constants = [each.arg for each in every if each.annotation and "constexpr" in names(each.annotation)]
    return name in (*with_default(function), *constants)


def everything(code: HostCode, *, launches: bool = False) -> Slice:
    """All of the host's code but prints, docstrings and, unless asked for, launches: where nobody knows what hangs on
    what."""
    simple = (each for each in code.scope if isinstance(each, _SIMPLE))
    statements: list[ast.stmt] = [each for each in simple if not _is_free(each, launches=launches)]
    heads = [each for each in code.scope if isinstance(each, HEADS) and not _is_main(each)]
    functions = [each for each in code.scope if isinstance(each, ast.FunctionDef) and _says_more(each)]
    return Slice(statements, heads, {}, functions, True, True)


def _says_more(function: ast.FunctionDef) -> bool:
    return bool(function.decorator_list or with_default(function))


def _is_free(statement: ast.stmt, *, launches: bool) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    called = value.func if isinstance(value, ast.Call) else None
    is_launch = isinstance(called, ast.Subscript) and not launches
    return isinstance(value, ast.Constant) or is_launch or _is_print(called)


def _is_print(called: ast.expr | None) -> bool:
    return isinstance(called, ast.Name) and called.id == "print"


def _is_main(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__name__" in names(statement.test)

"""Definitions and imports that nothing reachable uses: dead weight that no run will miss.

They go in one shot, for one try: what the module's own statements do not reach (over any number of steps) cannot have
caused the fault, save for side effects of imports and registering decorators. Later passes make more of them, so this
one is cheap to repeat; each is offered alone, too, for the time that the shot fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

from shrinkray_gpu.language.languages import DECORATORS, comes_of_a_language
from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.calls import decorator_name
from shrinkray_gpu.source.edits import removal
from shrinkray_gpu.source.scoping import Binding, bindings
from shrinkray_gpu.source.spelling import decorator_meaning
from shrinkray_gpu.source.tree import ancestors, dotted_text, every, is_member, statement, within

_QUIET = ("torch", "functools", "contextlib", "dataclass", "dataclasses", "staticmethod", "classmethod", "property",
          "helion", "abc", "abstractmethod", "contextmanager", "lru_cache", "cache", "wraps", "pytest")  # fmt: skip
"""First names of decorators that only change what they decorate. Others may put it in a table."""

_CALLED_BY_LIBRARIES = frozenset({"forward", "backward", "setup_context", "jvp", "vmap", "setUp", "tearDown", "run"})


@dataclass(frozen=True, eq=False)
class _Candidate:
    what: str
    node: cst.CSTNode
    names: frozenset[Binding]


def find(program: Program) -> Iterator[Edit]:
    dead = list(_dead(program))
    if len(dead) > 1:
        what = f"remove {len(dead)} unreachable definitions and imports"
        yield removal(program, what, *(candidate.node for candidate in dead))
    for candidate in dead:
        yield removal(program, f"remove {candidate.what}", candidate.node, level=1)


def _dead(program: Program) -> Iterator[_Candidate]:
    variables = bindings(program)
    candidates = [*_definitions(program, variables), *_imports(program, variables), *_constants(program, variables)]
    owner = {candidate.node: candidate for candidate in candidates}
    makers: dict[Binding, list[_Candidate]] = {}
    for candidate in candidates:
        for binding in candidate.names:
            makers.setdefault(binding, []).append(candidate)

    uses: dict[_Candidate | None, list[_Candidate]] = {}
    for binding, made_by in makers.items():
        for read in (*binding.reads, *binding.declared):
            user = next(_around(program, read, owner), None)
            uses.setdefault(user, []).extend(candidate for candidate in made_by if candidate is not user)
    live: set[_Candidate] = set()
    todo: list[_Candidate | None] = [None]
    while todo:
        for candidate in uses.get(todo.pop(), []):
            for reached in (candidate, *_around(program, candidate.node, owner)):
                if reached not in live:
                    live.add(reached)
                    todo.append(reached)
    yield from (candidate for candidate in candidates if candidate not in live)
    yield from _unused_methods(program)


def _definitions(program: Program, variables: Iterable[Binding]) -> Iterator[_Candidate]:
    for binding in variables:
        for place in binding.places:
            if not isinstance(place, (cst.FunctionDef, cst.ClassDef)) or is_member(program, place):
                continue
            if all(_is_quiet(program, decorator) for decorator in place.decorators):
                kind = "class" if isinstance(place, cst.ClassDef) else "function"
                yield _Candidate(f"{kind} {binding.name}", place, frozenset({binding}))


def _is_quiet(program: Program, decorator: cst.Decorator) -> bool:
    """Whether it only changes what it decorates, as decorators of kernels do."""
    name = decorator_meaning(program, decorator)
    quiet = decorator_name(decorator).partition(".")[0] in _QUIET
    return quiet or comes_of_a_language(name) or name.rpartition(".")[2] in DECORATORS


def _imports(program: Program, variables: Iterable[Binding]) -> Iterator[_Candidate]:
    for binding in variables:
        for place in binding.places:
            if isinstance(place, cst.ImportAlias) and not _from_future(program, place):
                yield _Candidate(f"import {binding.name}", place, frozenset({binding}))


def _constants(program: Program, variables: Iterable[Binding]) -> Iterator[_Candidate]:
    """`NAME = value` at the top, where computing the value calls nothing."""
    by_statement: dict[cst.CSTNode, Binding] = {}
    for binding in variables:
        for place in binding.places:
            small = statement(program, place) if isinstance(place, cst.Name) else None
            if isinstance(small, cst.Assign) and len(small.targets) == 1 and small.targets[0].target is place:
                by_statement[small] = binding
    for small, binding in by_statement.items():
        if isinstance(program.parents.get(program.parents[small]), cst.Module) and not within(
            program, small, cst.Call, cst.NamedExpr, cst.Await
        ):
            yield _Candidate(f"constant {binding.name}", small, frozenset({binding}))


def _unused_methods(program: Program) -> Iterator[_Candidate]:
    """Methods whose name nothing mentions, as an attribute or in a string; a library calls some without our seeing."""
    mentioned = {attribute.attr.value for attribute in every(program, cst.Attribute)}
    mentioned |= {str(string.evaluated_value) for string in every(program, cst.SimpleString)}
    for definition in every(program, cst.ClassDef):
        for method in definition.body.body:
            if not isinstance(method, cst.FunctionDef):
                continue
            name = method.name.value
            if name in mentioned or name in _CALLED_BY_LIBRARIES or (name.startswith("__") and name.endswith("__")):
                continue
            yield _Candidate(f"method {definition.name.value}.{name}", method, frozenset())


def _from_future(program: Program, alias: cst.ImportAlias) -> bool:
    above = program.parents.get(alias)
    return isinstance(above, cst.ImportFrom) and dotted_text(above.module) == "__future__"


def _around(program: Program, node: cst.CSTNode, owner: dict[cst.CSTNode, _Candidate]) -> Iterator[_Candidate]:
    """The candidates that the node stands in, innermost first: it cannot be reached without them."""
    return (owner[above] for above in ancestors(program, node) if above in owner)

"""Repeats, warm-ups and timing gone: what a benchmark does a hundred times faults the first time.

Each repeated launch costs every later try its time, and timing helpers keep statements alive that the fault never
needed. So loops run once, counts become 1, and a call that only times another one becomes that other call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import libcst as cst

from shrinkray_gpu.reduction.edit import Edit, Insert, Replace, Template
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.calls import Function, functions
from shrinkray_gpu.source.kernels import in_kernel
from shrinkray_gpu.source.literals import is_literal, last_name
from shrinkray_gpu.source.tree import ancestors, every, line, source, statement, weight, within

_COUNT = re.compile(r"repeat|(^|_)reps?($|_)|iter|warm_?up|trials|epochs|rounds|(^|_)runs($|_)|steps$", re.IGNORECASE)
_TIMERS = {"do_bench", "do_bench_cudagraph", "do_bench_using_profiling", "timeit"}
_TIMING = re.compile(r"bench|tim(e|ing)|profil|measure|latency|tflops|warm_?up", re.IGNORECASE)


def find(program: Program) -> Iterable[Edit]:
    return (*_timers(program), *_loops(program), *_counts(program))


def _timers(program: Program) -> Iterator[Edit]:
    """`do_bench(lambda: f(x))` to `f(x)`, `time_ms(step, 20)` to `step()`."""
    helpers = {call: parameter for callee in functions(program) for call, parameter in _timing_helper(program, callee)}
    for call in every(program, cst.Call):
        if in_kernel(program, call):
            continue
        timed = _first_argument(call) if last_name(call.func) in _TIMERS else helpers.get(call)
        run = _once(timed) if timed is not None else None
        if run is not None:
            yield from _untimed(program, call, run)


def _untimed(program: Program, call: cst.Call, run: Template) -> Iterator[Edit]:
    """The time that a used call returned is a number: it runs before the statement, and 1.0 takes its place."""
    here = statement(program, call)
    what = f"run once, untimed: {source(program, call)[:40]}"
    plain = isinstance(here, cst.BaseSmallStatement) and not any(
        isinstance(up, (cst.Lambda, cst.CompFor, cst.IfExp, cst.BooleanOperation)) for up in ancestors(program, call)
    )
    if plain and not (isinstance(here, cst.Expr) and here.value is call):
        yield Edit(what, (Insert(line(program, here), (run,)), Replace(call, ("1.0",))), weight=weight(program, call))
    yield Edit(what, (Replace(call, run),), weight=weight(program, call))


def _once(timed: cst.BaseExpression) -> Template | None:
    if isinstance(timed, cst.Lambda):
        params = timed.params
        return None if params.params or params.kwonly_params else (timed.body,)
    return (timed, "()") if isinstance(timed, (cst.Name, cst.Attribute)) else None


def _first_argument(call: cst.Call) -> cst.BaseExpression | None:
    return call.args[0].value if call.args and not call.args[0].star else None


def _timing_helper(program: Program, callee: Function) -> Iterator[tuple[cst.Call, cst.BaseExpression]]:
    """Calls of a function whose first parameter it calls again and again, or that says by its name that it times."""
    params = callee.node.params.params
    if not params or callee.bound or in_kernel(program, callee.node.body):
        return
    first = params[0].name.value
    called = [
        call
        for call in within(program, callee.node.body, cst.Call)
        if isinstance(call.func, cst.Name) and call.func.value == first and not call.args
    ]
    in_loop = any(isinstance(up, (cst.For, cst.While)) for call in called for up in ancestors(program, call))
    if called and (in_loop or _TIMING.search(callee.node.name.value)):
        for call in callee.calls:
            timed = _first_argument(call)
            if timed is not None:
                yield call, timed


def _loops(program: Program) -> Iterator[Edit]:
    """`range(100)` to `range(1)`, `range(2, n)` to `range(2, 2 + 1)`, of loops that Python runs."""
    for loop in every(program, cst.For):
        call = loop.iter
        if not isinstance(call, cst.Call) or last_name(call.func) not in ("range", "trange"):
            continue
        if in_kernel(program, loop) or any(arg.star or arg.keyword for arg in call.args) or not call.args:
            continue
        one = "range(1)" if len(call.args) == 1 else f"range({_after(program, call.args[0].value)})"
        if source(program, call) != one and len(one) <= len(source(program, call)):
            yield Edit(f"loop once: {source(program, call)}", (Replace(call, (one,)),))


def _after(program: Program, start: cst.BaseExpression) -> str:
    text = source(program, start)
    return f"{text}, {start.evaluated_value + 1}" if isinstance(start, cst.Integer) else f"{text}, {text} + 1"


def _counts(program: Program) -> Iterator[Edit]:
    """`repeats=20` to `repeats=1` as argument, default or assignment; a warm-up is not needed at all."""
    for node in every(program, cst.Arg, cst.Param, cst.Assign, cst.AnnAssign):
        name, value = _named(program, node)
        if value is None or not _COUNT.search(name) or not is_literal(value) or in_kernel(program, node):
            continue
        for count in ("0", "1") if "warm" in name.lower() else ("1",):
            if isinstance(value, cst.Integer) and value.evaluated_value > int(count):
                yield Edit(f"{name} = {count}", (Replace(value, (count,)),))


def _named(program: Program, node: cst.CSTNode) -> tuple[str, cst.BaseExpression | None]:
    if isinstance(node, cst.Arg):
        call, name = program.parents[node], node.keyword.value if node.keyword else ""
        if name == "default" and isinstance(call, cst.Call) and last_name(call.func) == "add_argument":
            name = source(program, call.args[0]).strip("'\"-").replace("-", "_")
        return name, node.value
    if isinstance(node, cst.Param):
        return node.name.value, node.default
    if isinstance(node, cst.Assign) and len(node.targets) == 1:
        return last_name(node.targets[0].target), node.value
    if isinstance(node, cst.AnnAssign):
        return last_name(node.target), node.value
    return "", None

"""What of a host program never runs: what lies behind the line of each frame of the fault's traceback."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from shrinkray_gpu.oracle.speech import frames
from shrinkray_gpu.runner.run import Run

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_AGAIN = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
_OF_OBJECTS = ("__call__", "forward")
"""Methods that run where an object is called, by whatever name."""
_BLOCKS = ("body", "orelse", "handlers", "finalbody")


def behind_fault(tree: ast.Module, run: Run) -> set[ast.AST]:
    """All statements, with what is in them, that the program would come to after the fault of this run only. In a loop
    they may have run before, and so they may in what is called from one or at several places."""
    found: set[ast.AST] = set()
    kernels = [launch.kernel for launch in run.launches]
    once = kernels.count(kernels[-1]) == 1 if kernels else True
    for line in own_lines(run):
        way = way_to(tree, line)
        function = next((at for at in range(len(way) - 1, -1, -1) if isinstance(way[at], _FUNCTIONS)), 0)
        if function and not _is_called_once(tree, way[function], once):
            break
        inside = way[function:]
        loop = next((at for at, node in enumerate(inside) if isinstance(node, _LOOPS)), None)
        for above, node in zip(inside, inside[1:] if loop is None else inside[1 : loop + 1]):
            found.update(part for each in _later(above, node) for part in ast.walk(each))
        if loop is not None or any(isinstance(part, _AGAIN) for part in ast.walk(inside[-1])):
            break
    return found


def is_awaited(tree: ast.Module, run: Run) -> bool:
    """Whether a function or a class of the program's own takes the value of what failed, in the same statement. It
    never runs in this case, and cannot be left out alone."""
    own = {each.name for each in ast.walk(tree) if isinstance(each, (*_FUNCTIONS, ast.ClassDef))} | {"cls"}
    others = {*dir(builtins), *(alias.asname or alias.name.partition(".")[0] for alias in _imported(tree))}
    frames = _own_frames(run)
    for (line, _), (_, inside) in zip(frames, [*frames[1:], (0, "")]):
        for call in ast.walk(way_to(tree, line)[-1]):
            called = call.func if isinstance(call, ast.Call) else None
            if not isinstance(call, ast.Call) or not isinstance(called, (ast.Name, ast.Attribute)):
                continue
            name, given = getattr(called, "id", getattr(called, "attr", "")), (*call.args, *call.keywords)
            is_object = not own.isdisjoint(_OF_OBJECTS) and _root(called) not in others
            takes = any(isinstance(part, ast.Call) for each in given for part in ast.walk(each))
            if takes and name != inside and (name in own or is_object):
                return True
    return False


def _imported(tree: ast.Module) -> Iterator[ast.alias]:
    for each in ast.walk(tree):
        if isinstance(each, (ast.Import, ast.ImportFrom)):
            yield from each.names


def _root(node: ast.expr) -> str:
    """The name that `a.b.c` begins with."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return getattr(node, "id", "")


def own_lines(run: Run) -> Iterator[int]:
    """Of the program's own frames, the outermost first."""
    return (line for line, _ in _own_frames(run))


def _own_frames(run: Run) -> list[tuple[int, str]]:
    """Line and function of each."""
    traceback = run.failure.traceback.rpartition("Traceback (most recent call last):")[2] if run.failure else ""
    found = frames(traceback)
    own = next((frame.file for frame in found if frame.function == "<module>"), None)
    return [(frame.line, frame.function) for frame in found if frame.file == own]


def way_to(tree: ast.Module, line: int) -> list[ast.AST]:
    """From the module to the innermost statement of this line."""
    way: list[ast.AST] = [tree]
    while True:
        inner = (each for block in _BLOCKS for each in getattr(way[-1], block, []))
        over = next((each for each in inner if each.lineno <= line <= (each.end_lineno or each.lineno)), None)
        if over is None:
            return way
        way.append(over)


def _later(above: ast.AST, node: ast.AST) -> list[ast.AST]:
    """What follows in the same block."""
    block = next(block for name in _BLOCKS if node in (block := getattr(above, name, [])))
    return [] if isinstance(node, ast.ExceptHandler) else block[block.index(node) + 1 :]


def _is_called_once(tree: ast.Module, function: ast.AST, launched_once: bool) -> bool:
    """As far as its name tells; of one that is called by no name, as far as its last launch does."""
    assert isinstance(function, _FUNCTIONS)
    named = [getattr(each, "id", getattr(each, "attr", None)) for each in ast.walk(tree)].count(function.name)
    return named == 1 or not named and launched_once

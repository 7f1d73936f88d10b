"""Whether a module can as well be run earlier than its import stands: it defines things, and does nothing."""

from __future__ import annotations

import sys

import libcst as cst

from shrinkray_gpu.lift.bundling.units import Unit
from shrinkray_gpu.source.tree import dotted_text, source, within

_MAKERS = frozenset(
    """
    constexpr device getLogger TypeVar ParamSpec NewType namedtuple frozenset set dict list tuple range int float str
    bool bytes len min max sum abs sorted zip enumerate isinstance hasattr getattr callable slice object property
    staticmethod classmethod partial lru_cache cache wraps dataclass field Enum auto compile Path join dirname abspath
    realpath resolve Lock RLock local defaultdict deque OrderedDict Counter ContextVar Config jit autotune heuristics
    cdiv next_power_of_2 log log2 sqrt exp ceil floor format split strip lower upper items keys values get
    register_fake
    """.split()
)
"""Functions and methods that make a value and leave no trace, by their last name."""


def restless(unit: Unit, loaded: frozenset[str]) -> str:
    """What the module does on import that could be seen; empty if nothing. `loaded` are libraries that are there."""
    for statement in _lines(unit.program.module.body):
        if isinstance(statement, (cst.Import, cst.ImportFrom)):
            for each in unit.imports[statement]:
                root = each.module.partition(".")[0]
                if not (each.module.startswith(".") or root in loaded or root in sys.stdlib_module_names):
                    return f"it imports {root}"
            continue
        trouble = _trouble(unit, statement)
        if trouble:
            return trouble
    return ""


def _lines(body: object) -> list[cst.CSTNode]:
    found: list[cst.CSTNode] = []
    for entry in body:  # type: ignore[attr-defined]
        found.extend(entry.body if isinstance(entry, cst.SimpleStatementLine) else [entry])
    return found


def _trouble(unit: Unit, statement: cst.CSTNode) -> str:
    if isinstance(statement, cst.FunctionDef):
        parts: list[cst.CSTNode] = [*statement.decorators, statement.params]
    elif isinstance(statement, cst.ClassDef):
        parts = [*statement.decorators, *statement.bases, *statement.keywords]
        for inner in _lines(statement.body.body):
            if trouble := _trouble(unit, inner):
                return trouble
    elif isinstance(statement, (cst.Assign, cst.AnnAssign)):
        parts = [statement]
        targets = [each.target for each in statement.targets] if isinstance(statement, cst.Assign) else []
        if any(not isinstance(target, (cst.Name, cst.Tuple)) for target in targets):
            return f"it runs `{_shown(unit, statement)}`"
    elif isinstance(statement, (cst.Expr, cst.Pass)):
        parts = [statement]
        if isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Call):
            return f"it runs `{_shown(unit, statement)}`"
    else:
        return f"it runs `{_shown(unit, statement)}`"
    for part in parts:
        for call in within(unit.program, part, cst.Call):
            last = dotted_text(call.func).rpartition(".")[2]
            own = unit.globals.get(last)
            made = own is not None and any(isinstance(place, cst.ClassDef) for place in own.places)
            if last not in _MAKERS and not made:
                return f"it runs `{_shown(unit, call)}`"
    return ""


def _shown(unit: Unit, node: cst.CSTNode) -> str:
    text = source(unit.program, node).splitlines()[0]
    return text if len(text) <= 60 else f"{text[:57]}..."

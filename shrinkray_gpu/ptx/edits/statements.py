"""Statements go, in any set. What is still read of what they made comes in as a parameter of the kernel, so that no
register is read that nothing wrote: a file that does that tells its reader less, and ptxas may make anything of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from shrinkray_gpu.intermediate.search import Family
from shrinkray_gpu.ptx.operands import access, names, registers, split
from shrinkray_gpu.ptx.ptx_text import CODE, LABEL, NOTE, SECTION, VARIABLE, PtxModule, PtxStatement

_LOADED = {kind: f".b{kind[2:]}" for kind in (".b16", ".s16", ".u16", ".f16", ".b32", ".s32", ".u32", ".f32", ".f16x2",
                                             ".b64", ".s64", ".u64", ".f64")} | {".f16x2": ".b32"}  # fmt: skip
"""As what a parameter of the type is declared and loaded."""
NEW = "in_"
"""How the names of such parameters begin."""


def find(module: PtxModule) -> Iterator[int]:
    for each in module:
        if each.kind in (CODE, LABEL, NOTE, SECTION, VARIABLE):
            yield each.key


def apply(module: PtxModule, chosen: Sequence[int]) -> PtxModule:
    gone = set(chosen)
    kinds = registers(module)
    before = _unwritten(module, module.statements, kinds)
    while True:
        kept = [each for each in module if each.key not in gone]
        needed = _labels_read(kept, [each for each in module if each.key in gone])
        missing = {read[:2] for read in _unwritten(module, kept, kinds) - before}
        if not needed and not missing:
            return module.with_statements(kept)
        loads, stay = _loads(module, gone, missing, kinds)
        if not needed and not stay:
            return _with_loads(module, gone, loads, kinds)
        gone -= needed | stay


def is_load(statement: PtxStatement) -> bool:
    """Whether it only loads a parameter: nothing is simpler than that."""
    guard, opcode, operands = split(statement.text)
    return statement.kind == CODE and not guard and opcode.startswith("ld.param.") and len(operands) == 2


def _unwritten(
    module: PtxModule, statements: Sequence[PtxStatement], kinds: Mapping[tuple[int, str], str]
) -> set[tuple[int, str, bool]]:
    """Registers, each with its function's key, that are read in the order of the text before anything wrote them; and
    whether what reads one is what writes it: under a guard, or as an accumulator."""
    written: set[tuple[int, str]] = set()
    found: set[tuple[int, str, bool]] = set()
    for each in statements:
        if each.kind == CODE:
            one, function = access(each.text), _function(module, each)
            for names_read, kept in ((one.reads, False), (one.keeps, True)):
                new = {name for name in names_read if (each.key, name) in kinds and (function, name) not in written}
                found |= {(function, name, kept) for name in new}
            written |= {(function, name) for name in one.writes}
    return found


def _function(module: PtxModule, statement: PtxStatement) -> int:
    function = module.function_of.get(statement.key)
    return function.key if function is not None else 0


def _labels_read(kept: Sequence[PtxStatement], gone: Sequence[PtxStatement]) -> set[int]:
    """The keys of labels, variables and the like among those that go which others still name."""
    named = frozenset().union(*(names(each) for each in kept if each.kind in (CODE, SECTION, VARIABLE, NOTE)))
    return {each.key for each in gone if each.kind == LABEL and each.name in named}


def _loads(
    module: PtxModule, gone: set[int], missing: set[tuple[int, str]], kinds: Mapping[tuple[int, str], str]
) -> tuple[dict[int, list[str]], set[int]]:
    """Registers to load in the place of statements that go, and statements that must stay for what they make."""
    loads: dict[int, list[str]] = {}
    stay: set[int] = set()
    left = set(missing)
    for each in module:
        if each.key not in gone or each.kind != CODE:
            continue
        of = _function(module, each)
        if made := {name for name in access(each.text).writes if (of, name) in left}:
            left -= {(of, name) for name in made}
            function = module.function_of.get(each.key)
            simple = function is not None and function.is_entry
            simple = simple and all(kinds.get((each.key, name)) in _LOADED for name in made)
            if simple and not is_load(each):
                loads[each.key] = sorted(made)
            else:
                stay.add(each.key)
    return loads, stay


def _with_loads(
    module: PtxModule, gone: set[int], loads: Mapping[int, list[str]], kinds: Mapping[tuple[int, str], str]
) -> PtxModule:
    made: list[PtxStatement] = []
    new: dict[int, list[str]] = {}
    key = module.fresh
    for each in module:
        if each.key not in gone:
            made.append(each)
        for register in loads.get(each.key, ()):
            kind, name = _LOADED[kinds[each.key, register]], NEW + register.lstrip("%")
            function = module.function_of[each.key]
            if not any(one.split()[-1] == name for one in function.parameters):
                new.setdefault(function.key, []).append(f".param {kind} {name}")
            made.append(PtxStatement(key, CODE, f"ld.param{kind} {register}, [{name}]"))
            key += 1
    return PtxModule(
        tuple(
            replace(each, parameters=(*each.parameters, *new[each.key])) if each.key in new else each for each in made
        )
    )


def find_guards(module: PtxModule) -> Iterator[int]:
    """`@%p1` goes: the instruction always runs."""
    for each in module:
        if each.kind == CODE and split(each.text)[0]:
            yield each.key


def unguard(module: PtxModule, chosen: Sequence[int]) -> PtxModule:
    bare = set(chosen)
    return module.with_statements(
        [
            replace(each, text=each.text[len(split(each.text)[0]) :].strip()) if each.key in bare else each
            for each in module
        ]
    )


FAMILY = Family("statements", find, apply)
GUARDS = Family("guards", find_guards, unguard)

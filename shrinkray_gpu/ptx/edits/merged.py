"""One register for two of a type, wherever they are read. Immediates stay as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from shrinkray_gpu.intermediate.search import Family
from shrinkray_gpu.ptx.edits.slices import without_unread
from shrinkray_gpu.ptx.operands import NAME, access, has_result, registers, split
from shrinkray_gpu.ptx.ptx_text import CODE, PtxModule, PtxStatement


def find(module: PtxModule) -> Iterator[tuple[int, str]]:
    kinds = registers(module)
    reads: dict[tuple[int, str], None] = {}
    for each in module:
        function = module.function_of.get(each.key)
        if each.kind == CODE and function is not None:
            named = (name for name in sorted(access(each.text).reads) if (each.key, name) in kinds)
            reads |= dict.fromkeys((function.key, name) for name in named)
    yield from reads


def apply(module: PtxModule, chosen: Sequence[tuple[int, str]]) -> PtxModule:
    """Each of the chosen becomes the register of its type that was written first, of those that are not chosen."""
    kinds, merged = registers(module), set(chosen)
    written: dict[tuple[int, str], str] = {}
    """By function and type."""
    made = []
    for each in module:
        function = module.function_of.get(each.key)
        if each.kind != CODE or function is None:
            made.append(each)
            continue
        instead = {
            name: written[function.key, kinds[each.key, name]]
            for name in access(each.text).reads
            if (function.key, name) in merged and (function.key, kinds.get((each.key, name), "")) in written
        }
        made.append(_with(each, instead))
        for name in sorted(access(each.text).writes):
            if (each.key, name) in kinds and (function.key, name) not in merged:
                written.setdefault((function.key, kinds[each.key, name]), name)
    return without_unread(module, module.with_statements(made))


def _with(statement: PtxStatement, instead: Mapping[str, str]) -> PtxStatement:
    if not instead:
        return statement
    guard, opcode, operands = split(statement.text)

    def renamed(text: str) -> str:
        return NAME.sub(lambda found: instead.get(found[0], found[0]), text)

    kept = 1 if has_result(opcode, operands) else 0
    operands = (*operands[:kept], *map(renamed, operands[kept:]))
    text = f"{f'{renamed(guard)} ' if guard else ''}{opcode} {', '.join(operands)}"
    return replace(statement, text=text.strip())


FAMILY = Family("registers of one type", find, apply)

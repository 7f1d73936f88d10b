"""How a program spells the language of its kernels: `tl.load`, `T.load`, `triton.language.load` or just `load`.

A pass asks what a name means here (`word`), and how the program would write a word (`name_for`). Where the program has
no name for it, the pass offers nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from shrinkray_gpu.language import languages
from shrinkray_gpu.language.kernel_language import Access, KernelLanguage
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.tree import dotted_text, every, once


@once
def imports(program: Program) -> Mapping[str, str]:
    """Each name that an import binds, and what it stands for."""
    found: dict[str, str] = {}
    for alias in every(program, cst.ImportAlias):
        line = program.parents[alias]
        name, by = dotted_text(alias.name), dotted_text(alias.asname.name) if alias.asname is not None else ""
        if isinstance(line, cst.ImportFrom):
            found[by or name] = f"{'.' * len(line.relative)}{dotted_text(line.module)}.{name}"
        elif by:
            found[by] = name
        else:
            first = name.partition(".")[0]
            found[first] = first
    return found


@once
def _modules(program: Program) -> Mapping[str, str]:
    """The names by which this program knows the modules of languages."""
    return languages.modules(imports(program), {name.value for name in every(program, cst.Name)})


def meaning(program: Program, node: cst.CSTNode | None) -> str:
    """What a dotted name stands for (`triton.language.load` for `T.load`); "" where the node is none."""
    written = dotted_text(node)
    first, dot, rest = written.partition(".")
    place = _modules(program).get(first) or imports(program).get(first, first)
    return f"{place}{dot}{rest}" if written else ""


def word(program: Program, node: cst.CSTNode | None) -> str:
    """The word of a kernel language that a dotted name is here, without its module; "" where it is none."""
    found = languages.word(meaning(program, node))
    return found[1] if found is not None else ""


def is_of_language(program: Program, node: cst.CSTNode | None) -> bool:
    """Whether a dotted name is a word of a kernel language here."""
    return word(program, node) != ""


def access(program: Program, node: cst.CSTNode | None) -> tuple[str, Access] | None:
    """The last name of the access that a callee is, and what its language knows of it; None for any other call."""
    name = word(program, node).rpartition(".")[2]
    known = languages.access(name)
    return (name, known) if known is not None else None


def is_range(program: Program, node: cst.CSTNode | None) -> bool:
    """Whether a callee is Python's range, or one of a kernel language."""
    found = languages.word(meaning(program, node))
    return dotted_text(node) == "range" or found is not None and found[1] in found[0].ranges


def counts(program: Program, node: cst.CSTNode | None) -> bool:
    """Whether a callee is a range, or the tile of numbers that is called like one: it has bounds, and no operand."""
    return is_range(program, node) or word(program, node) == "arange"


def language(program: Program, kernel: cst.FunctionDef) -> KernelLanguage:
    """The language in which a kernel is written."""
    names = (decorator_meaning(program, decorator) for decorator in kernel.decorators)
    return languages.language_of_decorator(next(filter(languages.makes_kernel, names), ""))


def name_for(program: Program, kernel: cst.FunctionDef | None, wanted: str) -> str | None:
    """How a kernel of this program writes a word of its language; None where it has no name for it."""
    if kernel is None:
        return None
    of = language(program, kernel)
    modules = [name for name, place in _modules(program).items() if place == of.module]
    if modules:
        return f"{modules[0]}.{wanted}"
    alone = (name for name, place in imports(program).items() if place == f"{of.module}.{wanted}")
    if (found := next(alone, None)) is not None:
        return found
    whole = any(
        dotted_text(alias.name) == of.module and alias.asname is None for alias in every(program, cst.ImportAlias)
    )
    return f"{of.module}.{wanted}" if whole else None


def decorator_meaning(program: Program, decorator: cst.Decorator) -> str:
    """`triton.autotune` for `@tr.autotune(...)` behind `import triton as tr`."""
    expression = decorator.decorator
    return meaning(program, expression.func if isinstance(expression, cst.Call) else expression)
